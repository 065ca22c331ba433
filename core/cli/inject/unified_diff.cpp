// SPDX-License-Identifier: Apache-2.0
#include "cli/inject/unified_diff.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

namespace egpu::cli {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
    Lines lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

/// Which lines are in one text only.
class Comparison {
public:
    Comparison(const Lines& first, const Lines& second) {
        std::unordered_map<std::string_view, int> numbers;
        const auto numbered = [&](const Lines& lines, std::vector<int>& out) {
            for (const auto line : lines)
                out.push_back(numbers.try_emplace(line, static_cast<int>(numbers.size())).first->second);
        };
        numbered(first, a_);
        numbered(second, b_);
        removed.assign(a_.size(), false);
        added.assign(b_.size(), false);
        compare(0, static_cast<long>(a_.size()), 0, static_cast<long>(b_.size()));
    }

    std::vector<bool> removed, added;

private:
    struct Split {
        long x = 0, y = 0;
    };

    /// [a0, a1) of the first against [b0, b1) of the second. Each step at least halves what is to be found.
    void compare(long a0, long a1, long b0, long b1) {
        while (a0 < a1 && b0 < b1 && at(a_, a0) == at(b_, b0))
            ++a0, ++b0;
        while (a0 < a1 && b0 < b1 && at(a_, a1 - 1) == at(b_, b1 - 1))
            --a1, --b1;
        if (a0 == a1 || b0 == b1) {
            std::fill(removed.begin() + a0, removed.begin() + a1, true);
            std::fill(added.begin() + b0, added.begin() + b1, true);
            return;
        }
        const Split middle = split(a0, a1, b0, b1);
        compare(a0, middle.x, b0, middle.y);
        compare(middle.x, a1, middle.y, b1);
    }

    static int at(const std::vector<int>& lines, long index) { return lines[static_cast<std::size_t>(index)]; }

    /// A point on a shortest path, where the path from the start and that from the end meet. The ranges differ in their
    /// first and last lines, so the point is none of the corners.
    Split split(long a0, long a1, long b0, long b1) {
        const long n = a1 - a0, m = b1 - b0, most = n + m + 1;
        const long delta = n - m;
        std::vector<long> forward(static_cast<std::size_t>(2 * most + 1), 0), backward(forward);
        const auto in = [most](std::vector<long>& reach, long k) -> long& {
            return reach[static_cast<std::size_t>(k + most)];
        };
        for (long d = 0;; ++d) {
            for (long k = -d; k <= d; k += 2) {
                long x = k == -d || (k != d && in(forward, k - 1) < in(forward, k + 1)) ? in(forward, k + 1)
                                                                                        : in(forward, k - 1) + 1;
                while (x < n && x - k < m && x - k >= 0 && at(a_, a0 + x) == at(b_, b0 + x - k))
                    ++x;
                in(forward, k) = x;
                const long other = delta - k;
                if (delta % 2 != 0 && other > -d && other < d && x + in(backward, other) >= n)
                    return {a0 + std::min(x, n), b0 + std::clamp(x - k, 0L, m)};
            }
            for (long k = -d; k <= d; k += 2) {
                long x = k == -d || (k != d && in(backward, k - 1) < in(backward, k + 1)) ? in(backward, k + 1)
                                                                                          : in(backward, k - 1) + 1;
                while (x < n && x - k < m && x - k >= 0 && at(a_, a1 - 1 - x) == at(b_, b1 - 1 - (x - k)))
                    ++x;
                in(backward, k) = x;
                const long other = delta - k;
                if (delta % 2 == 0 && other >= -d && other <= d && x + in(forward, other) >= n)
                    return {a1 - std::min(x, n), b1 - std::clamp(x - k, 0L, m)};
            }
        }
    }

    std::vector<int> a_, b_;
};

/// One line of the answer: of both texts, of the first or of the second.
struct Row {
    char mark;
    std::string_view line;
    std::size_t in_first, in_second;  ///< lines of each before this one
};

std::vector<Row> rows_of(const Lines& first, const Lines& second) {
    const Comparison comparison(first, second);
    std::vector<Row> rows;
    std::size_t i = 0, j = 0;
    while (i < first.size() || j < second.size()) {
        if (i < first.size() && comparison.removed[i]) {
            rows.push_back({'-', first[i], i, j});
            ++i;
        } else if (j < second.size() && comparison.added[j]) {
            rows.push_back({'+', second[j], i, j});
            ++j;
        } else {
            rows.push_back({' ', first[i], i, j});
            ++i;
            ++j;
        }
    }
    return rows;
}

std::string hunk_text(const std::vector<Row>& rows, std::size_t begin, std::size_t end) {
    std::size_t in_first = 0, in_second = 0;
    std::string body;
    for (std::size_t at = begin; at < end; ++at) {
        in_first += rows[at].mark != '+' ? 1U : 0U;
        in_second += rows[at].mark != '-' ? 1U : 0U;
        body += fmt::format("{}{}\n", rows[at].mark, rows[at].line);
    }
    // A side without lines is named by the line before it.
    const auto place = [](std::size_t before, std::size_t count) {
        return fmt::format("{},{}", count == 0 ? before : before + 1, count);
    };
    return fmt::format("@@ -{} +{} @@\n{}", place(rows[begin].in_first, in_first),
                       place(rows[begin].in_second, in_second), body);
}

}  // namespace

std::string unified_diff(std::string_view first, std::string_view second, std::string_view first_name,
                         std::string_view second_name, std::size_t context) {
    const auto rows = rows_of(lines_of(first), lines_of(second));
    const auto is_change = [](const Row& row) { return row.mark != ' '; };
    std::string out;
    auto at = std::find_if(rows.begin(), rows.end(), is_change);
    while (at != rows.end()) {
        const auto begin = at - std::min(static_cast<std::ptrdiff_t>(context), at - rows.begin());
        auto end = at;
        for (auto next = at; next != rows.end() && next - end <= static_cast<std::ptrdiff_t>(2 * context);
             next = std::find_if(next + 1, rows.end(), is_change))
            end = next + 1;
        at = std::find_if(end, rows.end(), is_change);
        end += std::min(static_cast<std::ptrdiff_t>(context), rows.end() - end);
        out += hunk_text(rows, static_cast<std::size_t>(begin - rows.begin()),
                         static_cast<std::size_t>(end - rows.begin()));
    }
    return out.empty() ? out : fmt::format("--- {}\n+++ {}\n{}", first_name, second_name, out);
}

}  // namespace egpu::cli

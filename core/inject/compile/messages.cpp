// SPDX-License-Identifier: Apache-2.0
//   ptxas info    : Compiling entry function 'k' for 'sm_90'
//   ptxas info    : Function properties for k
//       16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
//   ptxas info    : Used 20 registers, used 1 barriers, 16 bytes cumulative stack size, 4096 bytes smem, 360 bytes
//   cmem[0]
#include "inject/compile/messages.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace egpu::inject {
namespace {

/// The number right before `words`: 8 of "8 bytes spill stores".
std::optional<std::uint32_t> number_before(std::string_view line, std::string_view words) {
    const std::size_t at = line.find(words);
    if (at == std::string_view::npos)
        return std::nullopt;
    std::size_t begin = at;
    while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9')
        --begin;
    std::uint32_t number = 0;
    const auto [end, status] = std::from_chars(line.data() + begin, line.data() + at, number);
    return begin < at && status == std::errc{} ? std::optional(number) : std::nullopt;
}

std::string_view next_line(std::string_view& rest) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return line;
}

}  // namespace

void read_figures(std::string_view output, std::string_view entry, Compiled& compiled) {
    const std::string heading = fmt::format("Compiling entry function '{}'", entry);
    const std::string properties = fmt::format("Function properties for {}", entry);
    bool ours = false;  // behind our heading and before the next one
    bool properties_next = false;
    while (!output.empty()) {
        const std::string_view line = next_line(output);
        if (line.find("Compiling entry function '") != std::string_view::npos)
            ours = line.find(heading) != std::string_view::npos;
        if (!ours)
            continue;
        if (properties_next) {
            compiled.stack_bytes = number_before(line, " bytes stack frame").value_or(0);
            compiled.spill_bytes = number_before(line, " bytes spill stores").value_or(0) +
                                   number_before(line, " bytes spill loads").value_or(0);
        }
        properties_next = line.ends_with(properties);
        if (const auto registers = number_before(line, " registers")) {
            compiled.registers = *registers;
            compiled.static_shared_bytes = number_before(line, " bytes smem").value_or(0);
        }
    }
}

std::size_t advice_count(const std::string& messages) {
    constexpr std::string_view kWord = "(C75";
    std::size_t count = 0;
    for (std::size_t at = messages.find(kWord); at != std::string::npos; at = messages.find(kWord, at + kWord.size()))
        ++count;
    return count;
}

std::string first_errors(std::string_view output) {
    constexpr std::size_t kLines = 5;
    std::string errors, first;
    std::size_t count = 0;
    while (!output.empty() && count < kLines) {
        const std::string_view line = next_line(output);
        if (first.empty())
            first = std::string(line);
        if (line.find("error") == std::string_view::npos && line.find("fatal") == std::string_view::npos)
            continue;
        errors += (count++ == 0 ? "" : "\n") + std::string(line);
    }
    return errors.empty() ? first : errors;
}

std::string release_in(std::string_view output) {
    constexpr std::string_view kWord = "release ";
    const std::size_t at = output.find(kWord);
    if (at == std::string_view::npos)
        return {};
    const std::string_view rest = output.substr(at + kWord.size());
    return std::string(rest.substr(0, rest.find_first_not_of("0123456789.")));
}

}  // namespace egpu::inject

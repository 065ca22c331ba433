// SPDX-License-Identifier: Apache-2.0
#include "base/names.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace egpu {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
        cost[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j)
        cost[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[a.size()][b.size()];
}

/// The end of the name proper in a signature: the '(' of its parameters, outside template arguments.
std::size_t parameters_begin(std::string_view signature) {
    int angle = 0;
    for (std::size_t i = 0; i < signature.size(); ++i) {
        if (signature[i] == '<')
            ++angle;
        else if (signature[i] == '>')
            --angle;
        else if (signature[i] == '(' && angle == 0 && !signature.substr(i).starts_with("(anonymous"))
            return i;
    }
    return signature.size();
}

}  // namespace

std::string demangle(std::string_view mangled) {
    std::string name(mangled);
    if (!name.starts_with("_Z"))
        return name;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                           &std::free);
    return status == 0 && text ? std::string(text.get()) : name;
}

std::string short_name(std::string_view signature) {
    std::string_view name = signature.substr(0, parameters_begin(signature));
    // A template's signature begins with its return type: "void reduce<float>(...)".
    int angle = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '<')
            ++angle;
        else if (name[i] == '>')
            --angle;
        else if (name[i] == ' ' && angle == 0 && !name.substr(0, i).ends_with("(anonymous"))
            begin = i + 1;
    }
    return std::string(name.substr(begin));
}

bool glob_matches(std::string_view pattern, std::string_view text) {
    std::size_t p = 0, t = 0, star = std::string_view::npos, restart = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            restart = t;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++restart;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

bool kernel_name_matches(std::string_view pattern, std::string_view mangled) {
    if (glob_matches(pattern, mangled))
        return true;
    const std::string signature = demangle(mangled);
    const std::string name = short_name(signature);
    const std::string bare = name.substr(0, name.find('<'));
    return glob_matches(pattern, signature) || glob_matches(pattern, name) || glob_matches(pattern, bare);
}

std::string nearest(std::string_view typed, std::span<const std::string> candidates) {
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(typed.size() / 3, 1) + 1;
    for (const auto& candidate : candidates) {
        const std::size_t distance = edit_distance(typed, candidate);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

}  // namespace egpu

// SPDX-License-Identifier: Apache-2.0
#include "base/patterns.hpp"

#include <map>
#include <optional>
#include <regex>
#include <string>

#include <fmt/format.h>

#include "base/names.hpp"

namespace egpu {
namespace {

constexpr std::string_view kRegex = "regex:";
constexpr std::size_t kLongestPattern = 512;
constexpr std::size_t kMostKept = 256;

/// Breadth first: the time is bounded by name times pattern, and no name is too long for the stack.
constexpr auto kSyntax = std::regex::ECMAScript | std::regex::nosubs | std::regex_constants::__polynomial;

std::optional<std::regex> compile(std::string_view expression, std::string* why) {
    try {
        return std::regex(expression.begin(), expression.end(), kSyntax);
    } catch (const std::regex_error& failure) {
        if (why != nullptr)
            *why = failure.what();
        return std::nullopt;
    }
}

/// Each thread compiles an expression once.
const std::optional<std::regex>& compiled(std::string_view expression) {
    thread_local std::map<std::string, std::optional<std::regex>, std::less<>> kept;
    if (const auto found = kept.find(expression); found != kept.end())
        return found->second;
    if (kept.size() >= kMostKept)
        kept.clear();
    auto made = expression.size() > kLongestPattern ? std::nullopt : compile(expression, nullptr);
    return kept.emplace(std::string(expression), std::move(made)).first->second;
}

}  // namespace

Status check_kernel_pattern(std::string_view pattern) {
    if (pattern.empty())
        return error("", "is empty", "write \"*\" for all kernels");
    if (!pattern.starts_with(kRegex))
        return ok();
    const std::string_view expression = pattern.substr(kRegex.size());
    if (expression.empty())
        return error("", "holds no expression", "write regex:^gemm_.*_sm90, or a glob");
    if (expression.size() > kLongestPattern)
        return error("", fmt::format("has more than {} characters", kLongestPattern), "use several patterns");
    std::string why;
    if (!compile(expression, &why))
        return error("", fmt::format("is no regular expression: {}", why),
                     "ECMAScript syntax, without back references");
    return ok();
}

bool kernel_pattern_matches(std::string_view pattern, std::string_view mangled) {
    if (!pattern.starts_with(kRegex))
        return kernel_name_matches(pattern, mangled);
    const auto& expression = compiled(pattern.substr(kRegex.size()));
    if (!expression)
        return false;
    const auto found_in = [&](std::string_view name) {
        return std::regex_search(name.begin(), name.end(), *expression);
    };
    if (found_in(mangled))
        return true;
    const std::string signature = demangle(mangled);
    const std::string name = short_name(signature);
    return found_in(signature) || found_in(name) || found_in(std::string_view(name).substr(0, name.find('<')));
}

}  // namespace egpu

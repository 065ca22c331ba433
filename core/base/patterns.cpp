// SPDX-License-Identifier: Apache-2.0
#include "base/patterns.hpp"

#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/names.hpp"

namespace egpu {
namespace {

constexpr std::string_view kRegex = "regex:";
constexpr std::size_t kLongestPattern = 512;
constexpr std::size_t kMostKept = 256;

/// RE2 takes time in proportion to the name, whatever the expression is: names of kernels come out of files that others
/// made, and each is asked while its module waits to be loaded.
std::unique_ptr<const re2::RE2> compile(std::string_view expression) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_never_capture(true);
    return std::make_unique<const re2::RE2>(re2::StringPiece(expression.data(), expression.size()), options);
}

/// Each thread compiles an expression once.
const re2::RE2& compiled(std::string_view expression) {
    thread_local std::map<std::string, std::unique_ptr<const re2::RE2>, std::less<>> kept;
    if (const auto found = kept.find(expression); found != kept.end())
        return *found->second;
    if (kept.size() >= kMostKept)
        kept.clear();
    return *kept.emplace(std::string(expression), compile(expression)).first->second;
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
    if (const auto made = compile(expression); !made->ok())
        return error("", fmt::format("is no regular expression: {}", made->error()),
                     "RE2's syntax: as Perl's, without back references and looking around");
    return ok();
}

bool kernel_pattern_matches(std::string_view pattern, std::string_view mangled) {
    if (!pattern.starts_with(kRegex))
        return kernel_name_matches(pattern, mangled);
    const std::string_view text = pattern.substr(kRegex.size());
    if (text.empty() || text.size() > kLongestPattern)
        return false;
    const re2::RE2& expression = compiled(text);
    if (!expression.ok())
        return false;
    const auto found_in = [&](std::string_view name) {
        return re2::RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), expression);
    };
    if (found_in(mangled))
        return true;
    const std::string signature = demangle(mangled);
    const std::string name = short_name(signature);
    return found_in(signature) || found_in(name) || found_in(std::string_view(name).substr(0, name.find('<')));
}

}  // namespace egpu

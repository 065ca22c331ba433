// SPDX-License-Identifier: Apache-2.0
// A cubin's note holds ptxas's command line, "-maxrregcount 32 -O 1 -arch sm_90 -dlcm cg -m 64 -fmad false"; both
// "-option value" and "-option=value", with one or two hyphens, are read. Nothing else of it is ever passed on: the
// words come from somebody's file.
#include "inject/compile/options.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace egpu::inject {
namespace {

struct Option {
    std::string_view name, long_name;  ///< ptxas --help, 13.0
    bool has_value;
};

constexpr std::array kOptions = {
    Option{"maxrregcount", "maxrregcount", true},
    Option{"O", "opt-level", true},
    Option{"fmad", "fmad", true},
    Option{"dlcm", "def-load-cache", true},
    Option{"dscm", "def-store-cache", true},
    Option{"flcm", "force-load-cache", true},
    Option{"fscm", "force-store-cache", true},
    Option{"lineinfo", "generate-line-info", false},
    Option{"Ofc", "Ofast-compile", true},
    Option{"allow-expensive-optimizations", "allow-expensive-optimizations", true},
    Option{"func-maxrregcount", "device-function-maxrregcount", true},
    Option{"disable-optimizer-consts", "disable-optimizer-constants", false},
    Option{"no-bb-merge", "dont-merge-basicblocks", false},
    Option{"ret-end", "return-at-end", false},
    Option{"legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior", false},
    Option{"minnctapersm", "minnctapersm", true},
    Option{"maxntid", "maxntid", true},
    Option{"override-directive-values", "override-directive-values", false},
    Option{"opt-fp-atomics", "optimize-float-atomics", false},
    Option{"regUsageLevel", "register-usage-level", true},
    Option{"pic", "position-independent-code", true},
};

/// What says where and for whom was compiled, and what was printed: no part of how.
constexpr std::array kOtherOptions = {
    Option{"arch", "gpu-name", true},
    Option{"m", "machine", true},
    Option{"o", "output-file", true},
    Option{"v", "verbose", false},
    Option{"w", "disable-warnings", false},
    Option{"split-compile", "split-compile", true},
    Option{"warn-spills", "warn-on-spills", false},
    Option{"warn-lmem-usage", "warn-on-local-memory-usage", false},
    Option{"warn-double-usage", "warn-on-double-precision-use", false},
    Option{"suppress-async-bulk-multicast-advisory-warning", "suppress-async-bulk-multicast-advisory-warning", false},
    Option{"suppress-stack-size-warning", "suppress-stack-size-warning", false},
};

template <std::size_t N>
const Option* option_named(const std::array<Option, N>& options, std::string_view name) {
    for (const Option& option : options)
        if (option.name == name || option.long_name == name)
            return &option;
    return nullptr;
}

/// A number or a word: nothing that could be an option or a file of its own.
bool is_plain_value(std::string_view value) {
    return !value.empty() && value.size() <= 32 && std::all_of(value.begin(), value.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    });
}

constexpr std::uint32_t kHighestLevel = 4;

std::string_view name_of(std::string_view option) {
    return option.substr(0, option.find('='));
}

/// Of one option said twice the last holds, as ptxas has it (it warns).
std::vector<std::string> without_repeats(const std::vector<std::string>& options) {
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < options.size(); ++i) {
        const auto same = [&](const std::string& later) { return name_of(later) == name_of(options[i]); };
        if (std::none_of(options.begin() + static_cast<std::ptrdiff_t>(i) + 1, options.end(), same))
            kept.push_back(options[i]);
    }
    return kept;
}

/// "-O3" -> "O", "3".
bool is_joined_level(std::string_view word) {
    return word.size() == 2 && word[0] == 'O' && word[1] >= '0' && word[1] <= '4';
}

}  // namespace

std::vector<std::string> code_options(const std::vector<std::string>& recorded, std::vector<std::string>* dropped) {
    std::vector<std::string> kept;
    for (std::size_t at = 0; at < recorded.size(); ++at) {
        std::string_view word = recorded[at];
        const std::size_t hyphens = std::min(word.find_first_not_of('-'), word.size());
        word.remove_prefix(hyphens);
        const std::size_t equals = word.find('=');
        std::string_view value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
        std::string_view name = word.substr(0, equals);
        if (is_joined_level(name)) {
            value = name.substr(1);
            name = "O";
        }
        const bool is_option = hyphens == 1 || hyphens == 2;
        const Option* option = is_option ? option_named(kOptions, name) : nullptr;
        const Option* other = is_option ? option_named(kOtherOptions, name) : nullptr;
        const bool has_value = (option != nullptr && option->has_value) || (other != nullptr && other->has_value);
        const std::string said = recorded[at];
        if (has_value && equals == std::string_view::npos && value.empty() && at + 1 < recorded.size())
            value = recorded[++at];
        if (other != nullptr)
            continue;
        if (option == nullptr || (has_value && !is_plain_value(value))) {
            if (dropped != nullptr)
                dropped->push_back(said);
            continue;
        }
        kept.push_back("--" + std::string(option->long_name) + (has_value ? "=" + std::string(value) : ""));
    }
    return kept;
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
        text.remove_prefix(begin);
        const std::size_t end = std::min(text.find_first_of(" \t\n"), text.size());
        if (end != 0)
            words.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return words;
}

std::vector<std::string> options_of_original(const OriginalOptions& original, std::vector<std::string>* dropped) {
    if (original.runs_cubin)
        return without_repeats(code_options(words_of(original.cubin_note), dropped));
    auto options = code_options(words_of(original.ptx_record), dropped);
    if (original.max_registers != 0)
        options.push_back("--maxrregcount=" + std::to_string(original.max_registers));
    if (original.optimisation_level <= kHighestLevel)
        options.push_back("--opt-level=" + std::to_string(original.optimisation_level));
    return without_repeats(options);
}

}  // namespace egpu::inject

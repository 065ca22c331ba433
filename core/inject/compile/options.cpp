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

const Option* option_named(std::string_view name) {
    for (const Option& option : kOptions)
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
        const Option* option = hyphens == 1 || hyphens == 2 ? option_named(name) : nullptr;
        const bool value_follows = equals == std::string_view::npos && value.empty() && at + 1 < recorded.size();
        if (option != nullptr && option->has_value && value_follows)
            value = recorded[++at];
        if (option == nullptr || (option->has_value && !is_plain_value(value))) {
            if (dropped != nullptr)
                dropped->push_back(recorded[at]);
            continue;
        }
        kept.push_back("--" + std::string(option->long_name) + (option->has_value ? "=" + std::string(value) : ""));
    }
    return kept;
}

}  // namespace egpu::inject

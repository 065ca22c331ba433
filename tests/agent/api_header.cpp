// SPDX-License-Identifier: Apache-2.0
// The header is read from top to bottom with its renaming macros as they stand at each declaration: cuda.h renames a
// function to its newest version and, at its end, takes that back to declare the older ones by their own names.
// Conditions are not evaluated: what stands under any of them counts.
#include "api_header.hpp"

#include <cctype>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace egpu::test {

namespace {

constexpr std::string_view kPerStream = "__CUDA_API_PTSZ(";
constexpr std::string_view kPerThread = "__CUDA_API_PTDS(";

bool is_word(char character) {
    return character == '_' || std::isalnum(static_cast<unsigned char>(character)) != 0;
}

std::string_view word_at(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && is_word(text[end]))
        ++end;
    return text.substr(at, end - at);
}

std::size_t skip_spaces(std::string_view text, std::size_t at) {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0)
        ++at;
    return at;
}

std::string without_comments(const std::string& text) {
    std::string kept;
    for (std::size_t at = 0; at < text.size();) {
        const bool block = text.compare(at, 2, "/*") == 0, line = text.compare(at, 2, "//") == 0;
        if (!block && !line) {
            kept += text[at++];
            continue;
        }
        const std::size_t end = text.find(block ? "*/" : "\n", at);
        at = end == std::string::npos ? text.size() : end + (block ? 2 : 0);
    }
    return kept;
}

using Renames = std::map<std::string, std::set<std::string>>;

void define(Renames* renames, std::string_view text, std::size_t at) {
    const std::string name(word_at(text, at));
    at = skip_spaces(text, at + name.size());
    const bool per_stream = text.substr(at).starts_with(kPerStream),
               per_thread = text.substr(at).starts_with(kPerThread);
    const std::string target(word_at(text, at + (per_stream || per_thread ? kPerStream.size() : 0)));
    if (!name.starts_with("cu") || !target.starts_with("cu"))
        return;
    auto& targets = (*renames)[name];
    targets.insert(target);
    if (per_stream || per_thread)
        targets.insert(target + (per_stream ? "_ptsz" : "_ptds"));
}

}  // namespace

bool leads_to_a_function(const std::string& parameters) {
    static const std::set<std::string, std::less<>> exact = {
        "CUfunction",        "CUkernel",    "CUmodule", "CUlibrary",   "CUlaunchConfig",
        "CUgraphNodeParams", "CUlinkState", "CUgraph",  "CUgraphNode", "CUgraphExec"};
    for (std::size_t at = 0; at < parameters.size(); ++at) {
        if (!is_word(parameters[at]) || (at > 0 && is_word(parameters[at - 1])))
            continue;
        const std::string_view word = word_at(parameters, at);
        if (exact.contains(word) || word.starts_with("CUDA_KERNEL_NODE_PARAMS") ||
            word.starts_with("CUDA_LAUNCH_PARAMS") || word.starts_with("CUDA_GRAPH_INSTANTIATE_PARAMS"))
            return true;
    }
    return false;
}

std::map<std::string, std::string> functions_about_functions(const std::string& header) {
    const std::string text = without_comments(header);
    Renames renames;
    std::map<std::string, std::string> found;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::string_view rest = std::string_view(text).substr(at);
        if (rest.starts_with("#define ")) {
            define(&renames, text, skip_spaces(text, at + 8));
        } else if (rest.starts_with("#undef ")) {
            renames.erase(std::string(word_at(text, skip_spaces(text, at + 7))));
        } else if (rest.starts_with("CUDAAPI ")) {
            const std::size_t begin = skip_spaces(text, at + 8);
            const std::string name(word_at(text, begin));
            const std::size_t open = begin + name.size(), close = text.find(");", open);
            if (!name.starts_with("cu") || text[open] != '(' || close == std::string::npos)
                continue;
            const std::string parameters = text.substr(open + 1, close - open - 1);
            if (!leads_to_a_function(parameters))
                continue;
            const auto renamed = renames.find(name);
            const std::set<std::string> exported =
                renamed == renames.end() ? std::set<std::string>{name} : renamed->second;
            for (const std::string& one : exported)
                found[one] = parameters;
        }
    }
    return found;
}

std::map<std::string, std::set<int>> versions_in_typedefs(const std::string& header) {
    const std::string text = without_comments(header);
    std::map<std::string, std::set<int>> versions;
    for (std::size_t at = text.find("*PFN_cu"); at != std::string::npos; at = text.find("*PFN_cu", at + 1)) {
        const std::string name(word_at(text, at + 5));
        const std::size_t version = name.rfind("_v");
        if (version != std::string::npos && !name.ends_with("_ptsz") && !name.ends_with("_ptds"))
            versions[name.substr(0, version)].insert(std::atoi(name.c_str() + version + 2));
    }
    return versions;
}

std::string family_of(std::string name) {
    if (name.ends_with("_ptsz") || name.ends_with("_ptds"))
        name.resize(name.size() - 5);
    const std::size_t version = name.rfind("_v");
    if (version != std::string::npos && name.find_first_not_of("0123456789", version + 2) == std::string::npos)
        name.resize(version);
    return name;
}

}  // namespace egpu::test

// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/diagnostic.hpp"

namespace egpu::launches {
namespace {

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

/// "4x2" -> 4 x 2 x 1.
bool read_extent(const std::string& word, Extent& extent) {
    return std::sscanf(word.c_str(), "%ux%ux%u", &extent.x, &extent.y, &extent.z) >= 1;
}

std::string joined(const std::vector<std::string>& words, std::size_t from) {
    std::string text;
    for (std::size_t at = from; at < words.size(); ++at)
        text += (text.empty() ? "" : " ") + words[at];
    return text;
}

std::string* remark_of(LaunchLine& launch, const std::string& word) {
    return word == "results"     ? &launch.results
           : word == "order"     ? &launch.order
           : word == "simulated" ? &launch.simulated
           : word == "gpu"       ? &launch.gpu
                                 : nullptr;
}

/// What stands behind each `|`.
bool read_remarks(std::istringstream& stream, LaunchLine& launch) {
    for (std::string text; std::getline(stream, text, '|');) {
        const auto words = words_of(text);
        std::string* const remark = words.size() < 2 ? nullptr : remark_of(launch, words[0]);
        if (remark == nullptr)
            return false;
        *remark = joined(words, 1);
    }
    return true;
}

/// GRID BLOCK [shared=BYTES] [cooperative] : ARGUMENT ...
bool read_launch(const std::vector<std::string>& words, std::size_t at, LaunchLine& launch) {
    if (at + 2 >= words.size() || !read_extent(words[at], launch.grid) || !read_extent(words[at + 1], launch.block))
        return false;
    for (at += 2; at < words.size() && words[at] != ":"; ++at) {
        if (words[at].starts_with("shared="))
            launch.shared = static_cast<std::uint32_t>(std::stoul(words[at].substr(7)));
        else if (words[at] == "cooperative")
            launch.cooperative = true;
        else
            return false;
    }
    if (at >= words.size())
        return false;
    auto arguments = parse_arguments(words, at + 1);
    if (!arguments)
        return false;
    launch.arguments = std::move(*arguments);
    launch.has_launch = true;
    return true;
}

bool read_line(const std::string& line, LaunchLine& launch) {
    std::istringstream stream(line);
    std::string main;
    std::getline(stream, main, '|');
    const auto words = words_of(main);
    if (words.size() < 4)
        return false;
    launch.file = words[0];
    launch.kernel = words[1];
    if (words[2] == "skip") {
        launch.skip = joined(words, 3);
        return true;
    }
    std::size_t at = 2;
    if (words[2] == "refused") {
        launch.refused = words[3];
        at = 4;
    }
    const bool only_refused = !launch.refused.empty() && at == words.size();
    return (only_refused || read_launch(words, at, launch)) && read_remarks(stream, launch);
}

}  // namespace

Result<std::vector<LaunchLine>> read_launches(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        return error("", fmt::format("{} can't be read", path));
    std::vector<LaunchLine> launches;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#')
            continue;
        LaunchLine launch;
        if (!read_line(line, launch))
            return error("", fmt::format("{}: this is no launch: {}", path, line));
        launches.push_back(std::move(launch));
    }
    return launches;
}

}  // namespace egpu::launches

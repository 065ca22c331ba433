// SPDX-License-Identifier: Apache-2.0
#include "launches.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/diagnostic.hpp"

namespace egpu::inject::testing {
namespace {

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

/// "4x2" -> 4 x 2 x 1.
bool read_dimensions(const std::string& word, simulated::Dimensions& dimensions) {
    return std::sscanf(word.c_str(), "%ux%ux%u", &dimensions.x, &dimensions.y, &dimensions.z) >= 1;
}

std::string joined(const std::vector<std::string>& words, std::size_t from) {
    std::string text;
    for (std::size_t at = from; at < words.size(); ++at)
        text += (text.empty() ? "" : " ") + words[at];
    return text;
}

/// What stands behind each `|`.
bool read_remarks(std::istringstream& stream, LaunchLine& launch) {
    for (std::string remark; std::getline(stream, remark, '|');) {
        const auto words = words_of(remark);
        if (words.size() < 2 || (words[0] != "results" && words[0] != "order"))
            return false;
        (words[0] == "results" ? launch.results : launch.order) = joined(words, 1);
    }
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
    if (words[2] == "skip" || words[2] == "refused") {
        (words[2] == "skip" ? launch.skip : launch.refused) = joined(words, 3);
        return true;
    }
    std::size_t at = 4;
    if (!read_dimensions(words[2], launch.grid) || !read_dimensions(words[3], launch.block))
        return false;
    if (at < words.size() && words[at].starts_with("shared="))
        launch.shared = static_cast<std::uint32_t>(std::stoul(words[at++].substr(7)));
    if (at >= words.size() || words[at] != ":")
        return false;
    auto arguments = parse_arguments(words, at + 1);
    if (!arguments)
        return false;
    launch.arguments = std::move(*arguments);
    return read_remarks(stream, launch);
}

}  // namespace

std::vector<LaunchLine> read_launches(const std::string& path) {
    std::ifstream file(path);
    std::vector<LaunchLine> launches;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#')
            continue;
        LaunchLine launch;
        if (read_line(line, launch))
            launches.push_back(std::move(launch));
        else
            ADD_FAILURE() << path << ": " << line;
    }
    return launches;
}

}  // namespace egpu::inject::testing

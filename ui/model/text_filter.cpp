// SPDX-License-Identifier: Apache-2.0
#include "ui/model/text_filter.hpp"

#include <algorithm>
#include <sstream>

namespace egpu::ui {
namespace {

char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool contains(std::string_view text, std::string_view word) {
    return std::search(text.begin(), text.end(), word.begin(), word.end(),
                       [](char in_text, char in_word) { return lower(in_text) == in_word; }) != text.end();
}

bool any_contains(std::initializer_list<std::string_view> texts, std::string_view word) {
    return std::any_of(texts.begin(), texts.end(), [&](std::string_view text) { return contains(text, word); });
}

}  // namespace

void split_filter(std::string_view text, std::vector<std::string>* wanted, std::vector<std::string>* unwanted) {
    wanted->clear();
    unwanted->clear();
    std::istringstream words{std::string(text)};
    for (std::string word; words >> word;) {
        if (word.starts_with('-') && word.size() > 1)
            unwanted->push_back(word.substr(1));
        else if (word != "-")
            wanted->push_back(word);
    }
}

bool passes_filter(std::initializer_list<std::string_view> texts, const std::vector<std::string>& wanted,
                   const std::vector<std::string>& unwanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](const auto& word) { return any_contains(texts, word); }) &&
           std::none_of(unwanted.begin(), unwanted.end(), [&](const auto& word) { return any_contains(texts, word); });
}

}  // namespace egpu::ui

// SPDX-License-Identifier: Apache-2.0
#include "ptx/syntax/edit.hpp"

#include <algorithm>
#include <tuple>

namespace egpu::ptx {

Range range_of(const Module& module, std::string_view name) {
    const auto begin = static_cast<std::uint32_t>(name.data() - module.text->data());
    return {begin, begin + static_cast<std::uint32_t>(name.size())};
}

void Editor::insert_at(std::uint32_t offset, std::string text) {
    edits_.push_back({{offset, offset}, std::move(text), edits_.size()});
}

void Editor::replace(Range range, std::string text) {
    edits_.push_back({range, std::move(text), edits_.size()});
}

// Insertions come before a replacement that begins at the same place; else the order in which they were made counts.
std::string Editor::apply() const {
    std::vector<const Edit*> sorted;
    std::size_t added = 0;
    for (const Edit& edit : edits_) {
        sorted.push_back(&edit);
        added += edit.text.size();
    }
    std::sort(sorted.begin(), sorted.end(), [](const Edit* a, const Edit* b) {
        const auto key = [](const Edit* edit) {
            return std::tuple(edit->range.begin, edit->range.end != edit->range.begin, edit->order);
        };
        return key(a) < key(b);
    });
    const std::string& text = *module_->text;
    std::string out;
    out.reserve(text.size() + added);
    std::size_t position = 0;
    for (const Edit* edit : sorted) {
        const std::size_t begin = std::min<std::size_t>(edit->range.begin, text.size());
        if (begin > position)
            out.append(text, position, begin - position);
        out += edit->text;
        position = std::max({position, begin, std::min<std::size_t>(edit->range.end, text.size())});
    }
    out.append(text, position);
    return out;
}

}  // namespace egpu::ptx

// SPDX-License-Identifier: Apache-2.0
#include "ui/model/palette.hpp"

namespace egpu::ui {

LineStyle Palette::style(const std::string& name) {
    const std::size_t number = numbers_.try_emplace(name, numbers_.size()).first->second;
    return {number % kColours, static_cast<Stroke>(number / kColours % 3)};
}

}  // namespace egpu::ui

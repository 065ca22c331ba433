// SPDX-License-Identifier: Apache-2.0
// A TopView as lines of text (TARGETS E6.10), for any width, with and without UTF-8 and colour.
#pragma once

#include <string>
#include <vector>

#include "cli/screen.hpp"
#include "cli/top_model.hpp"

namespace egpu::cli {

enum class TopMode { kernels, probes, help };

struct TopControls {
    TopMode mode = TopMode::kernels;
    TopSort sort = TopSort::traffic;
    std::string filter;
    bool typing_filter = false;
    bool paused = false;
    std::size_t scroll = 0;  ///< first row of the table
    std::size_t selected_probe = 0;
    std::string message;  ///< one line, of what was done last
};

/// Exactly size.rows lines, none wider than size.columns (escape sequences for colours not counted).
std::vector<std::string> draw_top(const TopView& view, const TopControls& controls, ScreenSize size,
                                  const Style& style);

/// The same without keys, for --live: a header and at most `rows` - 2 kernels.
std::vector<std::string> draw_live(const TopView& view, std::size_t rows, std::size_t columns, const Style& style);

/// One table as plain text, for where there is no terminal.
std::string print_top(const TopView& view);

/// The last values as block characters, scaled to the largest of both histories; a gap is a blank.
std::string bars(const std::deque<std::optional<double>>& history, double most, std::size_t columns,
                 const Style& style);

}  // namespace egpu::cli

// SPDX-License-Identifier: Apache-2.0
// The terminal as egpu top uses it: alternate screen, keys one by one, and back again whatever happens.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace egpu::cli {

struct ScreenSize {
    std::size_t rows = 24, columns = 80;
};

/// Of the terminal at a descriptor; nullopt where it is none.
std::optional<ScreenSize> screen_size(int file);

/// What a terminal can show.
struct Style {
    bool utf8 = false;
    bool colour = false;
};
/// From the environment: LC_ALL, LC_CTYPE, LANG, NO_COLOR, TERM.
Style style_of_environment();

/// At most `columns` characters, a longer text cut with "~" (or "…"); never splits a character.
std::string fit(std::string_view text, std::size_t columns, const Style& style);
/// fit(), and blanks up to `columns`.
std::string pad(std::string_view text, std::size_t columns, const Style& style);

enum class KeyKind { character, enter, escape, backspace, up, down, page_up, page_down, interrupt, suspend, redraw };
struct Key {
    KeyKind kind = KeyKind::character;
    std::string text;  ///< of a character, in UTF-8
};
/// Takes one key off the front of what was read; nullopt: an unfinished sequence (more may come), or nothing. `last`:
/// nothing more comes, so that a lone ESC is the key.
std::optional<Key> take_key(std::string& input, bool last);

/// One at a time. What leaves the process (a signal, a crash, an exception) gives the terminal back first.
class Screen {
public:
    /// EGPU-X080 where stdin or stdout is no terminal, or one that can't be drawn on (TERM=dumb).
    static Result<std::unique_ptr<Screen>> open();
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    ScreenSize size() const;
    /// A whole frame; further lines than rows are not shown.
    void draw(const std::vector<std::string>& lines);
    /// Waits at most so long. A resize ends the wait without a key.
    std::optional<Key> read_key(int timeout_ms);
    /// Gives the terminal back, stops the process as Ctrl-Z does, and takes it again afterwards.
    void suspend();

private:
    Screen() = default;
    void enter();
    std::string input_;
};

}  // namespace egpu::cli

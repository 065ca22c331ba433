// SPDX-License-Identifier: Apache-2.0
#include "cli/screen.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/write_all.hpp"
#include "cli/terminal.hpp"

namespace egpu::cli {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
/// A sequence that a key sends comes at once.
constexpr int kSequenceMs = 25;

termios before;  // of stdin, while `taken`
std::atomic<bool> taken{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler reads it

void to_terminal(std::string_view text) {
    write_all(STDOUT_FILENO, text);  // a terminal that is gone is noticed when a key is read
}

/// Only what a signal handler may call.
void give_back() {
    if (!taken.exchange(false))
        return;
    to_terminal(kLeave);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

void on_ending(int signal) {
    give_back();
    // The handler was removed when it was called (SA_RESETHAND): now the signal does what it does.
    ::raise(signal);
}

void on_resize(int) {}

bool contains_utf8(const char* locale) {
    std::string text;
    for (; *locale != '\0'; ++locale)
        text += static_cast<char>(::tolower(static_cast<unsigned char>(*locale)));
    return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
}

const char* variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// Bytes of the UTF-8 character that begins with this one.
std::size_t character_bytes(unsigned char first) {
    return first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
}

std::optional<KeyKind> sequence_key(std::string_view sequence) {
    static constexpr std::pair<std::string_view, KeyKind> kKnown[] = {
        {"\x1b[A", KeyKind::up},   {"\x1bOA", KeyKind::up},       {"\x1b[B", KeyKind::down},
        {"\x1bOB", KeyKind::down}, {"\x1b[5~", KeyKind::page_up}, {"\x1b[6~", KeyKind::page_down}};
    for (const auto& [known, kind] : kKnown)
        if (sequence == known)
            return kind;
    return std::nullopt;
}

}  // namespace

std::optional<ScreenSize> screen_size(int file) {
    winsize size{};
    if (::isatty(file) == 0)
        return std::nullopt;
    if (::ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        return ScreenSize{};
    return ScreenSize{size.ws_row, size.ws_col};
}

Style style_of_environment() {
    Style style;
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
        if (*variable(name) != '\0') {
            style.utf8 = contains_utf8(variable(name));
            break;
        }
    style.colour = *variable("NO_COLOR") == '\0' && std::string_view(variable("TERM")) != "dumb";
    return style;
}

std::string fit(std::string_view text, std::size_t columns, const Style& style) {
    if (display_width(text) <= columns)
        return std::string(text);
    if (columns == 0)
        return {};
    std::size_t bytes = 0;
    for (std::size_t width = 0; bytes < text.size() && width + 1 < columns; ++width)
        bytes += character_bytes(static_cast<unsigned char>(text[bytes]));
    return std::string(text.substr(0, bytes)) + (style.utf8 ? "\u2026" : "~");
}

std::string pad(std::string_view text, std::size_t columns, const Style& style) {
    std::string fitted = fit(text, columns, style);
    fitted.append(columns - std::min(columns, display_width(fitted)), ' ');
    return fitted;
}

std::optional<Key> take_key(std::string& input, bool last) {
    if (input.empty())
        return std::nullopt;
    const auto first = static_cast<unsigned char>(input[0]);
    const auto take = [&input](std::size_t bytes, KeyKind kind, std::string text = {}) {
        input.erase(0, bytes);
        return Key{kind, std::move(text)};
    };
    if (first == 0x1b) {
        const bool sequence = input.size() >= 2 && (input[1] == '[' || input[1] == 'O');
        if (!sequence)
            return input.size() >= 2 || last ? std::optional(take(1, KeyKind::escape)) : std::nullopt;
        std::size_t end = 2;
        while (end < input.size() && (input[end] < 0x40 || input[end] > 0x7e))
            ++end;
        if (end == input.size())
            return last ? std::optional(take(input.size(), KeyKind::redraw)) : std::nullopt;
        const auto known = sequence_key(std::string_view(input).substr(0, end + 1));
        return take(end + 1, known.value_or(KeyKind::redraw));
    }
    if (first == '\r' || first == '\n')
        return take(1, KeyKind::enter);
    if (first == 0x7f || first == 0x08)
        return take(1, KeyKind::backspace);
    if (first == 0x03)
        return take(1, KeyKind::interrupt);
    if (first == 0x1a)
        return take(1, KeyKind::suspend);
    if (first < 0x20)
        return take(1, KeyKind::redraw);
    const std::size_t bytes = character_bytes(first);
    if (bytes > input.size() && !last)
        return std::nullopt;
    const std::string text = input.substr(0, bytes);
    return take(std::min(bytes, input.size()), KeyKind::character, text);
}

Result<std::unique_ptr<Screen>> Screen::open() {
    const std::string_view terminal = variable("TERM");
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
        return error("EGPU-X080", "stdin or stdout is no terminal");
    if (terminal.empty() || terminal == "dumb")
        return error("EGPU-X080", "TERM says that this terminal can't be drawn on");
    if (::tcgetattr(STDIN_FILENO, &before) != 0)
        return error("EGPU-X080", std::string("the terminal has no modes: ") + std::strerror(errno));
    std::unique_ptr<Screen> screen(new Screen());
    for (const int signal : kEnding) {
        struct sigaction action {};
        action.sa_handler = on_ending;
        action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
        ::sigaction(signal, &action, nullptr);
    }
    struct sigaction resize {};
    resize.sa_handler = on_resize;  // without SA_RESTART: it ends a wait
    ::sigaction(SIGWINCH, &resize, nullptr);
    screen->enter();
    return screen;
}

void Screen::enter() {
    termios raw = before;
    raw.c_lflag &= static_cast<tcflag_t>(~(ECHO | ICANON | ISIG | IEXTEN));
    raw.c_iflag &= static_cast<tcflag_t>(~(IXON | ICRNL));
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    taken = true;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    to_terminal(kEnter);
}

Screen::~Screen() {
    give_back();
    for (const int signal : kEnding)
        ::signal(signal, SIG_DFL);
}

ScreenSize Screen::size() const {
    return screen_size(STDOUT_FILENO).value_or(ScreenSize{});
}

void Screen::draw(const std::vector<std::string>& lines) {
    const std::size_t rows = std::min(lines.size(), size().rows);
    std::string frame = "\x1b[H";
    for (std::size_t i = 0; i < rows; ++i)
        frame += lines[i] + "\x1b[K" + (i + 1 < rows ? "\r\n" : "");
    to_terminal(frame + "\x1b[J");
}

std::optional<Key> Screen::read_key(int timeout_ms) {
    if (auto key = take_key(input_, false))
        return key;
    pollfd watched{STDIN_FILENO, POLLIN, 0};
    if (::poll(&watched, 1, input_.empty() ? timeout_ms : std::min(timeout_ms, kSequenceMs)) <= 0)
        return take_key(input_, true);
    char piece[64];
    const ssize_t got = ::read(STDIN_FILENO, piece, sizeof piece);
    if (got <= 0)
        return got < 0 && errno == EINTR ? std::nullopt : std::optional(Key{KeyKind::interrupt, {}});  // hung up
    input_.append(piece, static_cast<std::size_t>(got));
    return take_key(input_, false);
}

void Screen::suspend() {
    give_back();
    ::raise(SIGTSTP);
    ::tcgetattr(STDIN_FILENO, &before);
    enter();
}

}  // namespace egpu::cli

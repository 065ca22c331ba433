// SPDX-License-Identifier: Apache-2.0
#include "cli/live_table.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "base/signals.hpp"
#include "base/write_all.hpp"
#include "cli/screen.hpp"
#include "cli/terminal.hpp"
#include "cli/top_model.hpp"
#include "cli/top_screen.hpp"
#include "host/series/live_source.hpp"

namespace egpu::cli {
namespace {

constexpr auto kTableSampleEvery = std::chrono::milliseconds(50);
constexpr int kSamplesADraw = 5;
constexpr std::size_t kFewestRows = 12, kFewestColumns = 40;

// What a signal handler needs: the table's first row, 0 while there is no table.
std::atomic<int> first_row{0};
std::atomic<bool> resumed{false};
static_assert(std::atomic<int>::is_always_lock_free);

/// Rows that the table takes: a quarter of the screen, or four.
std::size_t table_rows(const ScreenSize& size) {
    return std::clamp<std::size_t>(size.rows / 4, 4, 8);
}

bool is_large_enough(const ScreenSize& size) {
    return size.rows >= kFewestRows && size.columns >= kFewestColumns;
}

/// One write: the terminal takes it whole, whatever the program prints meanwhile.
void put(std::string_view text) {
    write_all(STDERR_FILENO, text);
}

constexpr const char* kSave =
    "\x1b"
    "7";
constexpr const char* kRestore =
    "\x1b"
    "8";

/// Lines scroll up so that the table's are free; the cursor stays in its line. From then on only those above scroll.
void make_room(const ScreenSize& size) {
    const std::size_t rows = table_rows(size);
    put(fmt::format("{}\x1b[{}A{}\x1b[1;{}r{}", std::string(rows, '\n'), rows, kSave, size.rows - rows, kRestore));
    first_row = static_cast<int>(size.rows - rows + 1);
}

/// Only what a signal handler may call.
void give_room_back() {
    const int row = first_row.exchange(0);
    if (row == 0)
        return;
    char text[64];
    char digits[12];
    int count = 0;
    for (int rest = row; rest > 0; rest /= 10)
        digits[count++] = static_cast<char>('0' + rest % 10);
    std::size_t at = 0;
    const auto add = [&](const char* part) {
        while (*part != '\0')
            text[at++] = *part++;
    };
    add("\x1b"
        "7\x1b[r\x1b[");
    while (count > 0)
        text[at++] = digits[--count];
    add(";1H\x1b[J\x1b"
        "8");
    put({text, at});
}

void on_stop(int) {
    give_room_back();
    ::raise(SIGSTOP);
    resumed = true;
}

void on_crash(int signal) {
    give_room_back();
    ::raise(signal);
}

void draw(const TopModel& model, const ScreenSize& size, const Style& style) {
    const std::size_t rows = table_rows(size);
    std::string text = fmt::format("{}\x1b[1;{}r", kSave, size.rows - rows);
    std::size_t row = size.rows - rows;
    for (const auto& line : draw_live(model.view(), rows, size.columns, style))
        text += fmt::format("\x1b[{};1H{}\x1b[K", ++row, line);
    put(text + kRestore);
    first_row = static_cast<int>(size.rows - rows + 1);
}

}  // namespace

Status LiveTable::possible() {
    const auto size = screen_size(STDERR_FILENO);
    if (!size)
        return error("EGPU-X081", "--live needs a terminal on stderr: the table is drawn there",
                     "egpu top shows the same in another terminal");
    const char* terminal = std::getenv("TERM");
    if (terminal == nullptr || *terminal == '\0' || std::string_view(terminal) == "dumb")
        return error("EGPU-X081", "--live: TERM says that this terminal can't keep lines in place",
                     "egpu top shows the same in another terminal");
    if (!is_large_enough(*size))
        return error("EGPU-X081", fmt::format("--live needs {} lines of {} columns, the terminal has {} of {}",
                                              kFewestRows, kFewestColumns, size->rows, size->columns));
    return ok();
}

LiveTable::LiveTable() {
    make_room(screen_size(STDERR_FILENO).value_or(ScreenSize{}));
    struct sigaction action {};
    action.sa_handler = on_stop;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGTSTP, &action, nullptr);
    action.sa_handler = on_crash;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
        ::sigaction(signal, &action, nullptr);
}

LiveTable::~LiveTable() {
    stopping_ = true;
    if (thread_.joinable())
        thread_.join();
    give_room_back();
    for (const int signal : {SIGTSTP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
        ::signal(signal, SIG_DFL);
}

void LiveTable::watch(const std::string& segment_name) {
    const AllSignalsBlocked blocked;
    thread_ = std::thread([this, segment_name] { run(segment_name); });
}

void LiveTable::run(const std::string& segment_name) {
    auto source = host::LiveSource::open_segment(segment_name);
    if (!source)
        return;  // the session's own report says what is wrong with it
    TopModel model(**source);
    const Style style = style_of_environment();
    ScreenSize shown = screen_size(STDERR_FILENO).value_or(ScreenSize{});
    for (int turn = 0; !stopping_; ++turn) {
        model.sample();
        if (turn % kSamplesADraw == 0) {
            const ScreenSize size = screen_size(STDERR_FILENO).value_or(ScreenSize{});
            const bool changed = size.rows != shown.rows || size.columns != shown.columns;
            shown = size;
            if (changed || !is_large_enough(size))
                give_room_back();
            if (is_large_enough(size)) {
                if (resumed.exchange(false) || first_row == 0)
                    make_room(size);
                draw(model, size, style);
            }
        }
        std::this_thread::sleep_for(kTableSampleEvery);
    }
    // What stands there last is the end: a short program is over before a second frame.
    model.sample();
    const ScreenSize size = screen_size(STDERR_FILENO).value_or(ScreenSize{});
    if (first_row != 0 && size.rows == shown.rows && size.columns == shown.columns)
        draw(model, size, style);
}

}  // namespace egpu::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/top_screen.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/units.hpp"
#include "cli/terminal.hpp"

namespace egpu::cli {
namespace {

constexpr std::size_t kMostBars = 15;
constexpr std::array kBlocks = {"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
constexpr std::string_view kAsciiBlocks = "_.:-=+*#";

/// Names come from other people's binaries: nothing in them moves the cursor.
std::string clean(std::string_view text) {
    std::string out = printable(text);
    for (auto& c : out)
        if (c == '\n' || c == '\t')
            c = ' ';
    return out;
}

template <typename Value, typename Format>
std::string or_na(const std::optional<Value>& value, Format format) {
    return value ? format(*value) : "n/a";
}

std::string clock_text(double seconds) {
    const auto whole = static_cast<std::int64_t>(std::max(seconds, 0.0));
    const std::string minutes = fmt::format("{}:{:02}", whole / 60 % 60, whole % 60);
    return whole < 3600 ? minutes : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string bound(bool at_least, const Style& style) {
    return !at_least ? "" : style.utf8 ? "\u2265 " : ">= ";
}

std::string most(const Style& style) {
    return style.utf8 ? "\u2264 " : "<= ";
}

/// Launches a second: "15 770", "0.5".
std::string per_second(double rate) {
    return rate >= 10 || rate == 0 ? format_count(static_cast<std::uint64_t>(std::llround(rate)))
                                   : fmt::format("{:.1f}", rate);
}

std::string paint(const std::string& text, const char* code, const Style& style) {
    return style.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

std::string state_text(const TopView& view, bool paused, const Style& style) {
    const std::string dot = style.utf8 ? (view.live ? "\u25cf " : "\u25cb ") : "";
    if (!view.live)
        return dot + (view.state_text.empty() ? "ended" : view.state_text);
    if (paused)
        return dot + "paused";
    if (!view.state_text.empty())
        return dot + "suspended";
    if (view.stopped)
        return dot + "stopped";
    return dot + "live" + (view.samples_per_second ? fmt::format(", {:.0f} Hz", *view.samples_per_second) : "");
}

/// Left and right part on one line; the left one gives way.
std::string both_ends(const std::string& left, const std::string& right, std::size_t columns, const Style& style) {
    const std::size_t width = display_width(right);
    if (width + 2 > columns)
        return fit(right, columns, style);
    return pad(left, columns - width - 1, style) + " " + right;
}

std::string first_line(const TopView& view, bool paused, std::size_t columns, const Style& style) {
    std::string left = view.program;
    if (view.pid != 0)
        left += fmt::format("  pid {}", view.pid);
    left += view.device.empty() ? "  no CUDA used so far" : "  " + view.device;
    left += fmt::format("  {}  egpu {}  dropped {}", clock_text(view.seconds), format_memory(view.egpu_memory),
                        format_count(view.dropped));
    return both_ends(clean(left), clean(state_text(view, paused, style)), columns, style);
}

std::string second_line(const TopView& view, std::size_t columns, const Style& style) {
    double largest = 0;
    for (const auto* history : {&view.read_history, &view.written_history})
        for (const auto& value : *history)
            largest = std::max(largest, value.value_or(0));
    const auto part = [&](const char* name, const std::optional<double>& rate,
                          const std::deque<std::optional<double>>& history, std::size_t width) {
        const std::string text =
            or_na(rate, [&](double value) { return bound(view.total.at_least, style) + format_rate(value); });
        return fmt::format("{} {}{}", name, pad(text, 12, style),
                           width == 0 ? "" : bars(history, largest, width, style));
    };
    const std::size_t width = columns >= 110 ? kMostBars : columns >= 90 ? 8 : columns >= 76 ? 4 : 0;
    return fit(fmt::format("requested  {}  {}   DRAM n/a   window 1 s",
                           part("read", view.total.read, view.read_history, width),
                           part("written", view.total.written, view.written_history, width)),
               columns, style);
}

/// Columns that a narrow terminal goes without, the least important first.
struct Columns {
    bool each = true, written = true, launches = true;
    std::size_t name = 20;
};

constexpr std::size_t kNumber = 12, kShort = 9, kSmallestState = 12;

Columns columns_for(const std::vector<TopRow>& rows, std::size_t columns) {
    Columns shown;
    std::size_t longest = 6;
    for (const auto& row : rows)
        longest = std::max(longest, display_width(row.name));
    shown.name = std::clamp<std::size_t>(longest, 6, std::max<std::size_t>(columns / 3, 12));
    const auto needs = [&] {
        return shown.name + (shown.launches ? kNumber : 0) + (shown.each ? kNumber + kShort : 0) + kNumber +
               (shown.written ? kNumber : 0) + kSmallestState;
    };
    if (needs() > columns)
        shown.each = false;
    if (needs() > columns)
        shown.launches = false;
    if (needs() > columns)
        shown.written = false;
    return shown;
}

std::string right(const std::string& text, std::size_t width, const Style& style) {
    const std::string fitted = fit(text, width - 1, style);
    return std::string(width - display_width(fitted), ' ') + fitted;
}

std::string header_line(const Columns& shown, bool live, std::size_t columns, const Style& style) {
    std::string line = pad("KERNEL", shown.name, style);
    if (shown.launches)
        line += right(live ? "LAUNCH/S" : "LAUNCHES", kNumber, style);
    if (shown.each)
        line += right("EACH", kNumber, style) + right(live ? "BUSY" : "", kShort, style);
    line += right(live ? "READ/S" : "READ", kNumber, style);
    if (shown.written)
        line += right(live ? "WRITTEN/S" : "WRITTEN", kNumber, style);
    return pad(line + "  STATE", columns, style);
}

std::string row_line(const TopRow& row, const Columns& shown, bool live, std::size_t columns, const Style& style) {
    const auto rate = [&](const std::optional<double>& value) {
        return or_na(value, [&](double each) { return bound(row.rates.at_least, style) + format_rate(each); });
    };
    const auto total = [&](const std::optional<std::uint64_t>& value) {
        return or_na(value, [&](std::uint64_t each) {
            return bound(row.totals_at_least, style) + format_bytes(static_cast<double>(each));
        });
    };
    std::string line = pad(clean(row.name), shown.name, style);
    if (shown.launches)
        line += right(live ? or_na(row.rates.launches, per_second) : format_count(row.launches), kNumber, style);
    if (shown.each) {
        line +=
            right(or_na(row.each_ns, [&](double ns) { return most(style) + format_duration_ns(ns); }), kNumber, style);
        line += right(
            !live ? ""
                  : or_na(row.busy, [&](double share) { return fmt::format("{}{:.0f} %", most(style), share * 100); }),
            kShort, style);
    }
    line += right(live ? rate(row.rates.read) : total(row.read_total), kNumber, style);
    if (shown.written)
        line += right(live ? rate(row.rates.written) : total(row.written_total), kNumber, style);
    return fit(line + "  " + clean(row.state), columns, style);
}

void add_kernels(const TopView& view, const TopControls& controls, std::size_t rows, std::size_t columns,
                 const Style& style, std::vector<std::string>& lines) {
    const auto arranged = arrange(view.rows, controls.sort, controls.filter);
    const Columns shown = columns_for(arranged, columns);
    lines.push_back(paint(header_line(shown, view.live, columns, style), "7", style));
    if (arranged.empty() && rows > 1)
        lines.push_back(fit(view.rows.empty() ? "no kernel was launched so far"
                                              : fmt::format("no kernel's name holds '{}'", clean(controls.filter)),
                            columns, style));
    const std::size_t first = std::min(controls.scroll, arranged.empty() ? 0 : arranged.size() - 1);
    for (std::size_t i = first; i < arranged.size() && i - first + 1 < rows; ++i)
        lines.push_back(row_line(arranged[i], shown, view.live, columns, style));
}

void add_probes(const TopView& view, const TopControls& controls, std::size_t columns, const Style& style,
                std::vector<std::string>& lines) {
    lines.push_back(paint(pad("  PROBE", columns, style), "7", style));
    if (view.probes.empty())
        lines.push_back(fit("the session has no probes: egpu probe add WHAT", columns, style));
    for (std::size_t i = 0; i < view.probes.size(); ++i) {
        const TopProbe& probe = view.probes[i];
        const bool chosen = i == controls.selected_probe;
        std::string line = fmt::format(
            "{} {} {:<20} {:<16} {}", chosen ? ">" : " ", probe.attached ? "[x]" : "[ ]", probe.name, probe.state,
            probe.attached ? counted(probe.sites, "site") + " in " + counted(probe.kernels, "kernel") : std::string());
        if (!probe.remark.empty())
            line += "  " + probe.remark;
        line = fit(clean(line), columns, style);
        lines.push_back(chosen ? paint(line, "1", style) : line);
    }
}

void add_help(std::size_t columns, const Style& style, std::vector<std::string>& lines) {
    static constexpr const char* kHelp[] = {
        "q, Ctrl-C   quit                          s   sort: bytes, launches, name",
        "/           show only kernels whose name holds a text or matches a glob; Enter or Esc ends it",
        "p           probes: arrows choose, space takes one off the running program or puts it back",
        "space       pause: the figures stand still, the program does not",
        "arrows, Page Up and Down   scroll         Ctrl-Z   stop egpu top; fg goes on",
        "",
        "READ/S, WRITTEN/S: bytes that instructions ask for, global memory, over the last second. Caches can give more",
        "than DRAM has. EACH: what a launch takes at most, BUSY: the share of time that this is at most; n/a on the",
        "simulated GPU, which knows no time. >= : launches ran that were not counted. n/a: not known, which is not 0.",
        "",
        "any key goes back"};
    for (const char* line : kHelp)
        lines.push_back(fit(line, columns, style));
}

std::string last_line(const TopView& view, const TopControls& controls, std::size_t columns, const Style& style) {
    if (controls.typing_filter)
        return fit("/" + clean(controls.filter) + (style.utf8 ? "\u2588" : "_"), columns, style);
    if (controls.mode == TopMode::probes)
        return fit("q quit   arrows choose   space take off, put back   p back", columns, style);
    std::string keys = "q quit   s sort   / filter   p probes   space pause   ? help";
    keys += fmt::format("   by {}", to_words(controls.sort));
    if (!controls.filter.empty())
        keys += fmt::format("   filter: {}", clean(controls.filter));
    if (!view.live)
        keys += "   totals";
    return fit(keys, columns, style);
}

}  // namespace

std::string bars(const std::deque<std::optional<double>>& history, double largest, std::size_t columns,
                 const Style& style) {
    std::string text;
    const std::size_t shown = std::min(columns, history.size());
    text.append(columns - shown, ' ');
    for (std::size_t i = history.size() - shown; i < history.size(); ++i) {
        if (!history[i]) {
            text += ' ';
            continue;
        }
        const double share = largest > 0 ? *history[i] / largest : 0;
        const auto step = std::min<std::size_t>(static_cast<std::size_t>(std::max(share, 0.0) * 8), 7);
        if (style.utf8)
            text += kBlocks[step];
        else
            text += kAsciiBlocks[step];
    }
    return text;
}

std::vector<std::string> draw_top(const TopView& view, const TopControls& controls, ScreenSize size,
                                  const Style& style) {
    std::vector<std::string> lines;
    if (size.rows >= 4) {
        lines.push_back(paint(first_line(view, controls.paused, size.columns, style), "1", style));
        lines.push_back(second_line(view, size.columns, style));
    }
    const std::size_t footer = size.rows >= 2 ? (controls.message.empty() ? 1 : 2) : 0;
    const std::size_t room = size.rows - std::min(size.rows, lines.size() + footer);
    if (controls.mode == TopMode::help)
        add_help(size.columns, style, lines);
    else if (controls.mode == TopMode::probes)
        add_probes(view, controls, size.columns, style, lines);
    else
        add_kernels(view, controls, room, size.columns, style, lines);
    lines.resize(size.rows - footer);
    if (footer == 2)
        lines.push_back(fit(clean(controls.message), size.columns, style));
    if (footer != 0)
        lines.push_back(last_line(view, controls, size.columns, style));
    return lines;
}

std::vector<std::string> draw_live(const TopView& view, std::size_t rows, std::size_t columns, const Style& style) {
    std::vector<std::string> lines = {paint(first_line(view, false, columns, style), "1", style)};
    add_kernels(view, {}, rows - 1, columns, style, lines);
    lines.resize(rows);
    return lines;
}

std::string print_top(const TopView& view) {
    const Style style{.utf8 = true, .colour = false};
    constexpr std::size_t kWide = 160;
    std::vector<std::string> lines = {first_line(view, false, kWide, style), second_line(view, kWide, style)};
    add_kernels(view, {}, view.rows.size() + 2, kWide, style, lines);
    std::string text;
    for (auto& line : lines) {
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace egpu::cli

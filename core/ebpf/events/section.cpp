// SPDX-License-Identifier: Apache-2.0
// Reads SEC("gpu[.GRANULARITY]/EVENT[.SPACE][/KERNEL]") (TARGETS E3.1) and says what is wrong with one that isn't so.
#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "base/names.hpp"
#include "base/version.hpp"
#include "ebpf/events/events.hpp"

namespace egpu::ebpf {
namespace {

struct EventRow {
    Event event;
    std::string_view name;
    ContextKind context;
    bool takes_space;
};
constexpr std::array kEvents{
    EventRow{Event::kernel_entry, "kernel_entry", ContextKind::kernel, false},
    EventRow{Event::kernel_exit, "kernel_exit", ContextKind::kernel, false},
    EventRow{Event::load, "load", ContextKind::mem, true},
    EventRow{Event::store, "store", ContextKind::mem, true},
    EventRow{Event::atomic, "atomic", ContextKind::mem, true},
    EventRow{Event::mem, "mem", ContextKind::mem, true},
    EventRow{Event::load_return, "load_return", ContextKind::mem, true},
    EventRow{Event::atomic_return, "atomic_return", ContextKind::mem, true},
    EventRow{Event::async_copy, "async_copy", ContextKind::mem, true},
    EventRow{Event::barrier, "barrier", ContextKind::kernel, false},
    EventRow{Event::branch, "branch", ContextKind::kernel, false},
    EventRow{Event::basic_block, "basic_block", ContextKind::kernel, false},
    EventRow{Event::call, "call", ContextKind::kernel, false},
    EventRow{Event::mma, "mma", ContextKind::kernel, false},
    EventRow{Event::instruction, "instruction", ContextKind::kernel, false},
};
constexpr std::array<const char*, 4> kGranularities{"thread", "warp", "block", "grid"};
constexpr std::array<const char*, 5> kSpaces{"global", "shared", "local", "const", "generic"};
constexpr std::array<const char*, 3> kAccesses{"load", "store", "atomic"};

const EventRow& row_of(Event event) {
    return kEvents[static_cast<std::size_t>(event)];
}

template <typename Names>
std::string join(const Names& names) {
    std::string out;
    for (const auto& name : names)
        out += (out.empty() ? "" : ", ") + std::string(name);
    return out;
}

std::vector<std::string> event_names() {
    std::vector<std::string> names;
    for (const auto& row : kEvents)
        names.emplace_back(row.name);
    return names;
}

/// `what` is "event", "space", ...; the hint names the nearest choice, or all of them.
Diagnostic unknown(std::string_view section, std::string_view what, std::string_view typed,
                   const std::vector<std::string>& choices) {
    const std::string meant = nearest(typed, choices);
    auto diagnostic =
        error("EGPU-B010", typed.empty() ? fmt::format("section \"{}\" names no {}", section, what)
                                         : fmt::format("unknown {} '{}' in section \"{}\"", what, typed, section));
    if (!meant.empty())
        diagnostic.hints.push_back(fmt::format("did you mean '{}'?", meant));
    else
        diagnostic.hints.push_back(fmt::format("one of: {}", join(choices)));
    return diagnostic;
}

/// An event that none is called, where what was meant can be told from its form.
Diagnostic unknown_event(std::string_view section, std::string_view typed) {
    const auto instead = [&](std::string hint) {
        return error("EGPU-B010", fmt::format("unknown event '{}' in section \"{}\"", typed, section), std::move(hint));
    };
    const auto names = event_names();
    if (const auto colon = typed.find(':'); colon != std::string_view::npos)
        if (const auto meant = nearest(typed.substr(0, colon), names); !meant.empty())
            return instead(fmt::format("did you mean 'gpu/{}/{}'?", meant, typed.substr(colon + 1)));
    if (typed.find_first_of(",|+") != std::string_view::npos)
        return instead("a program has one event; mem is load, store and atomic");
    if (typed == "kernel" || typed == "entry" || typed == "exit")
        return instead(fmt::format("did you mean 'kernel_{}'?", typed == "exit" ? "exit" : "entry"));
    return unknown(section, "event", typed, names);
}

/// Cuts the text up to the first `separator` off `rest`.
std::string_view take_until(std::string_view& rest, char separator) {
    const auto at = rest.find(separator);
    const auto taken = rest.substr(0, at);
    rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
    return taken;
}

template <std::size_t N>
std::optional<std::size_t> index_of(const std::array<const char*, N>& names, std::string_view name) {
    for (std::size_t i = 0; i < N; ++i)
        if (name == names[i])
            return i;
    return std::nullopt;
}

/// What the grammar has and this version has not.
std::optional<Diagnostic> not_offered(std::string_view section, const InjectionPoint& point) {
    if (point.granularity == Granularity::block)
        return error("EGPU-B012",
                     fmt::format("granularity '{}' of section \"{}\" is not offered by egpu {}",
                                 to_name(point.granularity), section, version()),
                     "this version has gpu/ (each thread), gpu.warp/ (once for the lanes that execute together) and "
                     "gpu.grid/ (once a launch)");
    return std::nullopt;
}

std::optional<Diagnostic> contradiction(std::string_view section, const InjectionPoint& point) {
    const auto& row = row_of(point.event);
    if (point.space && !row.takes_space)
        return error("EGPU-B011",
                     fmt::format("event '{}' has no space, section \"{}\" asks for '{}'", row.name, section,
                                 to_name(*point.space)),
                     "a space belongs to load, store, atomic, mem, async_copy and the _return events");
    const bool once_only = point.granularity == Granularity::block || point.granularity == Granularity::grid;
    if (once_only && point.event != Event::kernel_entry && point.event != Event::kernel_exit)
        return error("EGPU-B011",
                     fmt::format("granularity '{}' is not offered at '{}' (section \"{}\")", to_name(point.granularity),
                                 row.name, section),
                     "block and grid are for kernel_entry (first to arrive) and kernel_exit (last to leave)");
    if (point.event == Event::instruction && point.opcode_pattern.empty())
        return error("EGPU-B011", fmt::format("section \"{}\" names no instruction", section),
                     "write gpu/instruction/PATTERN, a glob on the PTX opcode such as ld.global.*");
    return std::nullopt;
}

}  // namespace

bool is_gpu_section(std::string_view section) {
    return section == "gpu" || section.starts_with("gpu/") || section.starts_with("gpu.");
}

Result<InjectionPoint> parse_section(std::string_view section) {
    if (!is_gpu_section(section))
        return error("EGPU-B010", fmt::format("section \"{}\" is not an injection point", section),
                     "write SEC(\"gpu[.GRANULARITY]/EVENT[.SPACE][/KERNEL]\")");
    InjectionPoint point;
    std::string_view rest = section;
    std::string_view head = take_until(rest, '/');
    head.remove_prefix(3);
    if (!head.empty()) {
        head.remove_prefix(1);
        const auto granularity = index_of(kGranularities, head);
        if (granularity && *granularity == 0)
            return error("EGPU-B010", fmt::format("unknown granularity 'thread' in section \"{}\"", section),
                         fmt::format("gpu/ alone runs for each thread: gpu/{}", rest));
        if (!granularity)
            return unknown(section, "granularity", head, {"warp", "block", "grid"});
        point.granularity = static_cast<Granularity>(*granularity);
    }
    const bool ends_open = rest.ends_with('/') && rest.find('/') == rest.size() - 1;
    std::string_view space = take_until(rest, '/');
    const bool has_space = space.find('.') != std::string_view::npos;
    const std::string_view event = take_until(space, '.');
    const auto row = std::find_if(kEvents.begin(), kEvents.end(), [&](const EventRow& r) { return r.name == event; });
    if (row == kEvents.end())
        return unknown_event(section, event);
    point.event = row->event;
    if (has_space) {
        const auto index = index_of(kSpaces, space);
        if (!index)
            return unknown(section, "space", space, {kSpaces.begin(), kSpaces.end()});
        point.space = static_cast<Space>(*index);
    }
    if (ends_open && point.event != Event::instruction)
        return error("EGPU-B010", fmt::format("section \"{}\" names no kernel behind its last '/'", section),
                     "leave the '/' out for every kernel, or write a glob on their names such as *gemm*");
    (point.event == Event::instruction ? point.opcode_pattern : point.kernel_pattern) = rest;
    if (auto wrong = contradiction(section, point))
        return *wrong;
    if (auto missing = not_offered(section, point))
        return *missing;
    return point;
}

std::string to_section(const InjectionPoint& point) {
    std::string out = "gpu";
    if (point.granularity != Granularity::thread)
        out += fmt::format(".{}", to_name(point.granularity));
    out += fmt::format("/{}", to_name(point.event));
    if (point.space)
        out += fmt::format(".{}", to_name(*point.space));
    const auto& pattern = point.event == Event::instruction ? point.opcode_pattern : point.kernel_pattern;
    if (!pattern.empty())
        out += "/" + pattern;
    return out;
}

ContextKind context_of(Event event) {
    return row_of(event).context;
}

const char* to_name(Event event) {
    return row_of(event).name.data();
}
const char* to_name(Granularity granularity) {
    return kGranularities[static_cast<std::size_t>(granularity)];
}
const char* to_name(Space space) {
    return kSpaces[static_cast<std::size_t>(space)];
}
const char* to_name(Access access) {
    return kAccesses[static_cast<std::size_t>(access)];
}

}  // namespace egpu::ebpf

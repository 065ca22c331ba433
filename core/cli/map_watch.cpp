// SPDX-License-Identifier: Apache-2.0
#include "cli/map_watch.hpp"

#include <chrono>
#include <cstdio>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cli/run_report.hpp"
#include "cli/session_info.hpp"
#include "cli/terminal.hpp"
#include "host/records/print_lines.hpp"
#include "host/records/reader.hpp"
#include "host/sessions/open_session.hpp"
#include "host/view/live_view.hpp"
#include "segment/access/process.hpp"
#include "segment/access/shared.hpp"

namespace egpu::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::chrono::milliseconds kPause{10};

/// The only ring buffer, where none is named.
Result<const host::MapData*> ring_of(const host::SessionView& view, const std::string& name) {
    if (!name.empty()) {
        auto found = find_map(view, name);
        if (!found || (*found)->map->definition.is_ring())
            return found;
        return error("EGPU-M031", fmt::format("{} is no ring buffer", (*found)->map->name),
                     fmt::format("egpu map dump {} prints its entries", (*found)->map->name));
    }
    std::vector<std::string> names;
    const host::MapData* only = nullptr;
    for (const auto& data : view.maps)
        if (data.map->definition.is_ring()) {
            names.push_back(data.map->name);
            only = &data;
        }
    if (names.size() == 1)
        return only;
    return names.empty() ? error("EGPU-M031", "the session has no ring buffer",
                                 "a program sends records with bpf_ringbuf_output or bpf_printk")
                         : error("EGPU-M031", "the session has several ring buffers",
                                 fmt::format("choose one: {}", fmt::join(names, ", ")));
}

using Cells = std::vector<host::KeyCell>;

/// "00ff": of a record whose type nobody named.
std::string hexadecimal(std::span<const std::byte> record) {
    std::string text;
    for (const std::byte byte : record)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return text;
}

std::string line_of(const host::Map& map, std::span<const std::byte> record, const Cells& cells,
                    const host::Catalogue& catalogue) {
    if (!map.definition.formats.empty())
        return host::printed_line(map.definition, record, catalogue);
    if (map.definition.record.fields.empty())
        return hexadecimal(record);
    std::vector<std::string> fields;
    for (const auto& cell : cells)
        fields.push_back(cell.field->name.empty() ? cell.text : fmt::format("{}={}", cell.field->name, cell.text));
    return fmt::format("{}", fmt::join(fields, " "));
}

ordered_json json_of(const host::Map& map, std::span<const std::byte> record, const Cells& cells,
                     const host::Catalogue& catalogue) {
    ordered_json object = ordered_json::object();
    if (!map.definition.formats.empty()) {
        object["text"] = host::printed_line(map.definition, record, catalogue);
    } else if (map.definition.record.fields.empty()) {
        object["bytes"] = hexadecimal(record);
    } else {
        for (const auto& cell : cells) {
            const std::string name = cell.field->name.empty() ? "value" : cell.field->name;
            const auto as_signed = static_cast<std::int64_t>(cell.raw);
            if (cell.field->elements == 1 && cell.text == std::to_string(cell.raw))
                object[name] = cell.raw;
            else if (cell.field->is_signed && cell.text == std::to_string(as_signed))
                object[name] = as_signed;
            else
                object[name] = cell.text;
        }
    }
    return object;
}

/// Kernels and sites come while a session runs: it is read again when a record names one that is not known.
bool names_unknown_kernel(const host::Map& map, std::span<const std::byte> record, const Cells& cells,
                          const host::Catalogue& catalogue) {
    for (const auto& cell : cells)
        if ((cell.field->role == ebpf::Role::kernel_id && catalogue.kernel(cell.raw) == nullptr) ||
            (cell.field->role == ebpf::Role::site_id && catalogue.site(cell.raw) == nullptr))
            return true;
    return !map.definition.formats.empty() && host::prints_unknown_kernel(record, catalogue);
}

bool has_ended(const segment::View& view) {
    const egpu_segment_header& header = view.header();
    return segment::load_acquire(header.state) >= EGPU_SESSION_DRAINED ||
           !segment::process_alive(header.host_pid, header.host_start_time);
}

enum class Printed { all, damaged, output_closed };

/// Prints what there is.
Printed print_records(host::RecordReader& reader, const segment::View& segment, std::uint32_t index,
                      host::SessionView& view, const MapOptions& options, std::uint64_t* printed) {
    std::vector<std::byte> record;
    bool any = false;
    while (options.count == 0 || *printed < options.count) {
        const auto got = reader.next(&record);
        if (got == host::RecordReader::Got::damaged)
            return Printed::damaged;
        if (got == host::RecordReader::Got::nothing)
            break;
        const auto cells_now = [&] {
            return host::record_cells(record, view.maps[index].map->definition.record, view.catalogue);
        };
        Cells cells = cells_now();
        if (names_unknown_kernel(*view.maps[index].map, record, cells, view.catalogue))
            if (auto fresh = host::read_session(segment)) {
                view = std::move(*fresh);
                cells = cells_now();
            }
        const host::Map& map = *view.maps[index].map;
        const std::string text = options.json ? json_of(map, record, cells, view.catalogue)
                                                    .dump(-1, ' ', false, ordered_json::error_handler_t::replace)
                                              : printable(line_of(map, record, cells, view.catalogue));
        fmt::print("{}\n", text);
        ++*printed;
        any = true;
    }
    return !any || std::fflush(stdout) == 0 ? Printed::all : Printed::output_closed;
}

/// Says on standard error what is not printed, at most once a second, and at the end.
class Losses {
public:
    explicit Losses(std::uint64_t dropped) : dropped_(dropped) {}

    void say(std::uint64_t missed_bytes, std::uint64_t dropped, bool at_the_end) {
        const auto now = std::chrono::steady_clock::now();
        if ((missed_bytes == missed_bytes_ && dropped == dropped_) || (!at_the_end && now - said_ < kInterval))
            return;
        if (missed_bytes != missed_bytes_)
            std::fprintf(stderr, "(%s of records went by too fast to be printed)\n",
                         format_memory(missed_bytes - missed_bytes_).c_str());
        if (dropped != dropped_)
            std::fprintf(stderr, "(%s found no room on the GPU and were dropped)\n",
                         counted(dropped - dropped_, "record").c_str());
        missed_bytes_ = missed_bytes;
        dropped_ = dropped;
        said_ = now;
    }

private:
    static constexpr std::chrono::seconds kInterval{1};
    std::uint64_t missed_bytes_ = 0, dropped_;  ///< that were said
    std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
};

}  // namespace

std::string ring_text(const host::MapData& data) {
    if (!data.ring)
        return "n/a: records are not kept in a recording";
    std::string text = counted(data.ring->records, "record");
    if (data.ring->dropped != 0)
        text += fmt::format(", {} dropped (no room in the ring)", format_count(data.ring->dropped));
    if (data.ring->behind != 0)
        text += fmt::format(", {} on the GPU", format_memory(data.ring->behind));
    if (data.ring->damaged)
        text += ", then bytes that are no record";
    return text;
}

int watch_map(const MapOptions& options) {
    if (names_file(options.session)) {
        print_errors({error("EGPU-M032", fmt::format("{} is a recording: records are not kept in it", options.session),
                            "watch a session that runs")});
        return kUsage;
    }
    const auto mapping = host::open_session(options.session);
    if (!mapping) {
        print_errors(mapping.errors());
        return kEnvironment;
    }
    auto view = host::read_session(mapping->view());
    if (!view) {
        print_errors(view.errors());
        return kEnvironment;
    }
    const auto ring = ring_of(*view, options.map);
    if (!ring) {
        print_errors(ring.errors());
        return kEnvironment;
    }
    const auto index = static_cast<std::uint32_t>(*ring - view->maps.data());
    segment::View segment = mapping->view();
    segment.refresh();
    host::RecordReader reader(segment.record_ring(index),
                              options.all ? host::RecordReader::From::all : host::RecordReader::From::now);
    if (options.all && reader.position() != 0)
        std::fprintf(stderr, "(the first records are overwritten: those from now on)\n");
    const egpu_record_ring& control = *segment.record_ring(index).control;
    Losses losses(segment::load_relaxed(control.dropped));
    std::uint64_t printed = 0;
    while (true) {
        const bool last = has_ended(segment);
        const Printed came = print_records(reader, segment, index, *view, options, &printed);
        if (came == Printed::damaged)
            print_errors({error("EGPU-M033", "the ring buffer holds bytes that are no record")});
        if (came != Printed::all)
            return kEnvironment;  // of output that can't be written, the end of the command says so
        const bool ends = last || (options.count != 0 && printed >= options.count);
        losses.say(reader.missed_bytes(), segment::load_relaxed(control.dropped), ends);
        if (ends)
            return kYes;
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace egpu::cli

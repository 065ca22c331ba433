// SPDX-License-Identifier: Apache-2.0
#include "cli/map_watch.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cli/run_report.hpp"
#include "cli/session_info.hpp"
#include "cli/terminal.hpp"
#include "ebpf/helpers/print_record.hpp"
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

std::string bytes_text(std::span<const std::byte> record) {
    std::string text;
    for (const std::byte byte : record)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return text;
}

std::string line_of(const host::Map& map, std::span<const std::byte> record, const host::Catalogue& catalogue) {
    if (!map.definition.formats.empty())
        return host::printed_line(map.definition, record, catalogue);
    if (map.definition.record.fields.empty())
        return bytes_text(record);
    std::vector<std::string> fields;
    for (const auto& cell : host::record_cells(record, map.definition.record, catalogue))
        fields.push_back(cell.field->name.empty() ? cell.text : fmt::format("{}={}", cell.field->name, cell.text));
    return fmt::format("{}", fmt::join(fields, " "));
}

ordered_json json_of(const host::Map& map, std::span<const std::byte> record, const host::Catalogue& catalogue) {
    ordered_json object = ordered_json::object();
    if (!map.definition.formats.empty()) {
        object["text"] = host::printed_line(map.definition, record, catalogue);
    } else if (map.definition.record.fields.empty()) {
        object["bytes"] = bytes_text(record);
    } else {
        for (const auto& cell : host::record_cells(record, map.definition.record, catalogue)) {
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

bool names_kernel_unknown(const host::Map& map, const host::Catalogue& catalogue, std::span<const std::byte> record) {
    for (const auto& cell : host::record_cells(record, map.definition.record, catalogue))
        if ((cell.field->role == ebpf::Role::kernel_id && catalogue.kernel(cell.raw) == nullptr) ||
            (cell.field->role == ebpf::Role::site_id && catalogue.site(cell.raw) == nullptr))
            return true;
    ebpf::PrintRecord head;
    if (map.definition.formats.empty() || record.size() < sizeof head)
        return false;
    std::memcpy(&head, record.data(), sizeof head);
    return catalogue.kernel(head.kernel) == nullptr;
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
        if (names_kernel_unknown(*view.maps[index].map, view.catalogue, record))
            if (auto fresh = host::read_session(segment))
                view = std::move(*fresh);
        const host::Map& map = *view.maps[index].map;
        const std::string text =
            options.json
                ? json_of(map, record, view.catalogue).dump(-1, ' ', false, ordered_json::error_handler_t::replace)
                : printable(line_of(map, record, view.catalogue));
        fmt::print("{}\n", text);
        ++*printed;
        any = true;
    }
    return !any || std::fflush(stdout) == 0 ? Printed::all : Printed::output_closed;
}

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
    std::uint64_t printed = 0, missed = 0;
    std::uint64_t dropped_said = segment::load_relaxed(segment.record_ring(index).control->dropped);
    auto said = std::chrono::steady_clock::now(), dropped_at = said;
    while (true) {
        const bool last = has_ended(segment);
        const Printed came = print_records(reader, segment, index, *view, options, &printed);
        if (came == Printed::damaged)
            print_errors({error("EGPU-M033", "the ring buffer holds bytes that are no record")});
        if (came != Printed::all)
            return kEnvironment;  // of output that can't be written, the end of the command says so
        const std::uint64_t dropped = segment::load_relaxed(segment.record_ring(index).control->dropped);
        const bool ends = last || (options.count != 0 && printed >= options.count);
        const auto now = std::chrono::steady_clock::now();
        if (reader.missed_bytes() != missed && (ends || now - said >= std::chrono::seconds(1))) {
            std::fprintf(stderr, "(%s of records went by too fast to be printed)\n",
                         format_memory(reader.missed_bytes() - missed).c_str());
            missed = reader.missed_bytes();
            said = now;
        }
        if (dropped != dropped_said && (ends || now - dropped_at >= std::chrono::seconds(1))) {
            std::fprintf(stderr, "(%s found no room on the GPU and were dropped)\n",
                         counted(dropped - dropped_said, "record").c_str());
            dropped_said = dropped;
            dropped_at = now;
        }
        if (ends)
            return kYes;
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace egpu::cli

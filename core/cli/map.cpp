// SPDX-License-Identifier: Apache-2.0
// egpu map list, egpu map dump: the maps of a running session, live (TARGETS E6.7). egpu map watch: map_watch.cpp.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/names.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/map_watch.hpp"
#include "cli/run_report.hpp"
#include "cli/session_info.hpp"
#include "cli/sessions.hpp"
#include "cli/terminal.hpp"
#include "host/view/map_users.hpp"

namespace egpu::cli {
namespace {

using nlohmann::ordered_json;

std::string age_line(const host::MapData& data, const host::SessionView& view, bool ended) {
    if (!data.age_ns)
        return "not copied from the GPU yet\n";
    const std::string part = coverage_text(view, data, ended);
    return fmt::format("copied from the GPU {} ago, {} of {} entries{}{}\n",
                       format_duration_ns(static_cast<double>(*data.age_ns)), format_count(data.slots),
                       format_count(data.map->definition.max_entries), part.empty() ? "" : ", ", part);
}

/// "requested_bytes (bytes)"; a histogram's unit stands in its cells.
std::string header_of(const host::Map& map, const ebpf::TypeField& field, bool simulated) {
    const std::string unit = field.histogram.empty() ? host::unit_text(field, simulated) : "";
    return host::column_name(map, field) + (unit.empty() ? "" : fmt::format(" ({})", unit));
}

void print_table(const host::MapData& data, const host::SessionView& view, bool ended) {
    if (const std::string why = host::why_not_counted(view, data); !why.empty()) {
        fmt::print("n/a: {}\n", why);
        return;
    }
    if (data.map->definition.is_ring()) {
        fmt::print("{}\n", ring_text(data));
        return;
    }
    TextTable table;
    std::vector<bool> unknown;
    const auto rows = host::read_rows(data, view.catalogue);
    for (const auto& field : data.map->definition.key.fields)
        if (field.elements == 1)
            table.column(host::column_name(field), Align::left);
    for (const auto& field : data.map->definition.value.fields) {
        table.column(header_of(*data.map, field, view.simulated));
        unknown.push_back(!host::why_not_counted(view, data, &field).empty());
    }
    for (const auto& row : rows) {
        std::vector<std::string> cells;
        for (const auto& cell : row.key)
            cells.push_back(cell.text);
        for (std::size_t i = 0; i < row.values.size(); ++i)
            cells.push_back(unknown[i] ? "n/a" : host::exact_text(row.values[i], view.simulated));
        table.row(std::move(cells));
    }
    fmt::print("{}{}", table.text(), age_line(data, view, ended));
}

/// A struct as an object of its fields, a bare scalar as itself (bpftool's shape, plus names).
template <typename Cells, typename ToJson>
ordered_json cells_json(const Cells& cells, const ToJson& to_json) {
    if (cells.size() == 1 && cells[0].field->name.empty())
        return to_json(cells[0]);
    ordered_json object = ordered_json::object();
    for (const auto& cell : cells)
        object[cell.field->name] = to_json(cell);
    return object;
}

/// null where no program of the map's ran; so is a field that none counted.
ordered_json rows_json(const host::MapData& data, const host::SessionView& view) {
    if (!host::why_not_counted(view, data).empty())
        return nullptr;
    if (data.map->definition.is_ring())
        return data.ring ? ordered_json({{"records", data.ring->records}, {"dropped", data.ring->dropped}})
                         : ordered_json(nullptr);
    ordered_json rows = ordered_json::array();
    for (const auto& row : host::read_rows(data, view.catalogue)) {
        const auto key = [](const host::KeyCell& cell) {
            const bool named = cell.text != std::to_string(cell.raw);
            return named ? ordered_json(cell.text) : ordered_json(cell.raw);
        };
        const auto value = [&](const host::ValueCell& cell) {
            if (!host::why_not_counted(view, data, cell.field).empty())
                return ordered_json(nullptr);
            if (cell.elements.size() != 1)
                return cell.field->is_signed ? ordered_json(host::signed_numbers(cell)) : ordered_json(cell.elements);
            return cell.field->is_signed ? ordered_json(static_cast<std::int64_t>(cell.elements[0]))
                                         : ordered_json(cell.elements[0]);
        };
        rows.push_back({{"key", cells_json(row.key, key)}, {"value", cells_json(row.values, value)}});
    }
    return rows;
}

}  // namespace

Result<const host::MapData*> find_map(const host::SessionView& view, const std::string& name) {
    if (const auto* data = view.map_named(name))
        return data;
    std::vector<std::string> names;
    for (const auto& map : view.catalogue.maps)
        names.push_back(map.name);
    std::vector<std::string> same;
    for (const auto& map : view.catalogue.maps)
        if (map.definition.name == name)
            same.push_back(map.name);
    if (same.size() > 1)
        return error("EGPU-M030", fmt::format("several maps of the session are named '{}'", name),
                     fmt::format("choose one: {}", fmt::join(same, ", ")));
    auto unknown = error("EGPU-M030", fmt::format("the session has no map '{}'", name));
    if (const auto near = nearest(name, names); !near.empty())
        unknown.hints.push_back(fmt::format("did you mean '{}'?", near));
    unknown.hints.push_back(fmt::format("it has: {}", fmt::join(names, ", ")));
    return unknown;
}

namespace {

int dump_maps(const MapOptions& options) {
    const auto view = view_of_session(options.session);
    if (!view) {
        print_errors(view.errors());
        return kEnvironment;
    }
    std::vector<const host::MapData*> wanted;
    if (options.map.empty()) {
        for (const auto& data : view->maps)
            wanted.push_back(&data);
    } else {
        const auto found = find_map(*view, options.map);
        if (!found) {
            print_errors(found.errors());
            return kEnvironment;
        }
        wanted.push_back(*found);
    }
    if (options.json) {
        ordered_json out = options.map.empty() ? ordered_json::object() : rows_json(*wanted[0], *view);
        if (options.map.empty())
            for (const auto* data : wanted)
                out[data->map->name] = rows_json(*data, *view);
        fmt::print("{}\n", out.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
        return kYes;
    }
    for (const auto* data : wanted) {
        if (wanted.size() > 1)
            fmt::print("{}{}\n", data == wanted.front() ? "" : "\n", data->map->name);
        print_table(*data, *view, names_file(options.session));
    }
    return kYes;
}

int list_maps(const MapOptions& options) {
    const auto view = view_of_session(options.session);
    if (!view) {
        print_errors(view.errors());
        return kEnvironment;
    }
    TextTable table;
    table.column("MAP", Align::left);
    table.column("TYPE", Align::left);
    for (const char* header : {"KEY", "VALUE", "ENTRIES", "OF", "GPU MEMORY", "COPIED"})
        table.column(header);
    for (const auto& data : view->maps) {
        const auto& definition = data.map->definition;
        if (definition.is_ring()) {
            table.row({data.map->name, ebpf::to_words(definition.type), "-",
                       definition.value_bytes == 0 ? "-" : fmt::format("{} B", definition.value_bytes),
                       data.ring ? format_count(data.ring->records) : "n/a", "-",
                       format_memory(data.layout.device_bytes()), "-"});
            continue;
        }
        table.row({data.map->name, ebpf::to_words(definition.type), fmt::format("{} B", definition.key_bytes),
                   fmt::format("{} B", definition.value_bytes), format_count(data.slots),
                   format_count(definition.max_entries), format_memory(data.layout.device_bytes()),
                   data.age_ns ? format_duration_ns(static_cast<double>(*data.age_ns)) + " ago" : "never"});
    }
    fmt::print("{}", table.text());
    return kYes;
}

}  // namespace

void add_map(CLI::App& app, int* exit_code) {
    auto* command = app.add_subcommand("map", "Maps of a session: what they hold, and records as they come");
    command->require_subcommand(1);
    auto options = std::make_shared<MapOptions>();
    auto* list = command->add_subcommand("list", "The maps of a session");
    add_session_option(*list, options->session);
    list->callback([options, exit_code] { *exit_code = list_maps(*options); });
    auto* dump = command->add_subcommand("dump", "The entries of a map with names, summed over its shards");
    add_session_option(*dump, options->session);
    dump->add_option("MAP", options->map, "PROBE/MAP, or MAP where only one is named so; left out: all");
    dump->add_flag("-j,--json", options->json, "Print JSON");
    dump->callback([options, exit_code] { *exit_code = dump_maps(*options); });
    auto* watch = command->add_subcommand("watch", "The records of a ring buffer, one a line, as they come");
    add_session_option(*watch, options->session);
    watch->add_option("MAP", options->map, "PROBE/MAP, or MAP where only one is named so; left out: the only ring");
    watch->add_flag("-j,--json", options->json, "Print a JSON object a line");
    watch->add_flag("-a,--all", options->all, "Also those sent before, where the ring still holds them all");
    watch->add_option("-n,--count", options->count, "End after so many")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62));
    watch->callback([options, exit_code] { *exit_code = watch_map(*options); });
}

}  // namespace egpu::cli

// SPDX-License-Identifier: Apache-2.0
#include "host/view/live_view.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <initializer_list>

#include "maps/storage/storage.hpp"
#include "segment/access/copy_times.hpp"
#include "segment/channel/messages.h"
#include "segment/create/create.hpp"
#include "segment/snapshots/snapshots.hpp"

namespace egpu::host {
namespace {

std::uint64_t monotonic_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

template <typename T>
T read_word(T& word) {
    return std::atomic_ref<T>(word).load(std::memory_order_acquire);
}

/// Text of a fixed field that another process writes: it may lack its NUL.
template <std::size_t N>
std::string fixed_text(const char (&text)[N]) {
    return std::string(text, ::strnlen(text, N));
}

std::optional<std::uint64_t> age(std::uint64_t then, std::uint64_t now) {
    if (then == 0)
        return std::nullopt;
    return now > then ? now - then : 0;
}

std::uint64_t word_at(const std::vector<std::byte>& bytes, std::uint64_t offset, std::size_t count) {
    std::uint64_t word = 0;
    if (offset + count <= bytes.size())
        std::memcpy(&word, bytes.data() + offset, count);
    return word;
}

/// A table that the GPU filled becomes keys and values in the order in which the entries were made. One that is just
/// being made ends the list: those behind it are in the next.
void unpack_table(const ebpf::MapDefinition& definition, MapData& data) {
    const maps::HashTable table = maps::hash_table_of(definition);
    const std::vector<std::byte> stored = std::move(data.values);
    const std::uint32_t stride = (definition.value_bytes + 7) / 8 * 8;
    const std::uint64_t header = table.header_offset();
    const std::uint64_t made =
        std::min<std::uint64_t>(word_at(stored, header + maps::HashTable::kMadeOffset, 4), table.entries);
    data.layout = {definition.value_bytes, stride, definition.max_entries, 1};
    data.values.clear();
    data.slots = 0;
    for (std::uint64_t entry = 0; entry < made; ++entry) {
        const std::uint64_t at = entry * table.entry_bytes();
        if (word_at(stored, at, 8) != 1 || at + table.entry_bytes() > stored.size())
            break;
        const auto* bytes = stored.data() + at;
        data.keys.insert(data.keys.end(), bytes + table.key_offset(),
                         bytes + table.key_offset() + definition.key_bytes);
        data.values.insert(data.values.end(), bytes + table.value_offset(), bytes + table.value_offset() + stride);
        ++data.slots;
    }
    data.refused_lookups = word_at(stored, header + maps::HashTable::kNoRoomOffset, 8);
}

RingCounts read_ring(const segment::View& segment, std::uint32_t index) {
    egpu_record_ring& control = *segment.record_ring(index).control;
    RingCounts counts;
    counts.records = read_word(control.records);
    counts.dropped = read_word(control.dropped);
    counts.behind = read_word(control.behind);
    counts.damaged = read_word(control.damaged) != 0;
    return counts;
}

MapData read_map(const segment::View& segment, std::uint32_t index, const Map& map, std::uint64_t now) {
    MapData data;
    data.map = &map;
    data.layout = segment::layout_of(segment, index);
    if (map.definition.is_ring()) {
        data.ring = read_ring(segment, index);
        return data;
    }
    data.refused_keys = read_word(segment.map(index).refused_keys);
    const std::uint32_t used = segment.used_slots(index);
    maps::Snapshot snapshot;
    if (segment::copy_snapshot(segment, index, &snapshot) == maps::CopyResult::copied) {
        data.slots = std::min(snapshot.slots, used);
        data.values = std::move(snapshot.bytes);
        data.age_ns = age(snapshot.taken_ns, now);
    }
    if (map.definition.keys_at_run_time) {
        unpack_table(map.definition, data);
    } else if (!map.definition.is_array()) {
        const auto keys = segment.keys(index);
        const std::size_t wanted = std::size_t{data.slots} * map.definition.key_bytes;
        data.keys.assign(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(std::min(wanted, keys.size())));
    }
    return data;
}

/// A map of the catalogue must be the segment's: sizes that differ come from a damaged segment.
bool same_shape(const segment::View& segment, std::uint32_t index, const Map& map) {
    const auto& geometry = segment.geometry(index);
    if (map.definition.is_ring() || geometry.ring_bytes != 0)
        return map.definition.is_ring() && geometry.ring_bytes == map.definition.max_entries;
    if (map.definition.keys_at_run_time)
        return geometry.is_array && geometry.value_bytes == maps::hash_table_of(map.definition).entry_bytes();
    return geometry.value_bytes == map.definition.value_bytes && geometry.key_bytes == map.definition.key_bytes &&
           geometry.is_array == map.definition.is_array();
}

CopyCounts read_copy(egpu_copy_counters& counters) {
    auto& former = counters.launches_former;
    CopyCounts counts;
    // Parts before the whole: what is counted in between can't make more of them than there are.
    counts.former = {.busy = read_word(former[EGPU_GRAPH_BUSY]),
                     .no_source = read_word(former[EGPU_GRAPH_NO_SOURCE]),
                     .changed = read_word(former[EGPU_GRAPH_CHANGED]),
                     .refused = read_word(former[EGPU_GRAPH_REFUSED])};
    counts.banked = read_word(counters.launches_banked);
    counts.launches = read_word(counters.launches);
    counts.graph_nodes = read_word(counters.graph_nodes);
    return counts;
}

/// What graphs hold of a kernel's copies that are not the one it is to run.
void add_former_copies(SessionView& view) {
    for (std::size_t i = 0; i < view.copies.size(); ++i) {
        const std::uint32_t kernel_id = view.catalogue.copies[i].kernel_id;
        if (kernel_id < 1 || kernel_id > view.counts.size())
            continue;
        KernelCounts& counts = view.counts[kernel_id - 1];
        counts.former += view.copies[i].former;
        counts.banked += view.copies[i].banked;
        if (view.catalogue.kernels[kernel_id - 1].copy != i + 1)
            counts.nodes_behind += view.copies[i].graph_nodes;
    }
}

void read_counts(const segment::View& segment, SessionView& view) {
    const auto counters = segment.kernels();
    // Instrumented launches before all launches: what is counted in between can't make more of them than there are.
    const auto copies = segment.copies();
    for (std::size_t i = 0; i < view.catalogue.copies.size() && i < copies.size(); ++i)
        view.copies.push_back(read_copy(copies[i]));
    for (std::size_t i = 0; i < view.catalogue.kernels.size() && i < counters.size(); ++i) {
        KernelCounts counts;
        counts.instrumented = read_word(counters[i].launches_instrumented);
        counts.left_out = read_word(counters[i].launches_left_out);
        counts.launches = read_word(counters[i].launches);
        counts.captured = read_word(counters[i].launches_captured);
        counts.copy_reason = read_word(counters[i].copy_reason);
        // The original's nodes are behind where a copy is to run since a change; else the original has its reason.
        if (view.catalogue.changes != 0 && view.catalogue.kernels[i].copy != 0)
            counts.nodes_behind = read_word(counters[i].graph_nodes);
        view.counts.push_back(counts);
    }
    view.counts.resize(view.catalogue.kernels.size());
    add_former_copies(view);
}

/// Nine years of a launch each microsecond: more is no count but noise.
constexpr std::uint64_t kMostLaunches = std::uint64_t{1} << 48;

bool makes_sense(const SessionView& view) {
    const auto fits = [](std::initializer_list<std::uint64_t> counts) {
        return std::all_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count < kMostLaunches; });
    };
    return std::all_of(view.counts.begin(), view.counts.end(),
                       [&](const KernelCounts& each) {
                           return fits({each.launches, each.instrumented, each.captured, each.left_out});
                       }) &&
           std::all_of(view.copies.begin(), view.copies.end(), [&](const CopyCounts& each) {
               return fits({each.launches, each.former.all(), each.banked});
           });
}

void read_device(const egpu_segment_header& header, SessionView& view) {
    view.device_name = fixed_text(header.device_name);
    view.compute_capability = header.compute_capability;
    view.sm_count = header.device_attribute_sm_count;
    view.simulated = header.simulated != 0;
}

LaunchTimes read_times(const egpu_copy_times& times) {
    const auto sums = segment::read_times(times);
    return sums ? LaunchTimes{sums->pairs,     sums->original_ns,       sums->instrumented_ns,
                              sums->log_ratio, sums->log_ratio_squares, sums->single_launches,
                              sums->single_ns}
                : LaunchTimes{};
}

}  // namespace

const char* copy_reason_text(std::uint32_t reason) {
    switch (reason) {
        case EGPU_COPY_LOAD_FAILED:
            return "the driver refused its instrumented copy";
        case EGPU_COPY_NO_SYMBOL:
            return "a variable that it uses was not found in the application's module";
        case EGPU_COPY_NO_MEMORY:
            return "no GPU memory for the maps within the limit (--gpu-memory)";
        case EGPU_COPY_LOCAL_MEMORY:
            return "its copy needs more local memory than the context has: the driver would stall the launch";
        case EGPU_COPY_OTHER_CONTEXT:
            return "it ran in more contexts at once than copies are kept for (16)";
        case EGPU_COPY_SUPERSEDED:
            return "another change of its probes came first";
        case EGPU_COPY_NO_KERNEL:
            return "its module is not loaded now";
        case EGPU_COPY_CAPTURE_UNKNOWN:
            return "the driver did not say whether the launch was being captured into a graph";
        case EGPU_COPY_FEWER_BLOCKS:
            return "its copy would have fewer resident blocks";
        case EGPU_COPY_ONE_PLACE:
            return "it ran in a further context or device, and a map of its probes that only one of them may have "
                   "can't be "
                   "added up: a PERCPU map can";
        case EGPU_COPY_LATE:
            return "its copy came late and waited for a moment when loading it stalls nobody";
        case EGPU_COPY_OTHER_DEVICE:
            return "it ran on a device of another architecture than the first, for which the copies are made";
        case EGPU_COPY_NO_REFRESH:
            return "its copy's constants could not be made equal to the original's";
        default:
            return "its copy was not loaded";
    }
}

std::vector<KernelCounts> kernel_counts(const segment::View& segment, Catalogue catalogue) {
    SessionView view;
    view.catalogue = std::move(catalogue);
    read_counts(segment, view);
    return view.counts;
}

Result<SessionView> read_session(const segment::View& segment) {
    auto catalogue = catalogue_from_json(segment::read_catalogue(segment));
    if (!catalogue)
        return catalogue.errors();
    segment::View with_all_maps = segment;  // the catalogue may name maps that came after the segment was opened
    with_all_maps.refresh();
    return view_session(with_all_maps, std::move(*catalogue));
}

Result<SessionView> view_session(const segment::View& segment, Catalogue catalogue) {
    SessionView view;
    view.catalogue = std::move(catalogue);
    if (const Status filled = fill_view(segment, view); !filled)
        return filled.errors();
    return view;
}

Status fill_view(const segment::View& segment, SessionView& view) {
    auto& header = segment.header();
    const std::uint64_t now = monotonic_ns();
    view.monotonic_ns = now;
    view.unix_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    read_counts(segment, view);
    if (!makes_sense(view))
        return error("EGPU-M013", "the session's segment is damaged: it counts more launches than there can be");
    const auto times = segment.copy_times();
    for (std::size_t i = 0; i < view.catalogue.copies.size() && i < times.size(); ++i)
        view.copy_times.push_back(read_times(times[i]));
    // A map is in the segment before it is in the catalogue.
    if (view.catalogue.maps.size() > segment.map_count())
        return error("EGPU-M012", "the session's catalogue and its maps disagree");
    for (std::uint32_t i = 0; i < view.catalogue.maps.size(); ++i) {
        if (!same_shape(segment, i, view.catalogue.maps[i]))
            return error("EGPU-M012", "the session's catalogue and its maps disagree");
        view.maps.push_back(read_map(segment, i, view.catalogue.maps[i], now));
    }
    if (read_word(header.device_ready) != 0)
        read_device(header, view);
    view.program = fixed_text(header.program);
    view.agent_pid = read_word(header.agent_pid);
    view.other_processes = read_word(header.other_processes);
    view.gpu_memory_bytes = std::uint64_t{read_word(header.gpu_memory_kib)} * 1024;
    view.most_gpu_memory_bytes = std::uint64_t{read_word(header.gpu_memory_most_kib)} * 1024;
    view.waited_ns = read_word(header.wait_ns_total);
    view.longest_wait_ns = read_word(header.wait_ns_longest);
    view.waits = read_word(header.waits);
    view.unanswered_images = read_word(header.images_unanswered);
    view.unknown_launches = read_word(header.launches_unknown);
    view.not_followed_launches = read_word(header.launches_not_followed);
    view.unasked_launches = read_word(header.launches_unasked);
    view.partly_counted_graphs = read_word(header.graph_launches_partly);
    view.drained = read_word(header.end_reason) != EGPU_END_NONE;
    view.last_drain_age_ns = age(read_word(header.last_drain_ns), now);
    if (read_word(header.agent_error) != 0)
        view.agent_error = fixed_text(header.agent_error_text);
    else if (read_word(header.channel_broken) != 0)
        view.agent_error = "agent and egpu lost touch: kernels loaded after that ran as originals";
    return ok();
}

}  // namespace egpu::host

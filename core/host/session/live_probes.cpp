// SPDX-License-Identifier: Apache-2.0
// The server's side of probes that come and go: room in the segment, the catalogue, commands to the agent.
#include <signal.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "host/session/map_description.hpp"
#include "host/session/server.hpp"
#include "maps/storage/storage.hpp"
#include "segment/access/process.hpp"
#include "segment/access/shared.hpp"

namespace egpu::host {
namespace {

/// The agent looks at its commands 20 times a second, except while a thread of the application loads a module. Where
/// many threads launch at once, a call of its into the driver can wait behind theirs for seconds (as theirs do behind
/// each other), and half a command is worse than a late one.
constexpr std::uint32_t kCommandTimeoutMs = 20'000;
/// Of what is left of the reserve, what one change may take for shards that only spread contention.
constexpr std::uint64_t kShareOfReserve = 4;

/// An agent that has let go reads no commands; one that never came has no kernels.
bool reads_commands(void* segment_header) {
    const auto& header = *static_cast<const egpu_segment_header*>(segment_header);
    return segment::load_acquire(header.state) < EGPU_SESSION_DRAINED &&
           segment::process_alive(segment::load_relaxed(header.agent_pid),
                                  segment::load_relaxed(header.agent_start_time));
}

std::int64_t now_unix_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace

/// Maps that come later share shards between SMs where a shard for each would not fit: their sums are the same.
Result<std::vector<maps::Layout>> Server::room_for(const std::vector<Map>& maps) {
    const std::uint64_t budget = segment_.reserve_left() / kShareOfReserve / std::max<std::size_t>(maps.size(), 1);
    std::vector<maps::Layout> layouts;
    std::vector<segment::MapDescription> wanted;
    for (const auto& map : maps) {
        const auto& definition = map.definition;
        maps::Layout layout = maps::layout_of(definition, assumed_sm_count());
        const std::uint64_t one_shard = std::max<std::uint64_t>(std::uint64_t{layout.stride} * layout.capacity * 2, 1);
        const std::uint64_t fit = std::max<std::uint64_t>(budget / one_shard, 1);
        layout.shards = static_cast<std::uint32_t>(std::min<std::uint64_t>(layout.shards, fit));
        layouts.push_back(layout);
        wanted.push_back(describe(map, layout));
    }
    if (Status added = segment_.add_maps(wanted); !added)
        return added.errors();
    return layouts;
}

Status Server::still_observes() {
    if (pipeline_.catalogue().stopped_unix_ms != 0)
        return error("EGPU-A046", "the session was stopped: it takes no probes any more",
                     "the application runs on with its original kernels; egpu run starts another session");
    return ok();
}

Result<std::vector<std::uint32_t>> Server::stop_observing() {
    const std::int64_t now = now_unix_ms();
    std::vector<std::string> names;
    {
        const std::lock_guard lock(pipeline_mutex_);
        if (Status observes = still_observes(); !observes)
            return error("EGPU-A046", "the session was stopped already");
        for (const auto& probe : pipeline_.catalogue().probes)
            if (probe.detached_unix_ms == 0 && std::find(names.begin(), names.end(), probe.probe) == names.end())
                names.push_back(probe.probe);
        pipeline_.catalogue().stopped_unix_ms = now;
    }
    std::vector<std::uint32_t> originals;
    std::optional<Diagnostic> failure;
    for (const auto& name : names) {
        auto change = remove_probe(name);
        if (change)
            originals.insert(originals.end(), change->originals.begin(), change->originals.end());
        else if (change.error().code != "EGPU-A041")  // none of its programs was accepted: it was never attached
            failure = change.error();
    }
    {
        const std::lock_guard lock(pipeline_mutex_);
        pipeline_.note_once(
            "stopped by egpu session stop: its probes were taken off, the application went on with its "
            "original kernels");
        publish();
    }
    if (failure)
        return *failure;
    return originals;
}

Result<ProbeChange> Server::restore_probe(const std::string& name) {
    std::unique_lock lock(pipeline_mutex_);
    if (Status observes = still_observes(); !observes)
        return observes.errors();
    auto change = pipeline_.restore_probe(name, now_unix_ms());
    lock.unlock();
    if (change && watcher_.restored)
        watcher_.restored(name);
    return carry_out(std::move(change));
}

Result<ProbeChange> Server::add_probe(LoadedProbe probe) {
    const LoadedProbe added = probe;
    std::unique_lock lock(pipeline_mutex_);
    if (Status observes = still_observes(); !observes)
        return observes.errors();
    auto change = pipeline_.add_probe(
        std::move(probe), [this](const auto& maps) { return room_for(maps); }, now_unix_ms());
    lock.unlock();
    if (change && watcher_.added)
        watcher_.added(added);
    return carry_out(std::move(change));
}

Result<ProbeChange> Server::remove_probe(const std::string& name) {
    std::unique_lock lock(pipeline_mutex_);
    auto change = pipeline_.remove_probe(name, now_unix_ms());
    lock.unlock();
    if (change && watcher_.removed)
        watcher_.removed(name);
    return carry_out(std::move(change));
}

Result<ProbeChange> Server::replace_probe(const std::string& name, LoadedProbe probe) {
    LoadedProbe added = probe;
    added.name = name;  // as its maps are called
    std::unique_lock lock(pipeline_mutex_);
    auto change = pipeline_.replace_probe(
        name, std::move(probe), [this](const auto& maps) { return room_for(maps); }, now_unix_ms());
    lock.unlock();
    if (change && watcher_.removed)
        watcher_.removed(name);
    if (change && watcher_.added)
        watcher_.added(added);
    return carry_out(std::move(change));
}

Result<ProbeChange> Server::carry_out(Result<ProbeChange> change) {
    if (!change)
        return change;
    {
        // Keys and names first: what the copies count is never without them.
        const std::lock_guard lock(pipeline_mutex_);
        for (const std::uint32_t copy : change->copies)
            pipeline_.kernel_waits(pipeline_.copy(copy).kernel_id);
        for (const std::uint32_t kernel : change->originals)
            pipeline_.kernel_waits(kernel);
        publish();
    }
    if (!command_copies(*change))
        return error("EGPU-A045",
                     "the application does not take the change now: it is loading a module, has ended, or lost touch",
                     "egpu probe list says what the session has; the change is in force for modules loaded later");
    return change;
}

/// The thread that changes probes is the only sender of commands.
bool Server::command_copies(const ProbeChange& change) {
    if (change.originals.empty() && change.copies.empty())
        return true;
    auto& header = segment_.view().header();
    if (!reads_commands(&header))
        return false;
    const segment::Patience patience{
        .timeout_ms = kCommandTimeoutMs, .worth_waiting = reads_commands, .context = &header};
    bool sent = true;
    wake_agent();
    for (const std::uint32_t kernel : change.originals) {
        const egpu_message_original order{kernel, 0};
        const std::span<const std::byte> parts[] = {segment::bytes_of(order)};
        sent = sent && commands_.send(EGPU_MESSAGE_ORIGINAL, 0, parts, patience) == segment::ChannelState::ok;
    }
    for (const std::uint32_t id : change.copies) {
        std::unique_lock lock(pipeline_mutex_);
        const CopyImage copy = pipeline_.copy(id);
        lock.unlock();
        sent = sent && send_copy(commands_, 0, copy, patience);
    }
    wake_agent();
    return sent;
}

void Server::wake_agent() {
    auto& request = segment_.view().header().drain_request;
    segment::add_relaxed(request, std::uint32_t{1});
    segment::futex_wake(request);
}

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
#include "host/series/live_source.hpp"

#include <fmt/format.h>

#include "host/session/control_socket.hpp"
#include "host/sessions/life.hpp"
#include "host/sessions/open_session.hpp"
#include "host/view/live_view.hpp"
#include "segment/access/process.hpp"
#include "segment/access/shared.hpp"
#include "segment/create/create.hpp"
#include "segment/layout/build_id.h"

namespace egpu::host {
namespace {

/// A catalogue and its maps are published one after the other: a view that makes no sense is looked at again.
constexpr std::uint32_t kMostFailures = 10;

/// The version is raised before a catalogue is written, the index turned when it is whole: both tell it from others.
CatalogueMark mark_of(const egpu_segment_header& header) {
    const std::uint32_t version = segment::load_acquire(header.catalogue_version);
    return {version, segment::load_acquire(header.catalogue_index) & 1};
}

/// A map that its writer kept busy is as it was a moment ago, not unknown.
void keep_former_copies(std::vector<MapData>& former, std::uint64_t former_ns, SessionView& view) {
    for (std::size_t i = 0; i < former.size() && i < view.maps.size(); ++i) {
        if (view.maps[i].age_ns || !former[i].age_ns)
            continue;
        const Map* const map = view.maps[i].map;
        view.maps[i] = std::move(former[i]);
        view.maps[i].map = map;
        *view.maps[i].age_ns += view.monotonic_ns - former_ns;
    }
}

}  // namespace

Result<std::unique_ptr<Source>> LiveSource::open(const std::string& session) {
    auto mapping = open_session(session);
    if (!mapping)
        return mapping.errors();
    return open_segment(std::string(mapping->name()));
}

Result<std::unique_ptr<Source>> LiveSource::open_segment(const std::string& name) {
    segment::Mapping mapping;
    const auto failed = mapping.open(name, segment::Writable::no, ::egpu_segment_build_id());
    if (failed != segment::AccessError::none)
        return error("EGPU-X061", fmt::format("session {} {}", name, segment::to_text(failed)));
    std::unique_ptr<LiveSource> source(new LiveSource(std::move(mapping)));
    if (Status first = source->read(); !first)
        return first.errors();
    return std::unique_ptr<Source>(std::move(source));
}

std::string LiveSource::control_path() const {
    return host::control_path(mapping_.name());
}

Status LiveSource::read() {
    const std::uint64_t before_ns = view_.monotonic_ns;
    mapping_.refresh();
    const CatalogueMark mark = mark_of(mapping_.view().header());
    SessionView view;
    const bool same_catalogue = catalogue_ == mark;
    if (same_catalogue) {
        // Taken out of the former view, and put back where this one fails: it may hold thousands of kernels.
        view.catalogue = std::move(view_.catalogue);
    } else {
        auto fresh = catalogue_from_json(segment::read_catalogue(mapping_.view()));
        if (!fresh)
            return fresh.errors();
        mapping_.refresh();
        view.catalogue = std::move(*fresh);
    }
    if (const Status filled = fill_view(mapping_.view(), view); !filled) {
        if (same_catalogue)
            view_.catalogue = std::move(view.catalogue);
        catalogue_.reset();
        return filled.errors();
    }
    keep_former_copies(view_.maps, before_ns, view);
    view_ = std::move(view);
    catalogue_ = mark;
    view_.catalogue_version = mark.version * 2 + mark.index;
    for (std::size_t i = messages_.size(); i < view_.catalogue.diagnostics.size(); ++i)
        messages_.push_back({view_.unix_ns, view_.catalogue.diagnostics[i]});
    return ok();
}

void LiveSource::finish(SourceState state, std::string text) {
    state_ = state;
    state_text_ = std::move(text);
}

void LiveSource::look_for_end() {
    using segment::ProcessState;
    const auto& header = mapping_.view().header();
    const auto state = segment::load_acquire(header.state);
    const auto agent = segment::load_acquire(header.agent_pid);
    const auto agent_start = segment::load_relaxed(header.agent_start_time);
    const bool last_copy = segment::load_relaxed(header.end_reason) != EGPU_END_NONE;
    // An agent that has only just come has its pid there before its start time.
    const ProcessState agent_state =
        agent != 0 && agent_start != 0 ? segment::process_state(agent, agent_start) : ProcessState::runs;
    if (agent_state == ProcessState::gone)
        return finish(SourceState::ended,
                      last_copy ? "ended"
                                : "ended: the application was killed, or left no last copy of the maps: totals are at "
                                  "least these");
    const ProcessState host_state = segment::process_state(header.host_pid, header.host_start_time);
    if (host_state == ProcessState::gone)
        return finish(SourceState::ended,
                      state >= EGPU_SESSION_DRAINED || agent == 0 ? "ended" : "ended: its egpu process is gone");
    if (state == EGPU_SESSION_ENDED)
        return finish(SourceState::ended, "ended: agent and egpu lost touch");
    const bool agent_waits = agent_state == ProcessState::suspended && state < EGPU_SESSION_DRAINED;
    state_text_ = suspended_text(host_state == ProcessState::suspended ? header.host_pid : 0, agent_waits ? agent : 0);
}

std::vector<Sample> LiveSource::take_samples() {
    if (state_ != SourceState::live)
        return {};
    // First: what was written before the end is then read after it.
    look_for_end();
    if (const Status status = read(); !status) {
        if (++failures_ >= kMostFailures || state_ != SourceState::live)
            finish(SourceState::damaged, status.error().message);
        return {};
    }
    failures_ = 0;
    std::vector<Sample> samples;
    samples.push_back(sampler_.sample(view_));
    return samples;
}

}  // namespace egpu::host

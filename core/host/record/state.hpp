// SPDX-License-Identifier: Apache-2.0
// The parts of a SessionView that a recording keeps by name: one list for writing and reading.
#pragma once

#include "host/view/session_view.hpp"

namespace egpu::host {

/// visit(name, member) for each; `View` is SessionView or const SessionView.
template <typename View, typename Visit>
void visit_state(View& view, Visit&& visit) {
    visit("device_name", view.device_name);
    visit("compute_capability", view.compute_capability);
    visit("sm_count", view.sm_count);
    visit("simulated", view.simulated);
    visit("program", view.program);
    visit("agent_pid", view.agent_pid);
    visit("other_processes", view.other_processes);
    visit("gpu_memory_bytes", view.gpu_memory_bytes);
    visit("most_gpu_memory_bytes", view.most_gpu_memory_bytes);
    visit("waited_ns", view.waited_ns);
    visit("longest_wait_ns", view.longest_wait_ns);
    visit("waits", view.waits);
    visit("unanswered_images", view.unanswered_images);
    visit("unknown_launches", view.unknown_launches);
    visit("unasked_launches", view.unasked_launches);
    visit("partly_counted_graphs", view.partly_counted_graphs);
    visit("not_followed_launches", view.not_followed_launches);
    visit("drained", view.drained);
    visit("agent_error", view.agent_error);
}

/// Columns of table kernel_counts behind `kernel`.
template <typename Counts, typename Visit>
void visit_counts(Counts& counts, Visit&& visit) {
    visit("launches", counts.launches);
    visit("instrumented", counts.instrumented);
    visit("captured", counts.captured);
    visit("left_out", counts.left_out);
    visit("banked", counts.banked);
    visit("copy_reason", counts.copy_reason);
    visit("former_busy", counts.former.busy);
    visit("former_no_source", counts.former.no_source);
    visit("former_changed", counts.former.changed);
    visit("former_refused", counts.former.refused);
    visit("nodes_behind", counts.nodes_behind);
}

/// A copy's counters and times.
struct CopyState {
    CopyCounts counts;
    LaunchTimes times;
};

/// Columns of table copy_counts behind `copy`.
template <typename State, typename Visit>
void visit_copy(State& state, Visit&& visit) {
    visit("launches", state.counts.launches);
    visit("former_busy", state.counts.former.busy);
    visit("former_no_source", state.counts.former.no_source);
    visit("former_changed", state.counts.former.changed);
    visit("former_refused", state.counts.former.refused);
    visit("banked", state.counts.banked);
    visit("graph_nodes", state.counts.graph_nodes);
    visit("pairs", state.times.pairs);
    visit("original_ns", state.times.original_ns);
    visit("instrumented_ns", state.times.instrumented_ns);
    visit("log_ratio", state.times.log_ratio);
    visit("log_ratio_squares", state.times.log_ratio_squares);
    visit("single_launches", state.times.single_launches);
    visit("single_ns", state.times.single_ns);
}

}  // namespace egpu::host

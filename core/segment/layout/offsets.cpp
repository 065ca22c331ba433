// SPDX-License-Identifier: Apache-2.0
// Every offset of the segment, asserted: a compiler, flag or edit that moves a field fails here and not between two
// processes. A change below is a change of the format: raise EGPU_SEGMENT_LAYOUT with it.
#include <cstddef>
#include <limits>

#include "segment/layout/layout.h"

#define EGPU_AT(type, field, at) static_assert(offsetof(type, field) == (at))

EGPU_AT(egpu_extent, offset, 0);
EGPU_AT(egpu_extent, bytes, 8);
static_assert(sizeof(egpu_extent) == 16);

EGPU_AT(egpu_ring, data, 0);
EGPU_AT(egpu_ring, written, 16);
EGPU_AT(egpu_ring, read, 24);
EGPU_AT(egpu_ring, wake_consumer, 32);
EGPU_AT(egpu_ring, wake_producer, 36);
static_assert(sizeof(egpu_ring) == 40);

EGPU_AT(egpu_segment_header, magic, 0);
EGPU_AT(egpu_segment_header, layout_version, 8);
EGPU_AT(egpu_segment_header, header_bytes, 12);
EGPU_AT(egpu_segment_header, build_id, 16);
EGPU_AT(egpu_segment_header, bytes, 24);
EGPU_AT(egpu_segment_header, session_id, 32);
EGPU_AT(egpu_segment_header, host_pid, 36);
EGPU_AT(egpu_segment_header, host_start_time, 40);
EGPU_AT(egpu_segment_header, started_ns, 48);
EGPU_AT(egpu_segment_header, host_heartbeat_ns, 56);
EGPU_AT(egpu_segment_header, state, 64);
EGPU_AT(egpu_segment_header, agent_pid, 68);
EGPU_AT(egpu_segment_header, agent_start_time, 72);
EGPU_AT(egpu_segment_header, agent_heartbeat_ns, 80);
EGPU_AT(egpu_segment_header, last_drain_ns, 88);
EGPU_AT(egpu_segment_header, drains, 96);
EGPU_AT(egpu_segment_header, end_reason, 104);
EGPU_AT(egpu_segment_header, other_processes, 108);
EGPU_AT(egpu_segment_header, enabled, 112);
EGPU_AT(egpu_segment_header, drain_interval_us, 116);
EGPU_AT(egpu_segment_header, drain_request, 120);
EGPU_AT(egpu_segment_header, wait_ms, 124);
EGPU_AT(egpu_segment_header, contexts, 128);
EGPU_AT(egpu_segment_header, gpu_memory_kib, 132);
EGPU_AT(egpu_segment_header, gpu_memory_limit, 136);
EGPU_AT(egpu_segment_header, wait_ns_total, 144);
EGPU_AT(egpu_segment_header, wait_ns_longest, 152);
EGPU_AT(egpu_segment_header, launches_unknown, 160);
EGPU_AT(egpu_segment_header, device_attribute_sm_count, 168);
EGPU_AT(egpu_segment_header, compute_capability, 172);
EGPU_AT(egpu_segment_header, simulated, 176);
EGPU_AT(egpu_segment_header, driver_version, 180);
EGPU_AT(egpu_segment_header, device_name, 184);
EGPU_AT(egpu_segment_header, device_ready, 312);
EGPU_AT(egpu_segment_header, agent_error, 316);
EGPU_AT(egpu_segment_header, agent_error_text, 320);
EGPU_AT(egpu_segment_header, program, 576);
EGPU_AT(egpu_segment_header, kernel_capacity, 832);
EGPU_AT(egpu_segment_header, map_count, 836);
EGPU_AT(egpu_segment_header, kernels, 840);
EGPU_AT(egpu_segment_header, maps, 856);
EGPU_AT(egpu_segment_header, to_host, 872);
EGPU_AT(egpu_segment_header, to_agent, 912);
EGPU_AT(egpu_segment_header, catalogue, 952);
EGPU_AT(egpu_segment_header, catalogue_bytes, 984);
EGPU_AT(egpu_segment_header, catalogue_index, 1000);
EGPU_AT(egpu_segment_header, catalogue_version, 1004);
EGPU_AT(egpu_segment_header, launches_captured, 1008);
EGPU_AT(egpu_segment_header, images_unanswered, 1016);
EGPU_AT(egpu_segment_header, channel_broken, 1020);
EGPU_AT(egpu_segment_header, handles_dropped, 1024);
EGPU_AT(egpu_segment_header, copies_loaded, 1028);
EGPU_AT(egpu_segment_header, copies, 1032);
EGPU_AT(egpu_segment_header, reserve, 1048);
EGPU_AT(egpu_segment_header, commands, 1064);
EGPU_AT(egpu_segment_header, sample_launches, 1104);
EGPU_AT(egpu_segment_header, copies_waiting, 1108);
EGPU_AT(egpu_segment_header, launches_unasked, 1112);
EGPU_AT(egpu_segment_header, measure_overhead, 1120);
EGPU_AT(egpu_segment_header, waits, 1124);
EGPU_AT(egpu_segment_header, copy_times, 1128);
EGPU_AT(egpu_segment_header, gpu_memory_most_kib, 1144);
EGPU_AT(egpu_segment_header, time_launches, 1148);
EGPU_AT(egpu_segment_header, takes_turns, 1152);
EGPU_AT(egpu_segment_header, launch_skip, 1156);
EGPU_AT(egpu_segment_header, launch_count, 1160);
EGPU_AT(egpu_segment_header, launches_not_followed, 1164);
EGPU_AT(egpu_segment_header, reserved, 1168);
EGPU_AT(egpu_segment_header, graph_launches, 1248);
EGPU_AT(egpu_segment_header, graph_launches_partly, 1256);
static_assert(sizeof(egpu_segment_header) == 1264);

EGPU_AT(egpu_kernel_counters, launches, 0);
EGPU_AT(egpu_kernel_counters, launches_instrumented, 8);
EGPU_AT(egpu_kernel_counters, graph_nodes, 16);
EGPU_AT(egpu_kernel_counters, reserved, 20);
EGPU_AT(egpu_kernel_counters, copy_state, 32);
EGPU_AT(egpu_kernel_counters, copy_result, 36);
EGPU_AT(egpu_kernel_counters, launches_captured, 40);
EGPU_AT(egpu_kernel_counters, copy_reason, 48);
EGPU_AT(egpu_kernel_counters, sample_turns, 52);
EGPU_AT(egpu_kernel_counters, launches_left_out, 56);
static_assert(sizeof(egpu_kernel_counters) == 64);

EGPU_AT(egpu_copy_counters, launches, 0);
EGPU_AT(egpu_copy_counters, launches_former, 8);
EGPU_AT(egpu_copy_counters, launches_banked, 40);
EGPU_AT(egpu_copy_counters, graph_nodes, 48);
EGPU_AT(egpu_copy_counters, reserved, 52);
static_assert(sizeof(egpu_copy_counters) == 64);
static_assert(sizeof(egpu_copy_counters::launches_former) == 8 * EGPU_GRAPH_REASONS);

EGPU_AT(egpu_copy_times, sequence, 0);
EGPU_AT(egpu_copy_times, pairs, 8);
EGPU_AT(egpu_copy_times, original_ns, 16);
EGPU_AT(egpu_copy_times, instrumented_ns, 24);
EGPU_AT(egpu_copy_times, log_ratio, 32);
EGPU_AT(egpu_copy_times, log_ratio_squares, 40);
EGPU_AT(egpu_copy_times, single_launches, 48);
EGPU_AT(egpu_copy_times, single_ns, 56);
static_assert(sizeof(egpu_copy_times) == 64);
static_assert(sizeof(double) == 8 && std::numeric_limits<double>::is_iec559);

EGPU_AT(egpu_map_entry, name, 0);
EGPU_AT(egpu_map_entry, value_bytes, 64);
EGPU_AT(egpu_map_entry, stride, 68);
EGPU_AT(egpu_map_entry, capacity, 72);
EGPU_AT(egpu_map_entry, shards, 76);
EGPU_AT(egpu_map_entry, key_bytes, 80);
EGPU_AT(egpu_map_entry, is_array, 84);
EGPU_AT(egpu_map_entry, used_slots, 88);
EGPU_AT(egpu_map_entry, refused_keys, 92);
EGPU_AT(egpu_map_entry, keys, 96);
EGPU_AT(egpu_map_entry, snapshot, 112);
EGPU_AT(egpu_map_entry, snapshot_index, 144);
EGPU_AT(egpu_map_entry, snapshot_slots, 148);
EGPU_AT(egpu_map_entry, adds_up, 156);
EGPU_AT(egpu_map_entry, snapshot_ns, 160);
EGPU_AT(egpu_map_entry, snapshot_sequence, 176);
EGPU_AT(egpu_map_entry, narrow_words, 192);
EGPU_AT(egpu_map_entry, ring_bytes, 200);
EGPU_AT(egpu_map_entry, reserved, 208);
static_assert(sizeof(egpu_map_entry) == 224);

EGPU_AT(egpu_record_ring, written, 0);
EGPU_AT(egpu_record_ring, read, 8);
EGPU_AT(egpu_record_ring, dropped, 16);
EGPU_AT(egpu_record_ring, records, 24);
EGPU_AT(egpu_record_ring, damaged, 32);
EGPU_AT(egpu_record_ring, behind, 40);
EGPU_AT(egpu_record_ring, reserved, 48);
static_assert(sizeof(egpu_record_ring) == 64);

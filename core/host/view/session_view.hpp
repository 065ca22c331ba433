// SPDX-License-Identifier: Apache-2.0
// A session as a reader sees it at one moment: catalogue, counters, maps. What reports, exports and findings are made
// from, in the egpu process and in any other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "host/catalogue/catalogue.hpp"
#include "host/view/rows.hpp"

namespace egpu::host {

/// Launches by graphs that went on with a copy after another one, or the original, was to run in its place.
struct FormerLaunches {
    std::uint64_t busy = 0;       ///< the graph's last launch was not known to be over
    std::uint64_t no_source = 0;  ///< the graph that the instance was made from is gone, and could not be kept
    std::uint64_t changed = 0;    ///< the application changed its nodes
    std::uint64_t refused = 0;    ///< the driver refused the change
    std::uint64_t all() const { return busy + no_source + changed + refused; }
    FormerLaunches& operator+=(const FormerLaunches& other);
};

/// Of one instrumented copy.
struct CopyCounts {
    std::uint64_t launches = 0;
    FormerLaunches former;          ///< of `launches`
    std::uint64_t banked = 0;       ///< of `launches`: read constants from its own bank
    std::uint32_t graph_nodes = 0;  ///< nodes of graph instances that hold it now
};

struct KernelCounts {
    std::uint64_t launches = 0;
    std::uint64_t instrumented = 0;
    std::uint64_t captured = 0;      ///< by graphs whose nodes hold the original
    std::uint64_t left_out = 0;      ///< ran the original because --sample or --overhead leaves them out
    std::uint64_t banked = 0;        ///< of the instrumented: read constants from their copy's own bank
    std::uint32_t copy_reason = 0;   ///< egpu_copy_reason: why its copy did not run, last
    FormerLaunches former;           ///< of all its copies
    std::uint32_t nodes_behind = 0;  ///< of graph instances: they hold something else than what launches are to run
};

/// How many of the launches of some kernels a probe saw.
struct Coverage {
    std::uint64_t covered = 0;   ///< launches of copies that hold it
    std::uint64_t launches = 0;  ///< all
    bool whole() const { return covered == launches; }
};

/// Launches of a copy that were timed by events around them: alone, and in pairs with one of its original.
struct LaunchTimes {
    std::uint64_t pairs = 0;
    std::uint64_t original_ns = 0;
    std::uint64_t instrumented_ns = 0;
    double log_ratio = 0;  ///< of ln(instrumented / original)
    double log_ratio_squares = 0;
    std::uint64_t single_launches = 0;  ///< timed in no pair
    std::uint64_t single_ns = 0;        ///< sum over these
};

struct SessionView {
    Catalogue catalogue;
    std::vector<KernelCounts> counts;     ///< by kernel id - 1
    std::vector<CopyCounts> copies;       ///< by copy id - 1
    std::vector<LaunchTimes> copy_times;  ///< by copy id - 1; empty where launches are not timed
    std::vector<MapData> maps;            ///< by map index; `map` points into `catalogue`

    std::int64_t unix_ns = 0;             ///< when it was read
    std::uint64_t monotonic_ns = 0;       ///< the same, CLOCK_MONOTONIC
    std::uint32_t catalogue_version = 0;  ///< of the segment's catalogue that it has; 0: of none that was published

    std::string device_name;  ///< "" until the application used CUDA
    std::uint32_t compute_capability = 0;
    std::uint32_t sm_count = 0;
    bool simulated = false;
    std::string program;  ///< of the observed process; "" until it used CUDA
    std::uint32_t agent_pid = 0;
    std::uint32_t other_processes = 0;
    std::uint64_t gpu_memory_bytes = 0;       ///< that egpu has allocated, on all devices
    std::uint64_t most_gpu_memory_bytes = 0;  ///< the most that this was
    std::uint64_t waited_ns = 0;              ///< by application threads, in calls that egpu held for over 1 ms
    std::uint64_t longest_wait_ns = 0;
    std::uint32_t waits = 0;                  ///< how many of these calls there were
    std::uint32_t unanswered_images = 0;      ///< loads that went on before their copies were ready
    std::uint64_t unknown_launches = 0;       ///< of functions that belong to no image seen
    std::uint64_t unasked_launches = 0;       ///< of originals that may have been captured: the driver did not say
    std::uint64_t partly_counted_graphs = 0;  ///< graph launches that may have run kernels nobody counted
    std::uint64_t not_followed_launches = 0;  ///< about; whose programs once a grid did not run
    bool drained = false;                     ///< the final copy was made: totals are complete
    std::optional<std::uint64_t> last_drain_age_ns;
    std::string agent_error;  ///< "" where all is well

    std::uint64_t launches() const;
    std::uint64_t instrumented_launches() const;
    std::uint64_t left_out_launches() const;
    /// Of all maps: values that were lost, so never silently left out.
    std::uint64_t refused_keys() const;
    std::uint64_t refused_lookups() const;
    /// Records that found no room in their ring buffer, of all.
    std::uint64_t dropped_records() const;
    /// Of one kernel, or (kernel_id 0) of all kernels that the probe was ever attached to. `probe`: "bandwidth".
    Coverage coverage(std::string_view probe, std::uint32_t kernel_id = 0) const;
    /// The same for each kernel, by id - 1: of the probe's copies; no launches where it has none.
    std::vector<Coverage> coverage_by_kernel(std::string_view probe) const;
    /// The same for a map: of copies with a program that counts into it. What its values stand for.
    Coverage coverage_of(const MapData& data, std::uint32_t kernel_id = 0) const;
    std::vector<Coverage> coverage_by_kernel(const MapData& data) const;
    /// True where every launch was counted and the maps were copied for the last time: totals are exact, else "at
    /// least".
    bool complete() const;
    const MapData* map_named(std::string_view name) const;  ///< "bandwidth/traffic" or, where unique, "traffic"

private:
    std::vector<Coverage> coverage_of_programs(const std::vector<bool>& programs) const;
};

}  // namespace egpu::host

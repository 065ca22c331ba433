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

struct KernelCounts {
    std::uint64_t launches = 0;
    std::uint64_t instrumented = 0;
    std::uint64_t captured = 0;     ///< by graphs whose nodes hold the original
    std::uint64_t left_out = 0;     ///< ran the original because --sample leaves them out
    std::uint64_t banked = 0;       ///< of the instrumented: read constants from their copy's own bank
    std::uint32_t copy_reason = 0;  ///< egpu_copy_reason: why its copy did not run, last
};

/// How many of the launches of some kernels a probe saw.
struct Coverage {
    std::uint64_t covered = 0;   ///< launches of copies that hold it
    std::uint64_t launches = 0;  ///< all
    bool whole() const { return covered == launches; }
};

struct SessionView {
    Catalogue catalogue;
    std::vector<KernelCounts> counts;          ///< by kernel id - 1
    std::vector<std::uint64_t> copy_launches;  ///< by copy id - 1
    std::vector<MapData> maps;                 ///< by map index; `map` points into `catalogue`

    std::string device_name;  ///< "" until the application used CUDA
    std::uint32_t compute_capability = 0;
    std::uint32_t sm_count = 0;
    bool simulated = false;
    std::string program;  ///< of the observed process; "" until it used CUDA
    std::uint32_t agent_pid = 0;
    std::uint32_t other_processes = 0;
    std::uint64_t gpu_memory_bytes = 0;
    std::uint64_t waited_ns = 0;  ///< by application threads, for their copies
    std::uint64_t longest_wait_ns = 0;
    std::uint32_t unanswered_images = 0;      ///< loads that went on before their copies were ready
    std::uint64_t unknown_launches = 0;       ///< of functions that belong to no image seen
    std::uint64_t partly_counted_graphs = 0;  ///< graph launches that may have run kernels nobody counted
    bool drained = false;                     ///< the final copy was made: totals are complete
    std::optional<std::uint64_t> last_drain_age_ns;
    std::string agent_error;  ///< "" where all is well

    std::uint64_t launches() const;
    std::uint64_t instrumented_launches() const;
    std::uint64_t left_out_launches() const;
    /// Of one kernel, or (kernel_id 0) of all kernels that the probe was ever attached to. `probe`: "bandwidth".
    Coverage coverage(std::string_view probe, std::uint32_t kernel_id = 0) const;
    /// The same for a map's probe: what its values stand for.
    Coverage coverage_of(const MapData& data, std::uint32_t kernel_id = 0) const;
    /// True where every launch was counted and the maps were copied for the last time: totals are exact, else "at
    /// least".
    bool complete() const;
    const MapData* map_named(std::string_view name) const;  ///< "bandwidth/traffic" or, where unique, "traffic"
};

}  // namespace egpu::host

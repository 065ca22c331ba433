// SPDX-License-Identifier: Apache-2.0
// Derived figures of kernels and source lines, found by the names of value fields (TARGETS E2), whatever the probe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/sampling.hpp"
#include "host/view/session_view.hpp"

namespace egpu::host {

/// Figures of one kernel; nullopt: no probe counted it.
struct KernelMetrics {
    std::optional<std::uint64_t> read_bytes;     ///< requested_bytes of global loads and atomics
    std::optional<std::uint64_t> written_bytes;  ///< requested_bytes of global stores and atomics
    bool at_least = false;                   ///< the bytes may be more: a full map, no final copy, accesses not counted
    std::uint64_t traffic_launches = 0;      ///< launches that the bytes are of
    std::optional<double> sectors_per_load;  ///< sectors / requests of global loads
    std::optional<double> sector_use;        ///< requested bytes / (32 x sectors) of global loads, at most 1
    std::uint64_t sector_launches = 0;       ///< launches that the two are of
    Sampling sector_sampling;                ///< blocks or warps of them that the two are of
    /// Nanoseconds that a launch of its copy took, at most: the mean over launches timed by events around them, which
    /// hold what the driver and the GPU take to start it too. nullopt: none was timed.
    std::optional<double> launch_ns;
    std::uint64_t timed_launches = 0;  ///< that this is the mean of
    /// Nanoseconds on the GPU of launches from first entry to last exit, by a map's fields launches and kernel_time
    /// (TARGETS E2). nullopt: no probe took them, or the simulated GPU, which knows no time.
    std::optional<std::uint64_t> gpu_ns;
    std::uint64_t gpu_launches = 0;  ///< that these are of
    /// Requested bytes of a launch, read and written, / launch_ns: at least so many a second.
    std::optional<double> bytes_per_second;

    /// Bytes and sectors are of different launches: their probes came or went at different times.
    bool differ() const {
        return (read_bytes || written_bytes) && sectors_per_load && traffic_launches != sector_launches;
    }
};

/// The same for one site: a row of a map whose key names a site and whose value has requests and sectors.
struct SiteMetrics {
    std::uint32_t site_id = 0;
    std::uint64_t requests = 0;
    std::uint64_t sectors = 0;
    std::optional<std::uint64_t> requested_bytes;
    std::uint64_t launches = 0;  ///< of its kernel, that these are of
    Sampling sampling;           ///< blocks or warps of them that these are of
};

/// The map whose requested_bytes are the bytes that kernels read and write: of several, one of a probe that is attached
/// is taken, then the first in session order. Never one of which blocks or warps are sampled.
struct TrafficSource {
    const MapData* data = nullptr;
    bool loads = false, stores = false;  ///< its probe sees all global loads (stores): none counted is then 0
};
std::optional<TrafficSource> traffic_source(const SessionView& view);

/// What the bytes of a row of such a map count as, by its key; of global memory only. Those of an atomic are both.
struct TrafficPart {
    bool read = false, written = false;
};
TrafficPart traffic_part(const Row& row);

/// By kernel id. Where several maps count the same figure, one of a probe that is attached is taken, then the first in
/// session order.
std::map<std::uint32_t, KernelMetrics> kernel_metrics(const SessionView& view);
std::vector<SiteMetrics> site_metrics(const SessionView& view);

/// True where a map's figures are in these, so that a table of kernels shows them.
bool feeds_metrics(const SessionView& view, const MapData& data);

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
// From views of a session to samples: finds the series, and says what has changed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/findings/metrics.hpp"
#include "host/series/series.hpp"
#include "host/view/session_view.hpp"

namespace egpu::host {

/// Entries of one map that become series; further ones are counted in left_out().
inline constexpr std::uint32_t kMostSeriesEntries = 16'384;

class Sampler {
public:
    /// `view`: of the same session, later than the one before.
    Sample sample(const SessionView& view);
    const SeriesTable& series() const { return table_; }
    /// Entries of maps that have no series since there are too many.
    std::uint64_t left_out() const { return left_out_; }

private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    /// An entry of a map, once it was not all zero. What its key says never changes.
    struct Entry {
        std::vector<std::uint32_t> series;  // by field of the value; kNone: not a series. Empty: not seen yet
        std::uint32_t kernel_id = 0;
        TrafficPart traffic;
    };
    struct MapState {
        std::vector<Entry> entries;  // by slot
    };
    struct Last {
        std::uint32_t epoch = 0;   // 0: unknown
        std::uint32_t epochs = 0;  // that it had so far
        std::uint64_t value = 0;
        HistogramSlots* slots = nullptr;
    };
    /// Requested bytes by kernel id; [0]: of all.
    struct TrafficSums {
        std::vector<std::uint64_t> read, written;
    };
    /// For which kernels a map's probe counts now.
    struct Counting {
        bool attached = false;
        std::vector<bool> kernels;  // by id - 1: the copy that it is to run holds the probe
        bool of(std::uint32_t kernel_id) const {
            return kernel_id == 0 || kernel_id > kernels.size() ? attached : kernels[kernel_id - 1];
        }
    };

    static Counting counting(const SessionView& view, const MapData& data);
    void sample_launches(const SessionView& view, Sample& sample);
    void sample_map(const SessionView& view, std::size_t index, Sample& sample);
    void sample_traffic(const SessionView& view, Sample& sample);
    TrafficSums sum_traffic(const MapData& data, const MapState& state, std::size_t kernels) const;
    void put_traffic(SessionField field, std::uint32_t kernel_id, std::optional<std::uint64_t> value, bool anew,
                     Sample& sample);
    Entry make_entry(const MapData& data, std::size_t index, const Row& row);
    std::uint32_t add_series(Series series);
    std::uint32_t session_series(SessionField field, std::uint32_t kernel_id);
    void put(std::uint32_t series, std::optional<std::uint64_t> value, Sample& sample);
    void put_histogram(std::uint32_t series, std::span<const std::uint64_t> slots, bool known, Sample& sample);
    /// The next epoch of a value that can be compared with nothing before it.
    static void begin_epoch(Last& last) { last.epoch = ++last.epochs; }

    SeriesTable table_;
    std::vector<Last> last_;                                            // by series
    std::vector<std::unique_ptr<HistogramSlots>> slots_;                // of histograms, what Last::slots points to
    std::vector<MapState> maps_;                                        // by map
    std::vector<std::uint64_t> clocks_;                                 // of the sample before
    std::string traffic_map_;                                           // that counted the traffic in the sample before
    std::set<std::pair<SessionField, std::uint32_t>> unknown_traffic_;  // by kernel id: not known in a sample so far
    std::uint64_t left_out_ = 0;
};

}  // namespace egpu::host

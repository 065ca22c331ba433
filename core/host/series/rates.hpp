// SPDX-License-Identifier: Apache-2.0
// Rates over the last moments of a stream of samples: BW = sum(bytes) / T_window (TARGETS E2).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "host/series/percentiles.hpp"
#include "host/series/series.hpp"

namespace egpu::host {

inline constexpr std::uint64_t kDefaultWindowNs = 1'000'000'000;
/// A rate of less time than this is noise: it is not given.
inline constexpr std::uint64_t kShortestWindowNs = 150'000'000;
/// Values whose clock stands still for so long are not known any more.
inline constexpr std::uint64_t kStaleNs = 1'000'000'000;

/// What a kernel, or all together, does now; nullopt: not known, never 0.
struct KernelRates {
    std::optional<double> launches;  ///< a second
    std::optional<double> read;      ///< requested bytes of global memory, a second
    std::optional<double> written;   ///< the same
    bool at_least = false;           ///< launches ran that the bytes are not of
};

/// Takes samples in the order of their time, keeps what the window needs. Rates are as of the last sample.
class RateWindow {
public:
    explicit RateWindow(std::uint64_t window_ns = kDefaultWindowNs) : window_ns_(window_ns) {}

    /// `table`: of the same source, which holds all series that the sample names.
    void push(const Sample& sample, const SeriesTable& table);

    /// A second. nullopt: gap (unknown, stale, counted anew) or too short a time.
    std::optional<double> rate(std::uint32_t series) const;
    /// What a counter grew by in the window, and in how long.
    struct Growth {
        std::uint64_t amount = 0;
        std::uint64_t ns = 0;
    };
    std::optional<Growth> growth(std::uint32_t series) const;
    /// Of the values that came into several histograms together in the window; nullopt: none came, or a gap in all.
    std::optional<Percentiles> percentiles(std::span<const std::uint32_t> histograms) const;
    /// By the series of kSessionMap; kernel_id 0: of all.
    KernelRates kernel(std::uint32_t kernel_id, const SeriesTable& table) const;

private:
    template <typename Value>
    struct Entry {
        std::uint64_t ns = 0;         // of the clock, when the value was read
        std::uint64_t before_ns = 0;  // until then the value before it was seen
        std::uint32_t epoch = 0;
        Value value{};
    };
    template <typename Value>
    struct Track {
        std::uint32_t clock = 0;
        std::deque<Entry<Value>> entries;  // ascending; the first may be older than the window
    };
    /// Where the window begins: the value then, and when.
    template <typename Value>
    struct Base {
        const Value* then = nullptr;
        const Value* now = nullptr;
        std::uint64_t ns = 0;
    };
    template <typename Value>
    void add(Track<Value>& track, std::uint32_t clock, std::uint32_t epoch, const Value& value);
    template <typename Value>
    std::optional<Base<Value>> base_of(const Track<Value>& track) const;

    std::uint64_t window_ns_;
    std::uint64_t now_ns_ = 0;
    std::vector<std::uint64_t> clocks_, clocks_before_;
    std::vector<std::uint64_t> first_clocks_;                    // the first that each clock showed; 0: none so far
    std::vector<Track<std::uint64_t>> counters_;                 // by series
    std::map<std::uint32_t, Track<HistogramSlots>> histograms_;  // by series
};

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
// What egpu top and --live show, from a source of samples: no terminal here.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "host/series/rates.hpp"
#include "host/series/source.hpp"

namespace egpu::cli {

struct TopRow {
    std::uint32_t kernel_id = 0;
    std::string name, state;
    std::uint64_t launches = 0;  ///< since the start
    host::KernelRates rates;
    std::optional<double> each_ns;  ///< of a launch, at most
    std::optional<double> busy;     ///< share of the window, at most
    /// Since the start, where the session has ended: then there are no rates.
    std::optional<std::uint64_t> read_total, written_total;
    bool totals_at_least = false;
};

struct TopProbe {
    std::string name, state, remark;
    std::uint32_t sites = 0, kernels = 0;
    bool attached = false;
};

/// One moment.
struct TopView {
    std::uint32_t session = 0, pid = 0;
    std::string program, device, state_text;
    bool simulated = false, live = true, stopped = false;
    double seconds = 0;
    std::uint64_t egpu_memory = 0, dropped = 0;
    std::optional<double> samples_per_second;
    host::KernelRates total;
    std::deque<std::optional<double>> read_history, written_history;  ///< the last moments, the newest last
    std::vector<TopRow> rows;
    std::vector<TopProbe> probes;
};

class TopModel {
public:
    explicit TopModel(host::Source& source) : source_(source) {}
    /// Takes what is new.
    void sample();
    TopView view() const;
    const host::Source& source() const { return source_; }

private:
    host::Source& source_;
    host::RateWindow window_;
    std::deque<std::uint64_t> times_;  // of the last samples
    std::deque<std::optional<double>> read_history_, written_history_;
    std::uint64_t next_history_ns_ = 0;
};

enum class TopSort { traffic, launches, name };
inline constexpr int kTopSorts = 3;
const char* to_words(TopSort sort);

/// Rows whose name a filter takes (a glob, or a part of the name), in order; the unknown stand behind the known.
std::vector<TopRow> arrange(std::vector<TopRow> rows, TopSort sort, const std::string& filter);

}  // namespace egpu::cli

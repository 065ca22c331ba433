// SPDX-License-Identifier: Apache-2.0
// What bpf_printk sends as lines: "vecadd, block 3, thread 17: sector 4". So many a second that a person can read them;
// the rest is counted, and said.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "ebpf/helpers/format.hpp"
#include "host/catalogue/catalogue.hpp"

namespace egpu::host {

/// One record of a map with formats; "" for one that makes no sense.
std::string printed_line(const ebpf::MapDefinition& map, std::span<const std::byte> record, const Catalogue& catalogue);
/// True for such a record of a kernel that came after the catalogue was read.
bool prints_unknown_kernel(std::span<const std::byte> record, const Catalogue& catalogue);

class PrintLines {
public:
    static constexpr std::uint32_t kMostASecond = 100;
    using Clock = std::chrono::steady_clock;

    /// `catalogue` gives the session's as it stands now; both are called on the thread that take() is called on.
    PrintLines(std::function<Catalogue()> catalogue, std::function<void(const std::string&)> print)
        : catalogue_of_session_(std::move(catalogue)), print_(std::move(print)) {}

    /// Whether a ring of the session is one of bpf_printk.
    bool wants(std::uint32_t map);
    /// A record of any ring of the session: of a ring of bpf_printk it is printed.
    void take(std::uint32_t map, std::span<const std::byte> record, Clock::time_point now = Clock::now());
    /// Says what was left out since it was last said.
    void finish();

private:
    std::function<Catalogue()> catalogue_of_session_;
    std::function<void(const std::string&)> print_;
    Catalogue catalogue_;
    std::optional<Clock::time_point> second_;  ///< that is being counted
    std::uint32_t printed_ = 0;
    std::uint64_t left_out_ = 0;
};

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
// Work that nobody waits for: what kernels would need without programs, and whether their PTX is their source. One
// thread of low priority; the application's copies go first.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "host/catalogue/catalogue.hpp"

namespace egpu::host {

/// What a job found out about a kernel.
struct KernelInsight {
    explicit KernelInsight(std::uint32_t id) : kernel_id(id) {}
    std::uint32_t kernel_id = 0;
    std::optional<std::uint32_t> registers, spill_bytes, local_bytes;  ///< of the reassembled code
    Proof proof = Proof::unknown;
    std::string proof_reason;
};

class Background {
public:
    using Job = std::function<std::vector<KernelInsight>(const std::stop_token&)>;

    Background() = default;
    /// Jobs that have not ended are stopped.
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    void add(Job job);
    /// What was found since the last call.
    std::vector<KernelInsight> take();
    /// Waits until all is done or the time is over; helps, with as many threads as there are processors.
    void finish(std::chrono::milliseconds limit);
    bool busy();

private:
    void start_thread();
    void run(const std::stop_token& stop);

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Job> jobs_;
    std::size_t running_ = 0;
    std::vector<KernelInsight> insights_;
    std::vector<std::jthread> threads_;
};

}  // namespace egpu::host

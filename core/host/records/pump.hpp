// SPDX-License-Identifier: Apache-2.0
// Takes the records of all ring buffers of a session as they come, on a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "host/records/reader.hpp"

namespace egpu::host {

/// Who reads what is taken, on the pump's thread; maps by their index in the session.
struct RecordSink {
    std::function<bool(std::uint32_t map)> wants;  ///< asked before its records come; others are only counted
    std::function<void(std::uint32_t map, std::span<const std::byte> record)> take;
};

class RecordPump {
public:
    /// The view must outlive it. Starts its thread.
    RecordPump(const segment::View& view, RecordSink sink);
    ~RecordPump() { stop(); }
    RecordPump(const RecordPump&) = delete;
    RecordPump& operator=(const RecordPump&) = delete;
    /// Takes what is there, then ends the thread.
    void stop();

private:
    struct Ring {
        std::uint32_t map = 0;
        segment::RecordRingView view;
        RecordReader reader;
    };
    void run();
    void find_rings();
    bool take(Ring& ring);
    std::uint64_t read(Ring& ring, bool* damaged);

    const segment::View& view_;
    RecordSink sink_;
    std::uint32_t maps_seen_ = 0;
    std::vector<Ring> rings_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace egpu::host

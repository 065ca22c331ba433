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

/// A record of the session's map with this index. On the pump's thread.
using RecordSink = std::function<void(std::uint32_t map, std::span<const std::byte> record)>;

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

    const segment::View& view_;
    RecordSink sink_;
    std::uint32_t maps_seen_ = 0;
    std::vector<Ring> rings_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
#include "host/records/pump.hpp"

#include <chrono>
#include <optional>

#include "base/signals.hpp"
#include "segment/access/shared.hpp"

namespace egpu::host {
namespace {

constexpr std::chrono::milliseconds kPause{10};
/// An application that goes on may send for ever.
constexpr std::chrono::milliseconds kMostAtTheEnd{500};
/// Records of one visit to a ring, after which their room is given back: read, and only counted.
constexpr std::uint64_t kMostRead = 1024, kMostSkipped = 1 << 16;

}  // namespace

RecordPump::RecordPump(const segment::View& view, RecordSink sink) : view_(view), sink_(std::move(sink)) {
    const AllSignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
}

void RecordPump::stop() {
    stopping_ = true;
    if (thread_.joinable())
        thread_.join();
}

/// Probes that are added bring maps.
void RecordPump::find_rings() {
    for (; maps_seen_ < view_.map_count(); ++maps_seen_)
        if (view_.geometry(maps_seen_).ring_bytes != 0) {
            const auto ring = view_.record_ring(maps_seen_);
            rings_.push_back({maps_seen_, ring, RecordReader(ring, RecordReader::From::what_is_not_taken)});
        }
}

/// The records of one visit, passed on.
std::uint64_t RecordPump::read(Ring& ring, bool* damaged) {
    std::vector<std::byte> record;
    std::uint64_t taken = 0;
    while (taken < kMostRead) {
        const auto got = ring.reader.next(&record);
        *damaged = got == RecordReader::Got::damaged;
        if (got != RecordReader::Got::record)
            break;
        sink_.take(ring.map, record);
        ++taken;
    }
    return taken;
}

/// True where there was anything. Each ring has its turn, however fast another one fills.
bool RecordPump::take(Ring& ring) {
    egpu_record_ring& control = *ring.view.control;
    if (segment::load_relaxed(control.damaged) != 0)
        return false;
    const std::uint64_t before = ring.reader.position();
    bool damaged = false;
    const std::uint64_t taken = sink_.wants(ring.map) ? read(ring, &damaged) : ring.reader.skip(kMostSkipped, &damaged);
    if (damaged)
        segment::store_relaxed(control.damaged, std::uint64_t{1});
    segment::add_relaxed(control.records, taken);
    segment::store_release(control.read, ring.reader.position());
    return ring.reader.position() != before;
}

void RecordPump::run() {
    std::optional<std::chrono::steady_clock::time_point> end;
    while (true) {
        const bool last = stopping_;  // seen before the last visits
        if (last && !end)
            end = std::chrono::steady_clock::now() + kMostAtTheEnd;
        find_rings();
        bool any = false;
        for (Ring& ring : rings_)
            any = take(ring) || any;
        if (last && (!any || std::chrono::steady_clock::now() > *end))
            return;
        if (!any)
            std::this_thread::sleep_for(kPause);
    }
}

}  // namespace egpu::host

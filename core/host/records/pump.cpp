// SPDX-License-Identifier: Apache-2.0
#include "host/records/pump.hpp"

#include <signal.h>

#include <chrono>

#include "segment/access/shared.hpp"

namespace egpu::host {
namespace {

constexpr std::chrono::milliseconds kPause{10};
/// Records after which their room is given back, in the middle of a batch.
constexpr std::uint64_t kBatch = 1024;

}  // namespace

RecordPump::RecordPump(const segment::View& view, RecordSink sink) : view_(view), sink_(std::move(sink)) {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
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

/// True where there was anything.
bool RecordPump::take(Ring& ring) {
    egpu_record_ring& control = *ring.view.control;
    if (segment::load_relaxed(control.damaged) != 0)
        return false;
    std::vector<std::byte> record;
    std::uint64_t taken = 0;
    const auto give_back = [&] {
        segment::add_relaxed(control.records, taken);
        segment::store_release(control.read, ring.reader.position());
    };
    bool any = false;
    while (true) {
        const auto got = ring.reader.next(&record);
        if (got == RecordReader::Got::damaged)
            segment::store_relaxed(control.damaged, std::uint64_t{1});
        if (got != RecordReader::Got::record)
            break;
        any = true;
        sink_(ring.map, record);
        if (++taken == kBatch) {
            give_back();
            taken = 0;
        }
    }
    give_back();
    return any;
}

void RecordPump::run() {
    while (true) {
        const bool last = stopping_;
        find_rings();
        bool any = false;
        for (Ring& ring : rings_)
            any = take(ring) || any;
        if (last)
            return;
        if (!any)
            std::this_thread::sleep_for(kPause);
    }
}

}  // namespace egpu::host

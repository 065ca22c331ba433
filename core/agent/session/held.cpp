// SPDX-License-Identifier: Apache-2.0
#include "agent/session/held.hpp"

#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

constexpr std::uint64_t kShortest = 1'000'000;  // ns

thread_local bool is_held = false;

}  // namespace

Held::Held() : begin_(is_held ? 0 : segment::monotonic_ns()) {
    is_held = true;
}

Held::~Held() {
    if (begin_ == 0)
        return;
    is_held = false;
    const std::uint64_t held = segment::monotonic_ns() - begin_;
    if (held < kShortest || !counting())
        return;
    egpu_segment_header& header = view().header();
    segment::add_relaxed(header.wait_ns_total, held);
    segment::add_relaxed(header.waits, std::uint32_t{1});
    segment::raise(header.wait_ns_longest, held);
}

}  // namespace egpu::agent

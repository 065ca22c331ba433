// SPDX-License-Identifier: Apache-2.0
// What kernels of the mock driver send.
#pragma once

#include <cstdint>

/// A launch that sends to the ring of 4096 bytes at this address records that take a chunk each: the first launch two,
/// of which one as a slow thread does, into the chunk after the present one; each further launch one, as
/// maps/layout/ring_buffer.hpp says.
void mock_sends(std::uint64_t ring);

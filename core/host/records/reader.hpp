// SPDX-License-Identifier: Apache-2.0
// Records of a ring buffer, one by one, from the segment. The egpu process takes them, so that there is room for more;
// anybody else reads along, and is told what went by too fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "segment/access/view.hpp"

namespace egpu::host {

class RecordReader {
public:
    /// `all` reads along from the first record where none was overwritten so far, else from now on.
    enum class From { what_is_not_taken, now, all };
    RecordReader(const segment::RecordRingView& ring, From from);

    enum class Got { record, nothing, damaged };
    /// The next record's payload to `*record`.
    Got next(std::vector<std::byte>* record);
    /// Passes over at most so many records without reading them; how many they were. `*damaged` where the next is none.
    /// Of one that takes.
    std::uint64_t skip(std::uint64_t most, bool* damaged);
    /// Bytes that were overwritten before this reader came to them; of one that reads along only. It goes on behind
    /// them.
    std::uint64_t missed_bytes() const { return missed_; }
    /// Everything before is read.
    std::uint64_t position() const { return position_; }

private:
    segment::RecordRingView ring_;
    bool takes_ = false;
    std::uint64_t position_ = 0, missed_ = 0;
};

}  // namespace egpu::host

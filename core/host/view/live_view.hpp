// SPDX-License-Identifier: Apache-2.0
// A SessionView out of a segment, by whoever has it mapped.
#pragma once

#include "base/result.hpp"
#include "host/view/session_view.hpp"
#include "segment/access/view.hpp"

namespace egpu::host {

/// A segment's counters and maps under a catalogue that is at hand.
Result<SessionView> view_session(const segment::View& segment, Catalogue catalogue);

/// The same into a view that has its catalogue and nothing else. Where it fails the catalogue is still there.
Status fill_view(const segment::View& segment, SessionView& view);

/// Only the counters of its kernels, by kernel id - 1.
std::vector<KernelCounts> kernel_counts(const segment::View& segment, Catalogue catalogue);

/// The session as it stands now, with the catalogue that its egpu process published. EGPU-M01x where the catalogue
/// can't be read.
Result<SessionView> read_session(const segment::View& segment);

/// What an egpu_copy_reason means for a kernel, as a reason: "its copy would have fewer resident blocks".
const char* copy_reason_text(std::uint32_t reason);

}  // namespace egpu::host

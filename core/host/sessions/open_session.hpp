// SPDX-License-Identifier: Apache-2.0
// The session that is meant: the one that is named, else the only one of this user that runs.
#pragma once

#include <string>

#include "base/result.hpp"
#include "segment/access/mapping.hpp"

namespace egpu::host {

/// Maps a running session; `session`: its number, or "" for the only one that runs. Those that can't be looked into
/// are never that one; those that have not used CUDA so far, or are suspended, only where there is no other. EGPU-X060:
/// none or several (they are listed); EGPU-X061: can't be read.
Result<segment::Mapping> open_session(const std::string& session);

/// "4711 (vecadd), 4712": sessions that can be opened; "" where there is none.
std::string sessions_text();

}  // namespace egpu::host

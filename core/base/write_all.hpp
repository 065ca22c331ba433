// SPDX-License-Identifier: Apache-2.0
// A whole text to a descriptor: the one loop around write(2).
#pragma once

#include <string_view>

namespace egpu {

/// Writes all of `text`, also where a signal comes between or the descriptor doesn't block (a terminal that the
/// application shares may be set so). False with errno set: ETIMEDOUT where the other side took nothing for
/// `patience_ms`, which needs a descriptor that doesn't block; -1 waits for ever. May be called by a signal handler.
bool write_all(int file, std::string_view text, int patience_ms = -1);

}  // namespace egpu

// SPDX-License-Identifier: Apache-2.0
// egpu session info: a running session or a recording, as text or JSON.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "host/series/source.hpp"

namespace egpu::cli {

/// `what`: a session's number, "" for the only one, or a recording's file.
int print_session_info(const std::string& what, bool json);

/// True where this names a file, not a session: it is no number.
bool names_file(const std::string& what);

/// "2026-01-15 10:02:11", in local time.
std::string local_time(std::int64_t unix_ms);

}  // namespace egpu::cli

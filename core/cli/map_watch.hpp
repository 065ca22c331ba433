// SPDX-License-Identifier: Apache-2.0
// egpu map watch: records of a ring buffer as they come.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "host/view/session_view.hpp"

namespace egpu::cli {

/// Of egpu map and its subcommands.
struct MapOptions {
    std::string session, map;
    bool json = false;
    bool all = false;
    std::uint64_t count = 0;  ///< 0: without end
};

/// A map by its name; EGPU-M030 where there is none, or several.
Result<const host::MapData*> find_map(const host::SessionView& view, const std::string& name);

/// "1,024 records, 3 dropped (no room)".
std::string ring_text(const host::MapData& data);

/// Until the session ends, or so many records were printed. The exit code.
int watch_map(const MapOptions& options);

}  // namespace egpu::cli

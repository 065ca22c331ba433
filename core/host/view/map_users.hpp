// SPDX-License-Identifier: Apache-2.0
// Who counts into a map: a number that no program counted is unknown, not 0, although other programs of its probe ran.
#pragma once

#include <string>
#include <vector>

#include "host/view/session_view.hpp"

namespace egpu::host {

/// True where the program names the map; of a recording that does not say, where the map is its probe's.
bool uses_map(const Catalogue& catalogue, const Probe& program, const MapData& data);

/// Programs that would count into the map and were refused: what the others counted is what they did.
std::vector<const Probe*> refused_users(const SessionView& view, const MapData& data);

/// True where a program that counts into the map counts only a part of what the kernel does: its notes say what not.
bool counts_in_part(const SessionView& view, const MapData& data, std::uint32_t kernel_id);

/// "program on_exit was refused", "programs on_entry and on_exit were refused"; "" where there is none.
std::string refused_text(const std::vector<const Probe*>& programs);

/// Why the map's values, or those of one field, are nothing that a program counted: "program on_exit was refused";
/// "" where one did, and where nothing was launched.
std::string why_not_counted(const SessionView& view, const MapData& data, const ebpf::TypeField* field = nullptr);

}  // namespace egpu::host

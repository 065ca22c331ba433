// SPDX-License-Identifier: Apache-2.0
// The metrics of a session as the summary lists them (TARGETS E7): every value of every map, and what is derived.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "host/view/session_view.hpp"

namespace egpu::host {

/// A list of objects: "name" ("bandwidth.requested_bytes"), "unit", labels, "value" (null: unknown) or "values" of a
/// histogram. Derived ones have no "map"; "bound": "at_least" where only so much is known. A field that no program
/// counted stands there once, without labels, null with its "reason"; "programs_refused" beside a value: it is without
/// what these would have counted.
nlohmann::ordered_json metrics_json(const SessionView& view);

/// "bandwidth.requested_bytes": what a field of a map's values is called there.
std::string metric_name(const MapData& data, const ebpf::TypeField& field);

}  // namespace egpu::host

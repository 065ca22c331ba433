// SPDX-License-Identifier: Apache-2.0
// Rule 3: an access to a map's value lies inside it. The values of a map stand side by side in GPU memory.
#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {

Verdict check_map_value(const Scene& scene, const MemoryAccess& access) {
    const MapDefinition& map = scene.map(access.pointer.map);
    const Span span = span_of(access);
    if (span.first >= 0 && span.end <= static_cast<std::int64_t>(map.value_bytes))
        return std::nullopt;
    Refusal refusal;
    refusal.code = "EGPU-V006";
    refusal.message = fmt::format("this access {} outside {}", span.exact ? "is" : "may be",
                                  name_of(scene, access.pointer, &refusal.subject));
    refusal.why = fmt::format("{}; a value of map '{}' has {} bytes", span_text(span), map.name, map.value_bytes);
    refusal.fix = span.exact ? "check the index or the cast against the map's value type" : bound_advice(span);
    return refusal;
}

}  // namespace egpu::ebpf

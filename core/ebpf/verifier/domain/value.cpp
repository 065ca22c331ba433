// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/domain/value.hpp"

#include <fmt/format.h>

namespace egpu::ebpf {
namespace {

/// "+8", "-16", "+[0, 504]".
std::string offset_text(const Scalar& offset) {
    if (offset.is_constant())
        return fmt::format("{:+}", static_cast<std::int64_t>(offset.value()));
    return fmt::format("+[{}, {}]", offset.wide.signed_low, offset.wide.signed_high);
}

std::string map_name(const Object& object, std::uint32_t map) {
    return map < object.maps.size() ? object.maps[map].name : "?";
}

std::string map_value_text(const char* kind, const Value& value, const Object& object) {
    const std::uint32_t bytes = value.map < object.maps.size() ? object.maps[value.map].value_bytes : 0;
    return fmt::format("{}({}, {} bytes){}", kind, map_name(object, value.map), bytes, offset_text(value.scalar));
}

}  // namespace

std::string to_text(const Value& value, const Object& object, ContextKind context) {
    switch (value.kind) {
        case Kind::uninitialised:
            return "?";
        case Kind::scalar:
            return to_text(value.scalar);
        case Kind::context: {
            std::string text = context == ContextKind::mem ? "ctx(egpu_mem_ctx)" : "ctx(egpu_kernel_ctx)";
            if (!value.scalar.is_constant() || value.scalar.value() != 0)
                text += offset_text(value.scalar);
            return text;
        }
        case Kind::stack:
            return fmt::format(
                "fp{}{}", value.frame == 0 ? "" : fmt::format("[{}]", value.frame),
                value.scalar.is_constant() && value.scalar.value() == 0 ? "0" : offset_text(value.scalar));
        case Kind::map_object:
            return fmt::format("map({})", map_name(object, value.map));
        case Kind::map_value:
            return map_value_text("map_value", value, object);
        case Kind::map_value_or_null:
            return map_value_text("map_value_or_null", value, object);
        case Kind::constants:
            return fmt::format("constants{}", offset_text(value.scalar));
        case Kind::partial_sum:
            return fmt::format("one SM's part of {}", map_name(object, value.map));
    }
    return "?";
}

}  // namespace egpu::ebpf

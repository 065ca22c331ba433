// SPDX-License-Identifier: Apache-2.0
// Helpers that a GPU doesn't have, with what to do instead (helpers/unavailable.cpp).
#include <string_view>

#include <fmt/format.h>

#include "ebpf/helpers/helpers.hpp"
#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {
namespace {

std::string offered() {
    std::string names;
    for (const Helper& each : helpers())
        names += (names.empty() ? "" : ", ") + std::string(each.name);
    return names;
}

/// The field of the context that a helper is asked to read.
std::string field_asked(const Scene& scene) {
    const Value from = scene.state.get(3);
    const Value bytes = scene.state.get(2);
    if (!from.scalar.is_constant() || !bytes.is_constant())
        return "field";
    const ContextField* field = field_at(scene.context, static_cast<std::uint32_t>(from.scalar.value()),
                                         static_cast<std::uint32_t>(bytes.scalar.value()));
    return field == nullptr ? "field" : std::string(field->name);
}

Refusal context_is_no_memory(const Scene& scene, std::string_view name) {
    Refusal refusal;
    refusal.code = "EGPU-V017";
    refusal.message = fmt::format("{} is not available on a GPU", name);
    refusal.why = "a context is a list of values, not memory, and each is there without a helper";
    refusal.fix = fmt::format("a context's fields are read directly: ctx->{}", field_asked(scene));
    return refusal;
}

}  // namespace

Refusal unknown_helper(const Scene& scene, std::uint32_t number) {
    Refusal refusal;
    refusal.code = "EGPU-V017";
    if (static_cast<std::int32_t>(number) == kMissingFieldCall) {
        refusal.message = "a context field is read here that this egpu doesn't have";
        refusal.why = "the program asks for it with bpf_core_field_exists() and reads it all the same";
        refusal.fix = "read the field only where bpf_core_field_exists() is true";
        return refusal;
    }
    const Unavailable* said = unavailable(number);
    const std::string_view name = said != nullptr && !said->name.empty() ? said->name : linux_helper_name(number);
    if (said != nullptr && said->reads_memory && scene.state.get(3).kind == Kind::context)
        return context_is_no_memory(scene, name);
    refusal.message = name.empty() ? fmt::format("helper {} ({:#x}) is unknown", number, number)
                                   : fmt::format("{} is not available on a GPU", name);
    refusal.why = said != nullptr ? said->why
                  : name.empty()  ? "it is a helper of a newer egpu, or of a newer Linux"
                                  : "it is a helper of the Linux kernel, which no GPU runs";
    refusal.fix =
        said != nullptr && !said->instead.empty() ? std::string(said->instead) : "a GPU program has: " + offered();
    return refusal;
}

}  // namespace egpu::ebpf

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

}  // namespace

Refusal unknown_helper(std::uint32_t number) {
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
    refusal.message = name.empty() ? fmt::format("helper {:#x} is unknown", number)
                                   : fmt::format("{} is not available on a GPU", name);
    refusal.why = said != nullptr ? said->why
                  : name.empty()  ? "it is a helper of a newer egpu, or of a newer Linux"
                                  : "it is a helper of the Linux kernel, which no GPU runs";
    refusal.fix =
        said != nullptr && !said->instead.empty() ? std::string(said->instead) : "a GPU program has: " + offered();
    return refusal;
}

}  // namespace egpu::ebpf

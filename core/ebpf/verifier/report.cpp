// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ebpf/events/events.hpp"
#include "ebpf/events/known.hpp"

namespace egpu::ebpf {
namespace {

std::string counted(std::uint64_t count, const char* one, const char* many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// An array's element is computed, a hash's is searched for.
const char* key_text(const Object& object, const Verification& verification) {
    if (verification.dynamic_lookups.empty())
        return verification.worst_lookups == 1 ? "static key: an address" : "static keys: addresses";
    const bool arrays = std::ranges::all_of(verification.dynamic_lookups,
                                            [&](const auto& each) { return object.maps[each.second].is_array(); });
    return arrays ? "an index known only when it runs: computed each time"
                  : "a key known only when it runs: searched each time";
}

std::string lookups_text(const Object& object, const Verification& verification) {
    if (verification.worst_lookups == 0)
        return {};
    return fmt::format(" and {} a firing ({})", counted(verification.worst_lookups, "lookup", "lookups"),
                       key_text(object, verification));
}

bool is_addition(const Program& program, std::uint32_t at) {
    return (program.instructions[at].immediate & ~kFetch) == kAdd;
}

std::string atomics_text(const Program& program, const Verification& verification) {
    if (verification.worst_atomics == 0)
        return {};
    const bool adds = std::all_of(verification.atomics.begin(), verification.atomics.end(),
                                  [&](std::uint32_t at) { return is_addition(program, at); });
    std::string text = "; " + (adds ? counted(verification.worst_atomics, "atomic add", "atomic adds")
                                    : counted(verification.worst_atomics, "atomic operation", "atomic operations"));
    const std::size_t kept = verification.register_adds.size();
    if (kept == verification.atomics.size())
        text += ", may be kept in registers";
    else if (kept != 0)
        text += fmt::format(", {} of {} in the code may be kept in registers", kept, verification.atomics.size());
    return text;
}

/// "reads kernel, space (site), latency (warp)", in the order of the context.
std::string fields_text(const Program& program, const Verification& verification) {
    constexpr std::array kNames{"site", "warp", "lane"};
    std::string text;
    for (std::size_t level = 0; level < kNames.size(); ++level) {
        std::string names;
        for (const ContextField& field : context_fields())
            if (static_cast<std::size_t>(variability_at(field, program.point)) == level &&
                verification.fields_read.count(std::string(field.name)) != 0)
                names += (names.empty() ? "" : ", ") + std::string(field.name);
        if (!names.empty())
            text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", names, kNames[level]);
    }
    return text.empty() ? "reads no field of its context" : "reads " + text;
}

}  // namespace

std::string check_report(const Object& object, const Program& program, const Verification& verification) {
    const std::string lookups = lookups_text(object, verification);
    std::string text = fmt::format("{}  {}  accepted\n", program.name, program.section);
    text += fmt::format("    at most {}{}{}\n", counted(verification.worst_instructions, "instruction", "instructions"),
                        lookups.empty() ? " a firing" : lookups, atomics_text(program, verification));
    text += fmt::format("    {}; {}\n",
                        verification.stack_bytes == 0 ? std::string("no stack")
                                                      : fmt::format("stack {} bytes", verification.stack_bytes),
                        fields_text(program, verification));
    return text;
}

}  // namespace egpu::ebpf

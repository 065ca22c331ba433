// SPDX-License-Identifier: Apache-2.0
// A code generator that writes down what it was asked for, so that tests of the rewrites see where a program stands and
// what it is bound to, and no more. Linked instead of the real one.
#include <fmt/format.h>

#include "inject/codegen/codegen.hpp"

namespace egpu::inject {

Result<EmittedProbe> emit_probe(const ebpf::SpecializedProgram& program, const SiteBinding& site,
                                std::uint32_t map_base, FunctionContext& function) {
    EmittedProbe probe;
    probe.instructions = 1;
    // What spreads over several statements in the real one jumps: latency's program does.
    const bool jumps = !site.latency.empty();
    std::string text = fmt::format("\t<{}{} {}", jumps ? "bra " : "", to_name(site.granularity), program.program->name);
    if (!site.guard.empty())
        text += fmt::format(" if {}{}", site.guard_negated ? "!" : "", site.guard);
    if (site.space) {
        text += fmt::format(" {} {} {}B at [{}{:+}]:{}", to_name(*site.space), to_name(site.access),
                            site.bytes_per_lane, site.address_base, site.address_offset, site.address_bits);
        for (const auto& value : site.values)
            text += fmt::format(" {}:{}", value, site.value_type);
        if (site.value_register_bits != 0)
            text += fmt::format(" in {} bits", site.value_register_bits);
    }
    if (!site.latency.empty())
        text += " latency " + site.latency;
    if (site.in_device_function)
        text += " in a device function";
    text += fmt::format(" site {}", site.site_id);
    for (const auto& use : program.accumulators)
        for (const auto& accumulator : function.accumulators) {
            ebpf::StaticElement element = use.element;
            element.map += map_base;
            if (element == accumulator.element)
                text += " " + accumulator.register_name;
        }
    probe.text = text + ">\n";
    return probe;
}

std::string emit_accumulator_start(const FunctionContext& function) {
    std::string text = "\t<start";
    for (const auto& accumulator : function.accumulators)
        text += fmt::format(" {}=map {} slot {} byte {}", accumulator.register_name, accumulator.element.map,
                            accumulator.element.slot, accumulator.element.byte);
    return text + ">\n";
}

std::string emit_accumulator_flush(FunctionContext& function, bool) {
    return fmt::format("\t<flush {}>\n", function.accumulators.size());
}

}  // namespace egpu::inject

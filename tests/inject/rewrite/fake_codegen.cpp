// SPDX-License-Identifier: Apache-2.0
// A code generator that writes down what it was asked for, so that tests of the rewrites see where a program stands and
// what it is bound to, and no more. Linked instead of the real one.
#include <fmt/format.h>

#include "inject/codegen/codegen.hpp"
#include "inject/codegen/grids.hpp"

namespace egpu::inject {

void FunctionContext::require_version(std::uint32_t, std::uint32_t) {}

namespace {

std::string shares_text(const std::vector<Share>& shares) {
    std::string text;
    for (const Share& share : shares)
        text += fmt::format(" {} to map {} slot {} byte {}", share.factor, share.element.map, share.element.slot,
                            share.element.byte);
    return text;
}

}  // namespace

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
        if (!site.bytes_register.empty())
            text += fmt::format(" bytes {}{}:{}", site.bytes_negated ? "!" : "", site.bytes_register,
                                site.bytes_register_bits);
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
            if (accumulator.is_sum_of(element))
                text += " " + accumulator.register_name;
        }
    probe.text = text + ">\n";
    return probe;
}

std::string emit_accumulator_start(const FunctionContext& function) {
    std::string text = "\t<start";
    for (const auto& accumulator : function.accumulators)
        text += fmt::format(" {}={}{}", accumulator.register_name,
                            accumulator.counts_instructions ? "count:" : "sum:", shares_text(accumulator.shares));
    return text + ">\n";
}

EmittedProbe emit_lane_adds(FunctionContext&, const std::vector<Share>& amounts) {
    return {fmt::format("\t<each lane adds{}>\n", shares_text(amounts)), 1};
}

std::string emit_accumulator_flush(FunctionContext& function, bool) {
    return fmt::format("\t<flush {}>\n", function.accumulators.size());
}

std::string grid_declarations() {
    return "\t<declare the grid's thread>\n";
}

EmittedProbe emit_grid_arrival(FunctionContext&) {
    return {"\t<first of the grid?>\n", 1};
}

EmittedProbe emit_grid_arrived(FunctionContext&) {
    return {"\t<fence>\n", 1};
}

EmittedProbe emit_grid_departure(FunctionContext&) {
    return {"\t<last of the grid?>\n", 1};
}

}  // namespace egpu::inject

// SPDX-License-Identifier: Apache-2.0
// The latency of a load, from its issue to the moment its value is there.
//
//   before:  @%p1 ld.global.f32 %f1, [%rd1+4];
//   after:   {
//            setp.eq.b64 %egpu_site_ready, %rd1, 0;                      // waits for the address
//            @%egpu_site_ready mov.u64 %egpu_site_start, %clock64;
//            @!%egpu_site_ready mov.u64 %egpu_site_start, %clock64;
//            @%p1 ld.global.f32 %f1, [%rd1+4];
//            setp.eq.b32 %egpu_site_here, %f1, 0;                        // waits for the value
//            @%egpu_site_here mov.u64 %egpu_site_end, %clock64;
//            @!%egpu_site_here mov.u64 %egpu_site_end, %clock64;
//            sub.u64 %egpu_site_latency, %egpu_site_end, %egpu_site_start;
//            <programs>
//            }
// Why this form: a load is issued and the warp goes on until something needs the value, so two plain clock reads
// measure the issue. Here each clock read has a predicate that is made of the address, or of the value: one of the
// two reads is executed whichever way the predicate goes, and neither can be moved before the comparison that waits.
// A bit compare takes registers of any type of its size. What is measured includes that compare and select, about ten
// cycles; with a predicated load the lanes whose guard is false don't count.
#include <fmt/format.h>

#include "inject/rewrite/writer.hpp"

namespace egpu::inject {
namespace {

/// Two clock reads of which one is executed, after `predicate` is known.
std::string clock_after(std::string_view predicate, std::string_view to) {
    return fmt::format("\t@{0} mov.u64 {1}, %clock64;\n\t@!{0} mov.u64 {1}, %clock64;\n", predicate, to);
}

/// A register that the load writes: the first element of a vector that is no `_`.
std::string_view loaded_register(const ptx::Operand& value) {
    for (const ptx::Operand* part : with_parts(value))
        if (part->kind == ptx::Operand::Kind::identifier && part->text != "_")
            return part->text;
    return {};
}

bool overwrites(const ptx::Operand& value, std::string_view register_name) {
    for (const ptx::Operand* part : with_parts(value))
        if (part->kind == ptx::Operand::Kind::identifier && part->text == register_name)
            return true;
    return false;
}

struct Waiting {
    std::string text;
    std::uint32_t instructions = 0;
};

/// A compare that needs the register's value, for each size a register can have; "" where there is nothing to wait for.
Waiting wait_for(std::string_view name, std::uint32_t bits, std::string_view predicate) {
    switch (bits) {
        case 16:
        case 32:
        case 64:
            return {fmt::format("\tsetp.eq.b{} {}, {}, 0;\n", bits, predicate, name), 1};
        case 8:
            return {fmt::format("\tcvt.u16.u8 %egpu_site_narrow, {};\n\tsetp.eq.b16 {}, %egpu_site_narrow, 0;\n", name,
                                predicate),
                    2};
        case 128:
            return {fmt::format("\tmov.b128 {{%egpu_site_low, %egpu_site_high}}, {};\n"
                                "\tsetp.eq.b64 {}, %egpu_site_low, 0;\n",
                                name, predicate),
                    2};
        default:
            return {};
    }
}

std::string declarations(std::uint32_t value_bits) {
    std::string text =
        "\t.reg .pred %egpu_site_ready, %egpu_site_here;\n"
        "\t.reg .b64 %egpu_site_start, %egpu_site_end, %egpu_site_latency, %egpu_site_address;\n";
    if (value_bits == 8)
        text += "\t.reg .b16 %egpu_site_narrow;\n";
    if (value_bits == 128)
        text += "\t.reg .b64 %egpu_site_low, %egpu_site_high;\n";
    return text;
}

}  // namespace

TimedLoad time_load(const FunctionWriter& writer, const Firing& firing) {
    const auto& load = *firing.site.instruction;
    const std::size_t index = writer.index_of(load);
    const auto& value = load.operands[static_cast<std::size_t>(firing.site.access.value_operand)];
    const SiteBinding binding = bind_memory(writer, firing);
    const std::string_view loaded = loaded_register(value);
    const std::uint32_t value_bits = writer.outline().register_bits(loaded, index);

    TimedLoad timed;
    timed.latency = "%egpu_site_latency";
    timed.before = "{\n" + declarations(value_bits);
    const bool in_register = writer.outline().register_bits(binding.address_base, index) != 0;
    if (in_register && overwrites(value, binding.address_base)) {
        timed.address = "%egpu_site_address";
        timed.before += fmt::format("\t{} {}, {};\n", binding.address_bits == 32 ? "cvt.u64.u32" : "mov.b64",
                                    timed.address, binding.address_base);
        ++timed.instructions;
    }
    const auto address =
        in_register ? wait_for(binding.address_base, binding.address_bits, "%egpu_site_ready") : Waiting{};
    const auto arrived = wait_for(loaded, value_bits, "%egpu_site_here");
    const auto clock = [&](const Waiting& waiting, std::string_view predicate, std::string_view to) {
        timed.instructions += waiting.instructions + (waiting.text.empty() ? 1 : 2);
        return waiting.text.empty() ? fmt::format("\tmov.u64 {}, %clock64;\n", to)
                                    : waiting.text + clock_after(predicate, to);
    };
    timed.before += clock(address, "%egpu_site_ready", "%egpu_site_start") + "\t";
    timed.after = "\n" + clock(arrived, "%egpu_site_here", "%egpu_site_end") +
                  "\tsub.u64 %egpu_site_latency, %egpu_site_end, %egpu_site_start;\n";
    ++timed.instructions;
    return timed;
}

}  // namespace egpu::inject

// SPDX-License-Identifier: Apache-2.0
// The latency of a load or an atomic, from its issue to the moment its value is there.
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
//
//   before:  atom.global.add.u32 %r1, [%rd1], %r2;
//   after:   ...
//            setp.eq.b64 %egpu_site_ready, %rd1, 0;                      // waits for the address
//            setp.eq.and.b32 %egpu_site_ready, %r2, 0, %egpu_site_ready; // and for what is added
//            ...
// An atomic whose result nobody uses is compiled as a reduction where no program waits for it; with one it is measured
// as what it is written as.
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
/// `too`: what the predicate waited for before is waited for still.
Waiting wait_for(std::string_view name, std::uint32_t bits, std::string_view predicate, bool too = false) {
    const std::string also = too ? fmt::format(", {}", predicate) : std::string();
    const auto compare = [&](std::uint32_t size, std::string_view what) {
        return fmt::format("\tsetp.eq{}.b{} {}, {}, 0{};\n", too ? ".and" : "", size, predicate, what, also);
    };
    switch (bits) {
        case 16:
        case 32:
        case 64:
            return {compare(bits, name), 1};
        case 8:
            return {fmt::format("\tcvt.u16.u8 %egpu_site_narrow, {};\n", name) + compare(16, "%egpu_site_narrow"), 2};
        case 128:
            return {fmt::format("\tmov.b128 {{%egpu_site_low, %egpu_site_high}}, {};\n", name) +
                        compare(64, "%egpu_site_low"),
                    2};
        default:
            return {};
    }
}

/// What must be there before the access is issued: the address and, of an atomic, what it is done with.
Waiting wait_for_sources(const FunctionWriter& writer, const ptx::Instruction& instruction, const Firing& firing,
                         const SiteBinding& binding) {
    const std::size_t index = writer.index_of(instruction);
    Waiting all;
    const auto add = [&](std::string_view name, std::uint32_t bits) {
        const Waiting one = wait_for(name, bits, "%egpu_site_ready", !all.text.empty());
        all.text += one.text;
        all.instructions += one.instructions;
    };
    if (writer.outline().register_bits(binding.address_base, index) != 0)
        add(binding.address_base, binding.address_bits);
    if (firing.site.access.kind != ptx::AccessKind::atomic)
        return all;
    for (auto at = static_cast<std::size_t>(firing.site.access.address_operand) + 1; at < instruction.operands.size();
         ++at)
        for (const ptx::Operand* part : with_parts(instruction.operands[at]))
            if (const auto bits = writer.outline().register_bits(base_name(*part), index); bits > 1)
                add(base_name(*part), bits);
    return all;
}

std::string declarations(std::string_view text) {
    std::string result =
        "\t.reg .pred %egpu_site_ready, %egpu_site_here;\n"
        "\t.reg .b64 %egpu_site_start, %egpu_site_end, %egpu_site_latency, %egpu_site_address;\n";
    if (text.find("%egpu_site_narrow") != std::string_view::npos)
        result += "\t.reg .b16 %egpu_site_narrow;\n";
    if (text.find("%egpu_site_low") != std::string_view::npos)
        result += "\t.reg .b64 %egpu_site_low, %egpu_site_high;\n";
    return result;
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
    const auto address = wait_for_sources(writer, load, firing, binding);
    const auto arrived = wait_for(loaded, value_bits, "%egpu_site_here");
    timed.before = "{\n" + declarations(address.text + arrived.text);
    const bool in_register = writer.outline().register_bits(binding.address_base, index) != 0;
    if (in_register && overwrites(value, binding.address_base)) {
        timed.address = "%egpu_site_address";
        timed.before += fmt::format("\t{} {}, {};\n", binding.address_bits == 32 ? "cvt.u64.u32" : "mov.b64",
                                    timed.address, binding.address_base);
        ++timed.instructions;
    }
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

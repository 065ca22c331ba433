// SPDX-License-Identifier: Apache-2.0
// Programs at loads, stores and atomics run just before the instruction, for the lanes for which its guard is true.
//
//   before:  $L2: @%p1 st.f32 [%rd1+4], %f1;
//   after:   $L2: {                                       // the program asks for global memory only
//            add.s64 %egpu_site_at, %rd1, 4;
//            isspacep.global %egpu_site_in, %egpu_site_at;
//            and.pred %egpu_site_in, %egpu_site_in, %p1;
//            <program, guarded by %egpu_site_in>
//            }
//            @%p1 st.f32 [%rd1+4], %f1;
// The text stands behind a label of the instruction, so it runs on every way to it. The test is there only for generic
// addresses whose space the function doesn't show (inject/match/spaces.hpp).
//
//   before:  ld.const.f32 %f1, [%rd1];                    // %rd1 points into `table`, which the copy has itself
//   after:   {                                            // where the program reads the address
//            mov.u64 %egpu_site_original, table;
//            sub.s64 %egpu_site_original, %rd1, %egpu_site_original;
//            add.s64 %egpu_site_original, %egpu_site_original, %egpu_g0;
//            <program>
//            }
//            ld.const.f32 %f1, [%rd1];
#include <fmt/format.h>

#include "inject/rewrite/tensor_maps.hpp"
#include "inject/rewrite/writer.hpp"

namespace egpu::inject {
namespace {

using ptx::AccessSpace;

/// isspacep, PTX ISA 9.7.9.21. From sm_90 the shared memory of the whole cluster is shared memory.
std::string in_space(const FunctionWriter& writer, AccessSpace space, std::string_view to) {
    const char* name = space == AccessSpace::global       ? "global"
                       : space == AccessSpace::local      ? "local"
                       : writer.request().target.sm >= 90 ? "shared::cluster"
                                                          : "shared";
    return fmt::format("\tisspacep.{} {}, %egpu_site_at;\n", name, to);
}

std::string address_text(const SiteBinding& binding) {
    if (binding.address_offset == 0)
        return fmt::format("\tmov.b64 %egpu_site_at, {};\n", binding.address_base);
    return fmt::format("\tadd.s64 %egpu_site_at, {}, {};\n", binding.address_base, binding.address_offset);
}

/// Wraps a firing that needs a test of its address; the binding's guard becomes the test's result.
struct Wrapped {
    std::string before, after;
    std::uint32_t instructions = 0;
};

Wrapped wrap_with_test(FunctionWriter& writer, const SpaceTest& test, SiteBinding& binding) {
    Wrapped wrapped;
    if (test.kind == SpaceTest::Kind::always)
        return wrapped;
    std::string text = "{\n\t.reg .pred %egpu_site_in, %egpu_site_other;\n\t.reg .b64 %egpu_site_at;\n";
    text += address_text(binding);
    wrapped.instructions = 2;
    if (test.kind == SpaceTest::Kind::in_space) {
        text += in_space(writer, test.space, "%egpu_site_in");
    } else {
        text += in_space(writer, AccessSpace::global, "%egpu_site_in");
        for (const auto space : {AccessSpace::shared, AccessSpace::local})
            text += in_space(writer, space, "%egpu_site_other") +
                    "\tor.pred %egpu_site_in, %egpu_site_in, %egpu_site_other;\n";
        text += "\tnot.pred %egpu_site_in, %egpu_site_in;\n";
        wrapped.instructions += 5;
    }
    if (!binding.guard.empty() && binding.guard_negated) {
        text += fmt::format("\tnot.pred %egpu_site_other, {};\n", binding.guard);
        binding.guard = "%egpu_site_other";
        ++wrapped.instructions;
    }
    if (!binding.guard.empty()) {
        text += fmt::format("\tand.pred %egpu_site_in, %egpu_site_in, {};\n", binding.guard);
        ++wrapped.instructions;
    }
    binding.guard = "%egpu_site_in";
    binding.guard_negated = false;
    wrapped.before = std::move(text);
    wrapped.after = "}\n";
    return wrapped;
}

Result<std::string> firing_text(FunctionWriter& writer, const Firing& firing, SiteBinding binding) {
    const Wrapped wrapped = wrap_with_test(writer, firing.test, binding);
    auto probe = writer.emit(firing, std::move(binding));
    if (!probe || probe->empty())
        return probe;
    writer.count(wrapped.instructions);
    return wrapped.before + *probe + wrapped.after;
}

constexpr std::string_view kOriginalsAddress = "%egpu_site_original";

/// The register points into a constant of the copy's own: programs get the address of the same byte of the original's.
/// "" where it doesn't.
std::string original_address(const FunctionWriter& writer, std::string_view register_name) {
    if (!writer.request().banked_constant)
        return {};
    const std::string_view symbol = writer.request().banked_constant(writer.function(), register_name);
    if (symbol.empty())
        return {};
    return fmt::format("\tmov.u64 {0}, {1};\n\tsub.s64 {0}, {2}, {0};\n\tadd.s64 {0}, {0}, {3};\n", kOriginalsAddress,
                       symbol, register_name, writer.request().address_register(writer.function(), symbol));
}

/// The text of a firing at a load through such a register; without an address in it, it needs none.
std::string with_original_address(FunctionWriter& writer, const std::string& address, std::string text) {
    if (text.find(kOriginalsAddress) == std::string::npos)
        return text;
    writer.count(3);
    return fmt::format("{{\n\t.reg .b64 {};\n{}{}}}\n", kOriginalsAddress, address, text);
}

}  // namespace

Result<std::string> memory_text(FunctionWriter& writer, const Firing& firing, std::string_view base,
                                std::string_view latency) {
    SiteBinding binding = bind_memory(writer, firing, base);
    binding.latency = std::string(latency);
    const std::string original = original_address(writer, binding.address_base);
    if (!original.empty())
        binding.address_base = kOriginalsAddress;
    auto text = firing_text(writer, firing, std::move(binding));
    if (text && !original.empty())
        *text = with_original_address(writer, original, std::move(*text));
    if (text && copies_through_tensor_map(firing))
        *text = with_tensor_bytes(writer, firing, std::move(*text));
    return text;
}

namespace {

void bind_bytes(const FunctionWriter& writer, const Firing& firing, SiteBinding& binding) {
    const auto& access = firing.site.access;
    binding.bytes_per_lane = access.bytes_per_lane();
    if (access.bytes != ptx::MemoryAccess::Bytes::at_run_time)
        return;
    if (copies_through_tensor_map(firing)) {
        binding.bytes_register = std::string(kTensorBytes);
        return;
    }
    const auto& operand = firing.site.instruction->operands[static_cast<std::size_t>(access.bytes_operand)];
    binding.bytes_register = std::string(operand.text);
    binding.bytes_negated = operand.negated;
    binding.bytes_register_bits =
        writer.outline().register_bits(operand.text, writer.index_of(*firing.site.instruction));
}

void bind_address(const FunctionWriter& writer, const ptx::Operand& address, std::size_t index, SiteBinding& binding) {
    binding.address_base = std::string(address.base);
    binding.address_offset = address.integer;
    if (writer.outline().register_bits(address.base, index) == 32)
        binding.address_bits = 32;
    if (writer.outline().meaning_of(address.base, index).kind != Meaning::Kind::module_variable ||
        !writer.request().address_register)
        return;
    const std::string held = writer.request().address_register(writer.function(), address.base);
    if (!held.empty())
        binding.address_base = held;
}

}  // namespace

SiteBinding bind_memory(const FunctionWriter& writer, const Firing& firing, std::string_view base) {
    const auto& instruction = *firing.site.instruction;
    const auto& access = firing.site.access;
    const std::size_t index = writer.index_of(instruction);
    SiteBinding binding = guarded_binding(firing.site);
    binding.space = firing.space;
    binding.access = to_access(access);
    bind_bytes(writer, firing, binding);
    if (access.address_operand >= 0)
        bind_address(writer, instruction.operands[static_cast<std::size_t>(access.address_operand)], index, binding);
    if (!base.empty()) {
        binding.address_base = std::string(base);
        binding.address_bits = 64;
    }
    const auto event = writer.request().programs[firing.program].program->point.event;
    const bool moves_known_value = access.kind == ptx::AccessKind::load || access.kind == ptx::AccessKind::store ||
                                   event == ebpf::Event::atomic_return;
    if (access.value_operand >= 0 && moves_known_value && !access.type.empty()) {
        const auto& value = instruction.operands[static_cast<std::size_t>(access.value_operand)];
        if (value.kind == ptx::Operand::Kind::vector)
            for (const auto& part : value.parts)
                binding.values.emplace_back(part.text);
        else
            binding.values.emplace_back(value.text);
        binding.value_type = std::string(access.type);
        for (const ptx::Operand* part : with_parts(value))
            if (const auto bits = writer.outline().register_bits(base_name(*part), index);
                bits > access.element_bytes * 8)
                binding.value_register_bits = bits;
    }
    return binding;
}

}  // namespace egpu::inject

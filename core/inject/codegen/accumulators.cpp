// SPDX-License-Identifier: Apache-2.0
// Sums that stay in registers from a function's start to its exits.
//
//   before:   ret;
//   after:    {
//             .reg .pred %egpu_p<1>; ...
//             setp.ne.s64 %egpu_p0, %egpu_acc0, 0;
//             @%egpu_p0 red.relaxed.gpu.global.add.u64 [%egpu_d0+8], %egpu_acc0;
//             }
//             ret;
// ptxas aggregates the lanes of a warp that add to one address by itself.
#include "inject/codegen/addresses.hpp"
#include "inject/codegen/codegen.hpp"

namespace egpu::inject {

std::string emit_accumulator_start(const FunctionContext& function) {
    std::string text;
    for (const auto& accumulator : function.accumulators)
        text += fmt::format("\t.reg .b64 {};\n", accumulator.register_name);
    for (const auto& accumulator : function.accumulators)
        text += fmt::format("\tmov.u64 {}, 0;\n", accumulator.register_name);
    return text;
}

std::string emit_accumulator_flush(FunctionContext& function, bool keep_running) {
    if (function.accumulators.empty())
        return {};
    Registers registers;
    ElementAddresses addresses(function, registers);
    Statements adds;
    const bool scoped = function.target.sm >= 70;
    for (const auto& accumulator : function.accumulators) {
        const auto& element = accumulator.element;
        const std::string base = addresses.base_of(element.map, element.slot);
        const std::string any = registers.predicate();
        adds.add(fmt::format("setp.ne.s64 {}, {}, 0", any, accumulator.register_name));
        adds.add(fmt::format("@{} red{}.add.u64 [{}+{}], {}", any, scoped ? ".relaxed.gpu.global" : ".global", base,
                             element.byte, accumulator.register_name));
        if (keep_running)
            adds.add(fmt::format("mov.u64 {}, 0", accumulator.register_name));
    }
    if (scoped && std::pair(function.required.ptx_major, function.required.ptx_minor) < std::pair(6u, 0u)) {
        function.required.ptx_major = 6;
        function.required.ptx_minor = 0;
    }
    return "\t{\n" + registers.declarations() + addresses.statements().text() + adds.text() + "\t}\n";
}

}  // namespace egpu::inject

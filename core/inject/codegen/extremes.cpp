// SPDX-License-Identifier: Apache-2.0
// egpu_min and egpu_max: the smaller or larger of a word in a map and a number (PTX ISA 9.7.13.13 atom, 9.7.13.14 red).
//
//   egpu_max(&value->most, n)      red.relaxed.gpu.global.max.u64 [%egpu_d0+8], %egpu_r2;
//   the same, its result used      atom.relaxed.gpu.global.max.u64 %egpu_r0, [%egpu_d0+8], %egpu_r2;
//   egpu_min(&value->least, n)     atom.relaxed.gpu.global.cas.b64 %egpu_d1, [%egpu_d0], 0, %egpu_r2;
//                                  setp.ne.u64 %egpu_p0, %egpu_d1, 0;          a word of 0 took the number
//                                  setp.ne.and.u64 %egpu_p0, %egpu_r2, 0, %egpu_p0;
//                                  @%egpu_p0 red.relaxed.gpu.global.min.u64 [%egpu_d0], %egpu_r2;
// Map values begin as zeroes, so a smallest number needs a word for "none yet", and 0 is it. Once a word is not 0 it
// never is again, since no number 0 gets there: the two operations need not be one.
#include "ebpf/isa/semantics.hpp"
#include "inject/codegen/emitter.hpp"

namespace egpu::inject {

using namespace ebpf;

void Emitter::extreme(std::uint32_t at, bool smallest, const std::string& result) {
    const InstructionFacts& facts = program_.facts[at];
    const auto bytes = static_cast<std::uint32_t>(facts.arguments[2].constant);
    const Value& number = facts.arguments[1];
    const bool narrow = bytes == 4;
    const std::string operand = narrow ? operand32(at, 2, number) : operand64(at, 2, number);
    const std::string address = place_of(at, facts.arguments[0], 1, 0, bytes).address;
    const char* scope = has_scoped_atomics() ? ".relaxed.gpu.global" : ".global";
    if (has_scoped_atomics())
        require_version(6, 0);
    const std::string old = narrow ? registers_.b32() : result;
    if (!smallest && !facts.result_needed) {
        effect(fmt::format("red{}.max.u{} [{}], {}", scope, bytes * 8, address, operand));
        return;
    }
    if (smallest) {
        const std::string both = registers_.predicate();
        effect(fmt::format("atom{}.cas.b{} {}, [{}], 0, {}", scope, bytes * 8, old, address, operand));
        emit(fmt::format("setp.ne.u{} {}, {}, 0", bytes * 8, both, old));
        if (!number.is_constant())
            emit(fmt::format("setp.ne.and.u{} {}, {}, 0, {}", bytes * 8, both, operand, both));
        if (!number.is_constant() || truncated(number.constant, bytes) != 0)
            effect_if(both, fmt::format("red{}.min.u{} [{}], {}", scope, bytes * 8, address, operand));
    } else {
        effect(fmt::format("atom{}.max.u{} {}, [{}], {}", scope, bytes * 8, old, address, operand));
    }
    if (narrow && facts.result_needed)
        emit(fmt::format("cvt.u64.u32 {}, {}", result, old));
}

}  // namespace egpu::inject

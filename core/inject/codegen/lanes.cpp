// SPDX-License-Identifier: Apache-2.0
// Sum, smallest and largest of a number over the lanes that fire together: those of the mask taken before the body. The
// verifier has shown that all of them come to the call (EGPU-V025), so that naming them waits for none in vain.
//
//   sm_80, sum:     redux.sync.add.u32 of 27 bits at a time: 32 numbers of 27 bits fit 32 bits
//   sm_80, largest: redux.sync.max.u32 %egpu_w2, %egpu_w1, %egpu_w0;    of the high halves
//                   setp.eq.u32 ...; selp.b32 ...                       low halves of those that have it
//                   redux.sync.max.u32 ...
//   below sm_80:    brev.b32, clz.b32                                   the lowest lane, and for each the next one
//        $egpu_0:   shfl.sync.idx.b32 ...; @%egpu_p0 add.s64 ...        takes what the next one knows
//                   @%egpu_p1 bra $egpu_0;                              five rounds at most
//                   shfl.sync.idx.b32 ...                               the lowest lane has it all
// Lanes at the site that do not fire are not of the mask, and must not come to an instruction that names it.
#include "inject/codegen/emitter.hpp"

#include "ebpf/helpers/helpers.hpp"

namespace egpu::inject {

using namespace ebpf;

/// Fields that the verifier takes to be the same for all lanes and that are a lane's own at this site: a generic
/// address may lie in different spaces. A branch on such a one could keep lanes from the call.
bool Emitter::lanes_may_differ(std::uint32_t at, std::string_view helper) {
    if (program_.fields_read.count("space") == 0)
        return false;
    refuse(at, "EGPU-P229",
           fmt::format("the program calls {}, and reads ctx->space at a generic address, which may be another for each "
                       "lane",
                       helper),
           "name the space in the program's section: gpu/load.global");
    return true;
}

void Emitter::over_lanes(std::uint32_t at, const std::string& result) {
    const InstructionFacts& facts = program_.facts[at];
    if (facts.destination_after.is_constant()) {
        emit(fmt::format("mov.u64 {}, {}", result, literal64(facts.destination_after.constant)));
        return;
    }
    const Helper* called = called_helper(program_.instructions[at]);
    if (lanes_may_differ(at, called->name))
        return;
    const bool sums = called->id == HelperId::lanes_sum, smallest = called->id == HelperId::lanes_min;
    if (facts.arguments[0].is_constant()) {
        const std::string count = registers_.b32(), wide = registers_.b64();
        emit(fmt::format("popc.b32 {}, {}", count, mask_));
        emit(fmt::format("cvt.u64.u32 {}, {}", wide, count));
        emit(fmt::format("mul.lo.s64 {}, {}, {}", result, wide, literal64(facts.arguments[0].constant)));
        return;
    }
    const std::string value = in_register(at, 1, facts.arguments[0]);
    if (function_.target.sm < 80) {
        require_version(6, 0);
        combine_by_shuffle(value, sums ? "add.s64" : smallest ? "min.u64" : "max.u64", result);
        return;
    }
    require_version(7, 0);
    if (sums)
        sum_by_redux(value, result);
    else
        extreme_by_redux(value, smallest, result);
}

void Emitter::sum_by_redux(const std::string& value, const std::string& result) {
    constexpr std::uint32_t kBits = 27;
    const std::string total = registers_.b64();
    for (std::uint32_t part = 0; part * kBits < 64; ++part) {
        const std::string bits = registers_.b64(), own = registers_.b32(), sum = registers_.b32();
        emit(fmt::format("shr.u64 {}, {}, {}", bits, value, part * kBits));
        emit(fmt::format("cvt.u32.u64 {}, {}", own, bits));
        emit(fmt::format("and.b32 {}, {}, {:#x}", own, own, (1u << kBits) - 1));
        effect(fmt::format("redux.sync.add.u32 {}, {}, {}", sum, own, mask_));
        const std::string wide = part == 0 ? total : registers_.b64();
        emit(fmt::format("cvt.u64.u32 {}, {}", wide, sum));
        if (part == 0)
            continue;
        emit(fmt::format("shl.b64 {}, {}, {}", wide, wide, part * kBits));
        emit(fmt::format("add.s64 {}, {}, {}", total, total, wide));
    }
    emit(fmt::format("mov.b64 {}, {}", result, total));
}

/// The high halves first; then the low ones of those lanes whose high half it is.
void Emitter::extreme_by_redux(const std::string& value, bool smallest, const std::string& result) {
    const char* operation = smallest ? "min" : "max";
    const std::string low = registers_.b32(), high = registers_.b32(), top = registers_.b32(), rest = registers_.b32();
    const std::string has_top = registers_.predicate();
    emit(fmt::format("mov.b64 {{{}, {}}}, {}", low, high, value));
    effect(fmt::format("redux.sync.{}.u32 {}, {}, {}", operation, top, high, mask_));
    emit(fmt::format("setp.eq.u32 {}, {}, {}", has_top, high, top));
    emit(fmt::format("selp.b32 {}, {}, {}, {}", low, low, smallest ? "0xffffffff" : "0", has_top));
    effect(fmt::format("redux.sync.{}.u32 {}, {}, {}", operation, rest, low, mask_));
    emit(fmt::format("mov.b64 {}, {{{}, {}}}", result, rest, top));
}

/// A 64-bit value of another lane of the mask.
std::string Emitter::from_lane(const std::string& value, const std::string& lane) {
    const std::string low = registers_.b32(), high = registers_.b32();
    std::string other = registers_.b64();
    emit(fmt::format("mov.b64 {{{}, {}}}, {}", low, high, value));
    effect(fmt::format("shfl.sync.idx.b32 {}, {}, {}, 31, {}", low, low, lane, mask_));
    effect(fmt::format("shfl.sync.idx.b32 {}, {}, {}, 31, {}", high, high, lane, mask_));
    emit(fmt::format("mov.b64 {}, {{{}, {}}}", other, low, high));
    return other;
}

/// A lane that knows the result of itself and the next n - 1 lanes of the mask takes that of the n behind them. The
/// count of rounds is the same for all lanes at the site, whether they fire or not.
void Emitter::combine_by_shuffle(const std::string& value, const char* operation, const std::string& result) {
    const std::string lowest = registers_.b32(), next = registers_.b32(), count = registers_.b32();
    const std::string reach = registers_.b32(), from = registers_.b32(), beyond = registers_.b32();
    const std::string exists = registers_.predicate(), more = registers_.predicate();
    const std::string sum = registers_.b64(), loop = fmt::format("$egpu_{}", function_.next_label++);
    emit(fmt::format("mov.b64 {}, {}", sum, value));
    emit(fmt::format("popc.b32 {}, {}", count, mask_));
    emit(fmt::format("brev.b32 {}, {}", lowest, mask_));
    emit(fmt::format("clz.b32 {}, {}", lowest, lowest));
    // The next lane of the mask; 32: none (clz of 0).
    emit(fmt::format("mov.u32 {}, %lanemask_gt", next));
    emit(fmt::format("and.b32 {}, {}, {}", next, next, mask_));
    emit(fmt::format("brev.b32 {}, {}", next, next));
    emit(fmt::format("clz.b32 {}, {}", next, next));
    emit(fmt::format("mov.u32 {}, 1", reach));
    body_.label(loop);
    emit(fmt::format("setp.lt.u32 {}, {}, 32", exists, next));
    emit(fmt::format("selp.b32 {}, {}, {}, {}", from, next, lowest, exists));
    const std::string other = from_lane(sum, from);
    emit(fmt::format("@{} {} {}, {}, {}", exists, operation, sum, sum, other));
    effect(fmt::format("shfl.sync.idx.b32 {}, {}, {}, 31, {}", beyond, next, from, mask_));
    emit(fmt::format("selp.b32 {}, {}, 32, {}", next, beyond, exists));
    emit(fmt::format("shl.b32 {}, {}, 1", reach, reach));
    emit(fmt::format("setp.lt.u32 {}, {}, {}", more, reach, count));
    emit(fmt::format("@{} bra {}", more, loop));
    emit(fmt::format("mov.b64 {}, {}", result, from_lane(sum, lowest)));
}

}  // namespace egpu::inject

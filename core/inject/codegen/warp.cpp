// SPDX-License-Identifier: Apache-2.0
// What the lanes of a warp find out together before one of them runs the program: who is there, who leads, how many
// sectors they touch. "There" are the lanes that execute the site at the same time and whose guard is true; lanes are
// never waited for.
//
//   @%p1 ld.global.f32 %f1, [%rd1];       activemask.b32 %egpu_w0;
//                                         vote.sync.ballot.b32 %egpu_w1, %p1, %egpu_w0;     lanes of the site
//                                         mov.u32 %egpu_w2, %lanemask_lt;
//                                         and.b32 %egpu_w3, %egpu_w1, %egpu_w2;
//                                         setp.eq.and.u32 %egpu_p0, %egpu_w3, 0, %p1;       the lowest leads
#include "inject/codegen/emitter.hpp"

namespace egpu::inject {

using ebpf::Granularity;
using ebpf::Space;

void Emitter::gather() {
    const bool is_warp = site_.granularity == Granularity::warp;
    const auto reads = [&](const char* name) { return program_.fields_read.count(name) != 0; };
    const bool adds_bytes = is_warp && reads("bytes");
    const bool counts_lanes = reads("active_lanes") || (adds_bytes && site_.bytes_register.empty());
    const bool counts_sectors = is_warp && reads("sectors");
    if (!is_warp && !reads("active_mask") && !counts_lanes) {
        if (reads("sectors"))
            sectors_ = count_sectors({});
        return;
    }
    const std::string active = registers_.b32();
    require_version(6, 2);
    emit(fmt::format("activemask.b32 {}", active));
    mask_ = active;
    if (!site_.guard.empty()) {
        mask_ = registers_.b32();
        emit(fmt::format("vote.sync.ballot.b32 {}, {}{}, {}", mask_, site_.guard_negated ? "!" : "", site_.guard,
                         active));
    }
    if (counts_lanes) {
        lanes_ = registers_.b32();
        emit(fmt::format("popc.b32 {}, {}", lanes_, mask_));
    }
    if (adds_bytes) {
        bytes_ = registers_.b32();
        if (site_.bytes_register.empty())
            emit(fmt::format("mul.lo.s32 {}, {}, {}", bytes_, lanes_, site_.bytes_per_lane));
        else
            add_up_bytes();
    }
    if (counts_sectors || reads("sectors"))
        sectors_ = count_sectors(is_warp ? mask_ : std::string());
    if (is_warp)
        elect(mask_);
}

/// The lanes of `mask_` have sizes of their own. Asynchronous copies are of sm_80 and later, and so is redux.sync.
void Emitter::add_up_bytes() {
    const std::string wide = bytes_per_lane(), own = registers_.b32();
    emit(fmt::format("cvt.u32.u64 {}, {}", own, wide));
    const std::string guard =
        site_.guard.empty() ? std::string() : fmt::format("@{}{} ", site_.guard_negated ? "!" : "", site_.guard);
    require_version(7, 0);
    emit(fmt::format("{}redux.sync.add.u32 {}, {}, {}", guard, bytes_, own, mask_));
}

void Emitter::elect(const std::string& guarded_mask) {
    const std::string below = registers_.b32();
    leader_ = registers_.predicate();
    emit(fmt::format("mov.u32 {}, %lanemask_lt", below));
    emit(fmt::format("and.b32 {}, {}, {}", below, below, guarded_mask));
    if (site_.guard.empty())
        emit(fmt::format("setp.eq.u32 {}, {}, 0", leader_, below));
    else
        emit(fmt::format("setp.eq.and.u32 {}, {}, 0, {}{}", leader_, below, site_.guard_negated ? "!" : "",
                         site_.guard));
}

/// Lanes of `mask` where `predicate` holds; `in_mask` becomes the predicate of being one of them.
std::string Emitter::lanes_where(const std::string& predicate, const std::string& mask, std::string& in_mask) {
    const std::string both = registers_.predicate();
    if (in_mask.empty())
        emit(fmt::format("mov.pred {}, {}", both, predicate));
    else
        emit(fmt::format("and.pred {}, {}, {}", both, predicate, in_mask));
    const std::string lanes = registers_.b32();
    const std::string all = in_mask.empty() ? mask : registers_.b32();
    // Every lane at the site votes, guarded off or not: the vote names the lanes that are here.
    if (!in_mask.empty())
        emit(fmt::format("activemask.b32 {}", all));
    emit(fmt::format("vote.sync.ballot.b32 {}, {}, {}", lanes, both, all));
    in_mask = both;
    return lanes;
}

/// Distinct 32-byte sectors of a request. PTX accesses are aligned to their size (PTX ISA 6.4.1.1), so one lane's
/// access of up to 32 bytes lies in one sector. Shared and constant memory have none.
std::string Emitter::count_sectors(const std::string& mask) {
    const Space space = site_.space.value_or(Space::generic);
    if (space == Space::shared || space == Space::constant)
        return {};
    if (mask.empty()) {
        const std::string one = registers_.b32();
        emit(fmt::format("mov.u32 {}, 1", one));
        return one;
    }
    std::string here;  // predicate: this lane is in `mask`; "": all are
    if (!site_.guard.empty()) {
        here = registers_.predicate();
        emit(fmt::format("{} {}, {}", site_.guard_negated ? "not.pred" : "mov.pred", here, site_.guard));
    }
    const std::string at = address();
    const std::string key = registers_.b64();
    if (space == Space::global) {
        emit(fmt::format("shr.u64 {}, {}, 5", key, at));
        return distinct(key, mask, here);
    }
    const std::uint32_t words = site_.bytes_per_lane > 4 ? site_.bytes_per_lane / 4 : 1;
    if (space == Space::local) {
        const std::string count = distinct(local_sector_key(at), mask, here);
        emit(fmt::format("mul.lo.s32 {}, {}, {}", count, count, words));
        return count;
    }
    // A generic address: lanes in global and in local memory, each by its own rule.
    const std::string in_shared = registers_.predicate();
    const std::string in_local = registers_.predicate();
    const std::string in_global = registers_.predicate();
    emit(fmt::format("isspacep.shared {}, {}", in_shared, at));
    emit(fmt::format("isspacep.local {}, {}", in_local, at));
    emit(fmt::format("or.pred {}, {}, {}", in_global, in_shared, in_local));
    emit(fmt::format("not.pred {}, {}", in_global, in_global));
    std::string global_here = here;
    std::string local_here = here;
    const std::string global_mask = lanes_where(in_global, mask, global_here);
    const std::string local_mask = lanes_where(in_local, mask, local_here);
    emit(fmt::format("shr.u64 {}, {}, 5", key, at));
    const std::string global_count = distinct(key, global_mask, global_here);
    const std::string local_count = distinct(local_sector_key(at), local_mask, local_here);
    emit(fmt::format("mad.lo.s32 {}, {}, {}, {}", global_count, local_count, words, global_count));
    return global_count;
}

/// Local memory lies so that one 4-byte word of neighbouring lanes is neighbouring (CUDA C++ programming guide, device
/// memory accesses): 8 lanes share a sector. The key of a lane's first word; a wider access touches as many sectors
/// again for each further word.
std::string Emitter::local_sector_key(const std::string& address) {
    const std::string key = registers_.b64();
    const std::string lane = registers_.b32();
    const std::string group = registers_.b64();
    emit(fmt::format("mov.u32 {}, %laneid", lane));
    emit(fmt::format("shr.u32 {}, {}, 3", lane, lane));
    emit(fmt::format("cvt.u64.u32 {}, {}", group, lane));
    emit(fmt::format("shr.u64 {}, {}, 2", key, address));
    emit(fmt::format("shl.b64 {}, {}, 2", key, key));
    emit(fmt::format("add.s64 {}, {}, {}", key, key, group));
    return key;
}

/// How many different keys the lanes of `mask` have, in a 32-bit register of each of them.
std::string Emitter::distinct(const std::string& key, const std::string& mask, const std::string& in_mask) {
    return function_.target.sm >= 70 ? distinct_by_match(key, mask, in_mask) : distinct_by_shuffle(key, mask, in_mask);
}

/// match.any gives each lane those with its key (PTX ISA 9.7.13.11, sm_70); the lowest of each group counts.
std::string Emitter::distinct_by_match(const std::string& key, const std::string& mask, const std::string& in_mask) {
    const std::string same = registers_.b32();
    const std::string below = registers_.b32();
    const std::string first = registers_.predicate();
    const std::string count = registers_.b32();
    const std::string guard = in_mask.empty() ? std::string() : fmt::format("@{} ", in_mask);
    if (!in_mask.empty())
        emit(fmt::format("mov.u32 {}, 0", count));
    emit(fmt::format("{}match.any.sync.b64 {}, {}, {}", guard, same, key, mask));
    emit(fmt::format("mov.u32 {}, %lanemask_lt", below));
    emit(fmt::format("{}and.b32 {}, {}, {}", guard, below, below, same));
    emit(fmt::format("setp.eq.u32 {}, {}, 0", first, below));
    emit(fmt::format("{}vote.sync.ballot.b32 {}, {}, {}", guard, count, first, mask));
    emit(fmt::format("popc.b32 {}, {}", count, count));
    return count;
}

/// Below sm_70: one round for each different key, with the key of the lowest lane not yet counted. All lanes of the
/// mask take the same number of rounds, so the loop keeps them together.
std::string Emitter::distinct_by_shuffle(const std::string& key, const std::string& mask, const std::string& in_mask) {
    const std::string loop = fmt::format("$egpu_{}", function_.next_label++);
    const std::string done = fmt::format("$egpu_{}", function_.next_label++);
    const std::string count = registers_.b32(), left = registers_.b32(), lane = registers_.b32();
    const std::string low = registers_.b32(), high = registers_.b32();
    const std::string other_low = registers_.b32(), other_high = registers_.b32(), same = registers_.b32();
    const std::string other = registers_.b64();
    const std::string equal = registers_.predicate(), more = registers_.predicate();
    emit(fmt::format("mov.u32 {}, 0", count));
    emit(fmt::format("mov.u32 {}, {}", left, mask));
    emit(fmt::format("mov.b64 {{{}, {}}}, {}", low, high, key));
    if (!in_mask.empty())
        emit(fmt::format("@!{} bra {}", in_mask, done));
    body_.label(loop);
    emit(fmt::format("brev.b32 {}, {}", lane, left));
    emit(fmt::format("clz.b32 {}, {}", lane, lane));
    emit(fmt::format("shfl.sync.idx.b32 {}, {}, {}, 31, {}", other_low, low, lane, mask));
    emit(fmt::format("shfl.sync.idx.b32 {}, {}, {}, 31, {}", other_high, high, lane, mask));
    emit(fmt::format("mov.b64 {}, {{{}, {}}}", other, other_low, other_high));
    emit(fmt::format("setp.eq.s64 {}, {}, {}", equal, other, key));
    emit(fmt::format("vote.sync.ballot.b32 {}, {}, {}", same, equal, mask));
    emit(fmt::format("not.b32 {}, {}", same, same));
    emit(fmt::format("and.b32 {}, {}, {}", left, left, same));
    emit(fmt::format("add.s32 {}, {}, 1", count, count));
    emit(fmt::format("setp.ne.u32 {}, {}, 0", more, left));
    emit(fmt::format("@{} bra {}", more, loop));
    body_.label(done);
    return count;
}

}  // namespace egpu::inject

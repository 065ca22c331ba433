// SPDX-License-Identifier: Apache-2.0
//   shard 0 only:      ld.const.u64 %egpu_d0, [egpu_table+8];
//   128 shards:        ld.const.u64 %egpu_d0, [egpu_table+8];
//                      mov.u32 %egpu_w0, %smid;
//                      and.b32 %egpu_w0, %egpu_w0, 127;
//                      mul.wide.u32 %egpu_d1, %egpu_w0, 1024;
//                      add.s64 %egpu_d0, %egpu_d0, %egpu_d1;
//   100 shards:        mul.hi.u32 %egpu_w1, %egpu_w0, 42949673;      the quotient: ptxas divides for a rem
//                      mad.lo.s32 %egpu_w0, %egpu_w1, -100, %egpu_w0;
#include "inject/codegen/addresses.hpp"

#include <bit>

namespace egpu::inject {

/// What this SM's shard is away from shard 0. Any shard would do, a reader sums over all: %smid spreads contention.
std::string ElementAddresses::shard_offset(const maps::Layout& layout) {
    auto& wide = shard_offsets_[{layout.shards, layout.shard_distance()}];
    if (!wide.empty())
        return wide;
    wide = registers_.b64();
    const std::string sm = registers_.b32();
    statements_.add(fmt::format("mov.u32 {}, %smid", sm));
    if (std::has_single_bit(layout.shards)) {
        statements_.add(fmt::format("and.b32 {}, {}, {}", sm, sm, layout.shards - 1));
    } else {
        // Right for %smid * shards < 2^32: the rounded-up reciprocal is less than `shards` / 2^32 too large.
        const std::string quotient = registers_.b32();
        const std::uint64_t reciprocal = ((std::uint64_t{1} << 32) + layout.shards - 1) / layout.shards;
        statements_.add(fmt::format("mul.hi.u32 {}, {}, {}", quotient, sm, reciprocal));
        statements_.add(fmt::format("mad.lo.s32 {}, {}, -{}, {}", sm, quotient, layout.shards, sm));
    }
    statements_.add(fmt::format("mul.wide.u32 {}, {}, {}", wide, sm, layout.shard_distance()));
    return wide;
}

std::string ElementAddresses::base_of(std::uint32_t map, std::uint32_t slot) {
    auto& base = bases_[{map, slot}];
    if (!base.empty())
        return base;
    base = registers_.b64();
    const auto& layout = (*function_.layouts)[map];
    TableEntry entry;
    entry.map = map;
    entry.slot = slot;
    statements_.add(fmt::format("ld.const.u64 {}, [{}+{}]", base, Table::kSymbol, function_.table->offset_of(entry)));
    if (layout.is_sharded()) {
        const std::string shard = shard_offset(layout);
        statements_.add(fmt::format("add.s64 {}, {}, {}", base, base, shard));
    }
    return base;
}

}  // namespace egpu::inject

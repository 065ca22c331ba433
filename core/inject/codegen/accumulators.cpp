// SPDX-License-Identifier: Apache-2.0
// Counts that stay in registers from a function's start to its exits, and counts of a place that need none.
//
//   before:   ret;
//   after:    {
//             activemask.b32 %egpu_w0;                             who leaves here
//             redux.sync.add.u32 ...                               sm_80: the sum of 27 bits at a time
//             @%egpu_p0 red.relaxed.gpu.global.add.u64 ...         lane i adds to element i (lane_adds.cpp)
//             }
//             ret;
//   below sm_80:
//             shfl.sync.idx ... the leader's sums; vote.sync.all   all the same?
//             @%egpu_p1 bra $egpu_1;
//   $egpu_0:  each lane adds the sums of the next lane that it knows; five rounds at most
//             @%egpu_p2 bra $egpu_0;
//   $egpu_1:
// 32 lanes that add to one address one after the other cost more than anything else that a probe does: on an H200 a
// vector addition of 65 us took 4,860 us with a red by each thread at its exit.
#include "inject/codegen/addresses.hpp"
#include "inject/codegen/codegen.hpp"
#include "inject/codegen/lane_adds.hpp"

namespace egpu::inject {

void FunctionContext::require_version(std::uint32_t major, std::uint32_t minor) {
    if (std::pair(required.ptx_major, required.ptx_minor) < std::pair(major, minor)) {
        required.ptx_major = major;
        required.ptx_minor = minor;
    }
}

namespace {

class Flush {
public:
    explicit Flush(FunctionContext& function) : function_(function), addresses_(function, registers_) {}

    /// Each thread for itself: in a loop, lanes may be anywhere.
    std::string by_threads() {
        const bool scoped = function_.target.sm >= 70;
        if (scoped)
            function_.require_version(6, 0);
        for (const auto& [element, value] : totals(own_counts())) {
            const std::string base = addresses_.base_of(element.map, element.slot), any = registers_.predicate();
            body_.add(fmt::format("setp.ne.s64 {}, {}, 0", any, value));
            body_.add(fmt::format("@{} red{}.add.u64 [{}+{}], {}", any, scoped ? ".relaxed.gpu.global" : ".global",
                                  base, element.byte, value));
        }
        for (const auto& accumulator : function_.accumulators)
            body_.add(fmt::format("mov.u64 {}, 0", accumulator.register_name));
        return text();
    }

    /// The lanes that leave together: summed up first. The decisions to branch are the same in all lanes of the mask,
    /// so all of them come to every redux, shfl and vote that names them.
    std::string by_warps() {
        function_.require_version(6, 2);
        lanes_.gather();
        std::vector<std::string> counts;
        if (function_.target.sm >= 80) {
            function_.require_version(7, 0);
            for (const auto& accumulator : function_.accumulators)
                counts.push_back(sum_by_redux(accumulator));
        } else {
            counts = sum_by_shuffle();
        }
        std::vector<LaneAdds::Addition> additions;
        for (const auto& [element, value] : totals(counts))
            additions.push_back({element, value, 0});
        lanes_.add(std::move(additions));
        return text();
    }

    /// `amounts` for every lane that is here.
    std::string of_lanes(const std::vector<Share>& amounts) {
        function_.require_version(6, 2);
        lanes_.gather();
        std::vector<LaneAdds::Addition> additions;
        for (const Share& share : amounts)
            additions.push_back({share.element, {}, share.factor});
        lanes_.add(std::move(additions));
        return text();
    }

    std::uint32_t instructions() const { return addresses_.statements().instructions() + body_.instructions(); }

private:
    std::vector<std::string> own_counts() const {
        std::vector<std::string> names;
        for (const auto& accumulator : function_.accumulators)
            names.push_back(accumulator.register_name);
        return names;
    }

    /// What each element gets, when the counts of the accumulators are these.
    std::map<ebpf::StaticElement, std::string> totals(const std::vector<std::string>& counts) {
        std::map<ebpf::StaticElement, std::string> values;
        for (std::size_t i = 0; i < counts.size(); ++i)
            for (const Share& share : function_.accumulators[i].shares) {
                std::string& value = values[share.element];
                if (value.empty() && share.factor == 1) {
                    value = counts[i];
                    continue;
                }
                const std::string sum = registers_.b64();
                if (value.empty())
                    body_.add(fmt::format("mul.lo.s64 {}, {}, {}", sum, counts[i], share.factor));
                else
                    body_.add(fmt::format("mad.lo.s64 {}, {}, {}, {}", sum, counts[i], share.factor, value));
                value = sum;
            }
        return values;
    }

    /// Sums of 32 numbers of 27 bits fit 32 bits. A count of instructions never reaches 2^54; a program's own sum may.
    std::string sum_by_redux(const Accumulator& accumulator) {
        constexpr std::uint32_t kBits = 27;
        const std::uint32_t parts = accumulator.counts_instructions ? 2 : 3;
        const std::string total = registers_.b64();
        for (std::uint32_t part = 0; part < parts; ++part) {
            const std::string bits = registers_.b64(), sum = registers_.b32(), wide = registers_.b64();
            body_.add(fmt::format("shr.u64 {}, {}, {}", bits, accumulator.register_name, part * kBits));
            body_.add(fmt::format("cvt.u32.u64 {}, {}", sum, bits));
            body_.add(fmt::format("and.b32 {}, {}, {:#x}", sum, sum, (1u << kBits) - 1));
            body_.add(fmt::format("redux.sync.add.u32 {}, {}, {}", sum, sum, lanes_.mask()));
            body_.add(fmt::format("cvt.u64.u32 {}, {}", part == 0 ? total : wide, sum));
            if (part == 0)
                continue;
            body_.add(fmt::format("shl.b64 {}, {}, {}", wide, wide, part * kBits));
            body_.add(fmt::format("add.s64 {}, {}, {}", total, total, wide));
        }
        return total;
    }

    std::vector<std::string> sum_by_shuffle() {
        const std::string loop = fmt::format("$egpu_{}", function_.next_label++);
        const std::string add_up = fmt::format("$egpu_{}", function_.next_label++);
        lowest_ = registers_.b32();
        body_.add(fmt::format("brev.b32 {}, {}", lowest_, lanes_.mask()));
        body_.add(fmt::format("clz.b32 {}, {}", lowest_, lowest_));
        multiply_where_equal(add_up);
        sum_over_lanes(loop);
        body_.label(add_up);
        return sums_;
    }

    /// A 64-bit value of another lane of the mask.
    std::string from_lane(const std::string& value, const std::string& lane) {
        const std::string low = registers_.b32(), high = registers_.b32(), other = registers_.b64();
        body_.add(fmt::format("mov.b64 {{{}, {}}}, {}", low, high, value));
        body_.add(fmt::format("shfl.sync.idx.b32 {}, {}, {}, 31, {}", low, low, lane, lanes_.mask()));
        body_.add(fmt::format("shfl.sync.idx.b32 {}, {}, {}, 31, {}", high, high, lane, lanes_.mask()));
        body_.add(fmt::format("mov.b64 {}, {{{}, {}}}", other, low, high));
        return other;
    }

    /// In most warps all lanes did the same: then the sum is a product.
    void multiply_where_equal(const std::string& done) {
        const std::string equal = registers_.predicate(), wide = registers_.b64();
        std::string all;
        for (const auto& accumulator : function_.accumulators) {
            const std::string other = from_lane(accumulator.register_name, lowest_);
            if (all.empty())
                body_.add(fmt::format("setp.eq.s64 {}, {}, {}", equal, accumulator.register_name, other));
            else
                body_.add(fmt::format("setp.eq.and.s64 {}, {}, {}, {}", equal, accumulator.register_name, other, all));
            all = equal;
        }
        body_.add(fmt::format("vote.sync.all.pred {}, {}, {}", equal, equal, lanes_.mask()));
        body_.add(fmt::format("cvt.u64.u32 {}, {}", wide, lanes_.count()));
        for (const auto& accumulator : function_.accumulators) {
            sums_.push_back(registers_.b64());
            body_.add(fmt::format("mul.lo.s64 {}, {}, {}", sums_.back(), accumulator.register_name, wide));
        }
        body_.add(fmt::format("@{} bra {}", equal, done));
    }

    /// Doubling: a lane that has the sums of itself and the next n - 1 lanes of the mask takes those of the n after.
    /// The lowest lane has the whole, and tells the others.
    void sum_over_lanes(const std::string& loop) {
        const std::string next = registers_.b32(), above = registers_.b32(), reach = registers_.b32();
        const std::string exists = registers_.predicate(), more = registers_.predicate();
        for (std::size_t i = 0; i < sums_.size(); ++i)
            body_.add(fmt::format("mov.b64 {}, {}", sums_[i], function_.accumulators[i].register_name));
        // The next lane of the mask; 32: none (clz of 0).
        body_.add(fmt::format("mov.u32 {}, %lanemask_gt", above));
        body_.add(fmt::format("and.b32 {}, {}, {}", above, above, lanes_.mask()));
        body_.add(fmt::format("brev.b32 {}, {}", next, above));
        body_.add(fmt::format("clz.b32 {}, {}", next, next));
        body_.add(fmt::format("mov.u32 {}, 1", reach));
        body_.label(loop);
        const std::string from = registers_.b32(), beyond = registers_.b32();
        body_.add(fmt::format("setp.lt.u32 {}, {}, 32", exists, next));
        body_.add(fmt::format("selp.b32 {}, {}, {}, {}", from, next, lowest_, exists));
        for (const auto& sum : sums_) {
            const std::string other = from_lane(sum, from);
            body_.add(fmt::format("@{} add.s64 {}, {}, {}", exists, sum, sum, other));
        }
        body_.add(fmt::format("shfl.sync.idx.b32 {}, {}, {}, 31, {}", beyond, next, from, lanes_.mask()));
        body_.add(fmt::format("selp.b32 {}, {}, 32, {}", next, beyond, exists));
        body_.add(fmt::format("shl.b32 {}, {}, 1", reach, reach));
        body_.add(fmt::format("setp.lt.u32 {}, {}, {}", more, reach, lanes_.count()));
        body_.add(fmt::format("@{} bra {}", more, loop));
        for (const auto& sum : sums_)
            body_.add(fmt::format("mov.b64 {}, {}", sum, from_lane(sum, lowest_)));
    }

    std::string text() const {
        return "\t{\n" + registers_.declarations() + addresses_.statements().text() + body_.text() + "\t}\n";
    }

    FunctionContext& function_;
    Registers registers_;
    ElementAddresses addresses_;
    Statements body_;
    LaneAdds lanes_{function_, registers_, addresses_, body_};
    std::string lowest_;
    std::vector<std::string> sums_;
};

}  // namespace

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
    Flush flush(function);
    return keep_running ? flush.by_threads() : flush.by_warps();
}

/// A guarded addition is made of an amount that is 0 in the other lanes: three instructions of machine code. Of
/// "@%p1 add.s64" ptxas makes four, an addition to other registers and two selections between the sums.
/// What a guarded addition of 1 costs in machine code is two instructions where the guard is the carry that comes in:
///
///     @%p1 ...        add.cc.u32 %egpu_w0, 0, 0;                   no carry
///                     @%p1 add.cc.u32 %egpu_w0, 4294967295, 1;     but where %p1 holds
///                     addc.u64 %egpu_acc0, %egpu_acc0, 0;          IADD3.X (carry in: %p1), IADD3.X
///
/// A select of the amount or 0 costs a third one; it is left to other amounts, and to functions that use the carry.
EmittedProbe emit_register_add(const std::string& guard, const std::string& register_name, std::uint32_t amount,
                               bool carry_is_free) {
    Registers registers;
    Statements statements;
    if (guard.empty()) {
        statements.add(fmt::format("add.s64 {0}, {0}, {1}", register_name, amount));
        return {statements.text(), statements.instructions()};
    }
    if (amount == 1 && carry_is_free) {
        const std::string unused = registers.b32();
        statements.add(fmt::format("add.cc.u32 {}, 0, 0", unused));
        statements.add(fmt::format("{}add.cc.u32 {}, {}, 1", guard, unused, UINT32_MAX));
        statements.add(fmt::format("addc.u64 {0}, {0}, 0", register_name));
        return {"\t{\n" + registers.declarations() + statements.text() + "\t}\n", statements.instructions()};
    }
    const std::string amount_or_zero = registers.b32(), wide = registers.b64();
    const bool negated = guard[1] == '!';
    const std::string predicate = guard.substr(negated ? 2 : 1, guard.size() - (negated ? 3 : 2));
    statements.add(
        fmt::format("selp.b32 {}, {}, {}, {}", amount_or_zero, negated ? 0 : amount, negated ? amount : 0, predicate));
    statements.add(fmt::format("cvt.u64.u32 {}, {}", wide, amount_or_zero));
    statements.add(fmt::format("add.s64 {0}, {0}, {1}", register_name, wide));
    return {"\t{\n" + registers.declarations() + statements.text() + "\t}\n", statements.instructions()};
}

EmittedProbe emit_lane_adds(FunctionContext& function, const std::vector<Share>& amounts) {
    Flush flush(function);
    EmittedProbe probe;
    probe.text = flush.of_lanes(amounts);
    probe.instructions = flush.instructions();
    return probe;
}

}  // namespace egpu::inject

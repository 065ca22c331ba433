// SPDX-License-Identifier: Apache-2.0
// Sums that stay in registers from a function's start to its exits.
//
//   before:   ret;
//   after:    {
//             activemask.b32 %egpu_w0;                             who leaves here
//             shfl.sync.idx ... the leader's sums; vote.sync.all   all the same?
//             @%egpu_p1 bra $egpu_1;
//   $egpu_0:  each lane adds the sums of the next lane that it knows; five rounds at most
//             @%egpu_p2 bra $egpu_0;
//   $egpu_1:  @%egpu_p0 red.relaxed.gpu.global.add.u64 [%egpu_d0+8], %egpu_d3;    the leader, for all
//             }
//             ret;
// 32 lanes that add to one address one after the other cost more than anything else that a probe does: on an H200 a
// vector addition of 65 us took 4,860 us with a red by each thread at its exit.
#include "inject/codegen/addresses.hpp"
#include "inject/codegen/codegen.hpp"

namespace egpu::inject {

namespace {

void require_version(FunctionContext& function, std::uint32_t major, std::uint32_t minor) {
    Target& required = function.required;
    if (std::pair(required.ptx_major, required.ptx_minor) < std::pair(major, minor)) {
        required.ptx_major = major;
        required.ptx_minor = minor;
    }
}

class Flush {
public:
    explicit Flush(FunctionContext& function) : function_(function), addresses_(function, registers_) {}

    /// Each thread for itself: in a loop, lanes may be anywhere.
    std::string by_threads() {
        for (const auto& accumulator : function_.accumulators) {
            add(accumulator, accumulator.register_name, {});
            body_.add(fmt::format("mov.u64 {}, 0", accumulator.register_name));
        }
        return text();
    }

    /// The lanes that leave together: summed up first, then added by the lowest of them. The decisions to branch are
    /// the same in all lanes of the mask, so all of them come to every shfl and vote that names them.
    std::string by_warps() {
        require_version(function_, 6, 2);
        const std::string loop = fmt::format("$egpu_{}", function_.next_label++);
        const std::string add_up = fmt::format("$egpu_{}", function_.next_label++);
        begin();
        multiply_where_equal(add_up);
        sum_over_lanes(loop);
        body_.label(add_up);
        for (std::size_t i = 0; i < sums_.size(); ++i)
            add(function_.accumulators[i], sums_[i], leads_);
        return text();
    }

private:
    void begin() {
        mask_ = registers_.b32();
        count_ = registers_.b32();
        lowest_ = registers_.b32();
        leads_ = registers_.predicate();
        const std::string lane = registers_.b32();
        body_.add(fmt::format("activemask.b32 {}", mask_));
        body_.add(fmt::format("popc.b32 {}, {}", count_, mask_));
        body_.add(fmt::format("brev.b32 {}, {}", lowest_, mask_));
        body_.add(fmt::format("clz.b32 {}, {}", lowest_, lowest_));
        body_.add(fmt::format("mov.u32 {}, %laneid", lane));
        body_.add(fmt::format("setp.eq.u32 {}, {}, {}", leads_, lane, lowest_));
    }

    /// A 64-bit value of another lane of the mask.
    std::string from_lane(const std::string& value, const std::string& lane) {
        const std::string low = registers_.b32(), high = registers_.b32(), other = registers_.b64();
        body_.add(fmt::format("mov.b64 {{{}, {}}}, {}", low, high, value));
        body_.add(fmt::format("shfl.sync.idx.b32 {}, {}, {}, 31, {}", low, low, lane, mask_));
        body_.add(fmt::format("shfl.sync.idx.b32 {}, {}, {}, 31, {}", high, high, lane, mask_));
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
        body_.add(fmt::format("vote.sync.all.pred {}, {}, {}", equal, equal, mask_));
        body_.add(fmt::format("cvt.u64.u32 {}, {}", wide, count_));
        for (const auto& accumulator : function_.accumulators) {
            sums_.push_back(registers_.b64());
            body_.add(fmt::format("mul.lo.s64 {}, {}, {}", sums_.back(), accumulator.register_name, wide));
        }
        body_.add(fmt::format("@{} bra {}", equal, done));
    }

    /// Doubling: a lane that has the sums of itself and the next n - 1 lanes of the mask takes those of the n after.
    void sum_over_lanes(const std::string& loop) {
        const std::string next = registers_.b32(), above = registers_.b32(), reach = registers_.b32();
        const std::string exists = registers_.predicate(), more = registers_.predicate();
        for (std::size_t i = 0; i < sums_.size(); ++i)
            body_.add(fmt::format("mov.b64 {}, {}", sums_[i], function_.accumulators[i].register_name));
        // The next lane of the mask; 32: none (clz of 0).
        body_.add(fmt::format("mov.u32 {}, %lanemask_gt", above));
        body_.add(fmt::format("and.b32 {}, {}, {}", above, above, mask_));
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
        body_.add(fmt::format("shfl.sync.idx.b32 {}, {}, {}, 31, {}", beyond, next, from, mask_));
        body_.add(fmt::format("selp.b32 {}, {}, 32, {}", next, beyond, exists));
        body_.add(fmt::format("shl.b32 {}, {}, 1", reach, reach));
        body_.add(fmt::format("setp.lt.u32 {}, {}, {}", more, reach, count_));
        body_.add(fmt::format("@{} bra {}", more, loop));
    }

    /// Adds a sum that is not 0 to its map; `who`: only the lane for which it holds.
    void add(const Accumulator& accumulator, const std::string& sum, const std::string& who) {
        const auto& element = accumulator.element;
        const std::string base = addresses_.base_of(element.map, element.slot);
        const std::string any = registers_.predicate();
        const bool scoped = function_.target.sm >= 70;
        if (who.empty())
            body_.add(fmt::format("setp.ne.s64 {}, {}, 0", any, sum));
        else
            body_.add(fmt::format("setp.ne.and.s64 {}, {}, 0, {}", any, sum, who));
        body_.add(fmt::format("@{} red{}.add.u64 [{}+{}], {}", any, scoped ? ".relaxed.gpu.global" : ".global", base,
                              element.byte, sum));
        if (scoped)
            require_version(function_, 6, 0);
    }

    std::string text() const {
        return "\t{\n" + registers_.declarations() + addresses_.statements().text() + body_.text() + "\t}\n";
    }

    FunctionContext& function_;
    Registers registers_;
    ElementAddresses addresses_;
    Statements body_;
    std::string mask_, count_, lowest_, leads_;
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

}  // namespace egpu::inject

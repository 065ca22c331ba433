// SPDX-License-Identifier: Apache-2.0
// Arrival and departure, by the leader of the lanes that are here:
//
//   entry:    activemask; the lowest lane goes on
//             ld %w, [line];                         ours: somebody was here before; what lies in L1 may be older
//             ld.relaxed %w, [line];
//             atom.cas %w, [line], 0, id;            0: the first; of a stripe, it asks for the launch:
//             atom.cas %w, [launch], 0, id;          0: the first of all
//   exit:     ld.relaxed %w, [line];                 not ours: the launch isn't followed
//             atom.add %n, [line+8], lanes;          all threads: the last; of a stripe, it counts for the launch:
//             atom.add %n, [launch+8], 1;            all stripes: the last of all
// The line is that of the launch where it has few blocks, else one of its stripes. Lines are given back before programs
// run; what the first thread stored is seen by the last, since each step from one counter to the next has a fence.
// Nobody waits for anybody.
#include "inject/codegen/grids.hpp"

#include <fmt/format.h>

#include "inject/codegen/table.hpp"
#include "inject/codegen/writer.hpp"

namespace egpu::inject {
namespace {

/// The memory operations, by target (sm_70: scoped and relaxed; below: volatile).
struct Forms {
    explicit Forms(bool scoped)
        : load(scoped ? "ld.relaxed.gpu.global.u64" : "ld.volatile.global.u64"),
          store(scoped ? "st.relaxed.gpu.global.u64" : "st.volatile.global.u64"),
          atomic(scoped ? "atom.relaxed.gpu.global" : "atom.global"),
          reduction(scoped ? "red.relaxed.gpu.global" : "red.global"),
          fence(scoped ? "fence.acq_rel.gpu" : "membar.gl") {}
    const char *load, *store, *atomic, *reduction, *fence;
};

class Follower {
public:
    explicit Follower(FunctionContext& function)
        : function_(function), forms_(function.target.sm >= 70), done_(new_label()) {
        function_.require_version(6, 2);
    }

    EmittedProbe arrival() {
        const std::string lost = new_label(), is_new = new_label(), begins = new_label();
        const std::string start = registers_.b64(), old = registers_.b64(), dirty = registers_.b64();
        const std::string is = registers_.predicate();
        leader();
        lines();
        // Nearly always true, and the one thing that all warps do at their entry: kept from the L2.
        text_.add(fmt::format("ld.global.u64 {}, [{}]", old, line_));
        text_.add(fmt::format("setp.eq.s64 {}, {}, {}", is, old, owner_));
        text_.add(fmt::format("@{} bra {}", is, done_));
        text_.add(fmt::format("mov.u64 {}, %globaltimer", start));
        claim(line_, is_new, lost);
        text_.label(is_new);
        text_.add(fmt::format("@!{} bra {}", striped_, begins));
        claim(launch_, begins, done_);
        text_.label(begins);
        text_.add(fmt::format("{} [{}+16], {}", forms_.store, launch_, start));
        text_.add(fmt::format("setp.eq.u32 {}, 0, 0", kGridThread));
        text_.add(fmt::format("bra {}", done_));
        text_.label(lost);
        // Without one of its stripes the launch is given up, which its other blocks find at its line.
        text_.add(fmt::format("@!{} bra {}", striped_, done_));
        text_.add(fmt::format("or.b64 {}, {}, {}", dirty, owner_, literal64(kGridDirty)));
        text_.add(fmt::format("{}.cas.b64 {}, [{}], 0, {}", forms_.atomic, old, launch_, dirty));
        text_.add(fmt::format("setp.eq.s64 {}, {}, {}", is, old, owner_));
        text_.add(fmt::format("@{} {}.cas.b64 {}, [{}], {}, {}", is, forms_.atomic, old, launch_, owner_, dirty));
        return finish();
    }

    EmittedProbe departure() {
        const std::string is_last = new_label();
        leader();
        lines();
        const std::string word = registers_.b64(), all = registers_.b64();
        const std::string is_not = registers_.predicate();
        const auto leave_unless = [&](const std::string& one, const std::string& other) {
            text_.add(fmt::format("setp.ne.s64 {}, {}, {}", is_not, one, other));
            text_.add(fmt::format("@{} bra {}", is_not, done_));
        };
        text_.add(fmt::format("{} {}, [{}]", forms_.load, word, line_));
        leave_unless(word, owner_);
        const std::string lanes = registers_.b32(), leaving = registers_.b64();
        text_.add(fmt::format("popc.b32 {}, {}", lanes, mask_));
        text_.add(fmt::format("cvt.u64.u32 {}, {}", leaving, lanes));
        text_.add(fmt::format("{}.add.u64 {}, [{}+8], {}", forms_.atomic, word, line_, leaving));
        text_.add(fmt::format("add.s64 {}, {}, {}", word, word, leaving));
        threads_of_line(all);
        leave_unless(word, all);
        text_.add(forms_.fence);
        text_.add(fmt::format("@!{} bra {}", striped_, is_last));
        release_stripe();
        text_.add(fmt::format("{} {}, [{}]", forms_.load, word, launch_));
        leave_unless(word, owner_);
        text_.add(fmt::format("{}.add.u64 {}, [{}+8], 1", forms_.atomic, word, launch_));
        leave_unless(word, std::to_string(kGridStripes - 1));
        text_.add(forms_.fence);
        text_.label(is_last);
        text_.add(fmt::format("{} {}, [{}+16]", forms_.load, kGridStart, launch_));
        text_.add(fmt::format("{} [{}+8], 0", forms_.store, launch_));
        text_.add(forms_.fence);
        text_.add(fmt::format("{}.cas.b64 {}, [{}], {}, 0", forms_.atomic, word, launch_, owner_));
        text_.add(fmt::format("setp.eq.s64 {}, {}, {}", kGridThread, word, owner_));
        return finish();
    }

private:
    std::string new_label() { return fmt::format("$egpu_{}", function_.next_label++); }

    /// Others of the lanes that are here go to the end.
    void leader() {
        const std::string below = registers_.b32();
        const std::string follows = registers_.predicate();
        mask_ = registers_.b32();
        text_.add(fmt::format("setp.ne.u32 {}, 0, 0", kGridThread));
        text_.add(fmt::format("activemask.b32 {}", mask_));
        text_.add(fmt::format("mov.u32 {}, %lanemask_lt", below));
        text_.add(fmt::format("and.b32 {}, {}, {}", below, below, mask_));
        text_.add(fmt::format("setp.ne.u32 {}, {}, 0", follows, below));
        text_.add(fmt::format("@{} bra {}", follows, done_));
    }

    std::string special(const char* name) {
        const std::string at = registers_.b32();
        text_.add(fmt::format("mov.u32 {}, {}", at, name));
        return at;
    }

    /// line = memory + at + (number mod lines) * bytes
    void line_of(const std::string& line, const std::string& number, std::uint32_t lines, std::uint32_t bytes,
                 std::uint32_t at) {
        const std::string index = registers_.b32();
        text_.add(fmt::format("and.b32 {}, {}, {}", index, number, lines - 1));
        text_.add(fmt::format("mad.wide.u32 {}, {}, {}, {}", line, index, bytes, memory_));
        text_.add(fmt::format("add.s64 {}, {}, {}", line, line, at));
    }

    /// Where this launch and this block count.
    void lines() {
        memory_ = registers_.b64();
        owner_ = registers_.b64();
        launch_ = registers_.b64();
        line_ = registers_.b64();
        striped_ = registers_.predicate();
        const std::string id = registers_.b32(), set = registers_.b64();
        TableEntry entry;
        entry.kind = TableEntry::Kind::grids;
        text_.add(fmt::format("ld.const.u64 {}, [{}+{}]", memory_, Table::kSymbol, function_.table->offset_of(entry)));
        text_.add(fmt::format("mov.u64 {}, %gridid", owner_));
        text_.add(fmt::format("cvt.u32.u64 {}, {}", id, owner_));
        text_.add(fmt::format("add.s64 {}, {}, 1", owner_, owner_));
        line_of(launch_, id, kGridLines, kGridLineBytes, kGridHeadBytes);
        line_of(set, id, kGridSets, kGridStripes * kGridStripeBytes, kGridSetsAt);
        number_blocks();
        text_.add(fmt::format("setp.gt.u64 {}, {}, {}", striped_, blocks_, kGridStripes));
        text_.add(fmt::format("mad.wide.u32 {}, {}, {}, {}", line_, stripe_, kGridStripeBytes, set));
        text_.add(fmt::format("selp.b64 {}, {}, {}, {}", line_, line_, launch_, striped_));
    }

    /// How many blocks the launch has, and which stripe is this one's: of its number only the low bits matter.
    void number_blocks() {
        blocks_ = registers_.b64();
        const std::string deep = registers_.b64(), wide_x = special("%nctaid.x"), wide_y = special("%nctaid.y");
        stripe_ = special("%ctaid.z");
        const std::string y = special("%ctaid.y"), x = special("%ctaid.x");
        text_.add(fmt::format("mad.lo.s32 {}, {}, {}, {}", stripe_, stripe_, wide_y, y));
        text_.add(fmt::format("mad.lo.s32 {}, {}, {}, {}", stripe_, stripe_, wide_x, x));
        text_.add(fmt::format("and.b32 {}, {}, {}", stripe_, stripe_, kGridStripes - 1));
        text_.add(fmt::format("mul.wide.u32 {}, {}, {}", blocks_, wide_x, wide_y));
        text_.add(fmt::format("cvt.u64.u32 {}, {}", deep, special("%nctaid.z")));
        text_.add(fmt::format("mul.lo.s64 {}, {}, {}", blocks_, blocks_, deep));
    }

    /// Of all blocks that count at this line: all of the launch, or those whose number has the stripe's low bits.
    void threads_of_line(const std::string& to) {
        const std::string number = registers_.b64();
        text_.add(fmt::format("cvt.u64.u32 {}, {}", number, stripe_));
        text_.add(fmt::format("sub.s64 {}, {}, {}", to, blocks_, number));
        text_.add(fmt::format("add.s64 {}, {}, {}", to, to, kGridStripes - 1));
        text_.add(fmt::format("div.u64 {}, {}, {}", to, to, kGridStripes));
        text_.add(fmt::format("selp.b64 {}, {}, {}, {}", to, to, blocks_, striped_));
        const std::string threads = special("%ntid.x"), y = special("%ntid.y"), z = special("%ntid.z");
        text_.add(fmt::format("mul.lo.s32 {}, {}, {}", threads, threads, y));
        text_.add(fmt::format("mul.lo.s32 {}, {}, {}", threads, threads, z));
        text_.add(fmt::format("cvt.u64.u32 {}, {}", number, threads));
        text_.add(fmt::format("mul.lo.s64 {}, {}, {}", to, to, number));
    }

    /// The line is zero again for the launch that has it next: its owner last.
    void release_stripe() {
        text_.add(fmt::format("{} [{}+8], 0", forms_.store, line_));
        text_.add(forms_.fence);
        text_.add(fmt::format("{} [{}], 0", forms_.store, line_));
        text_.add(forms_.fence);
    }

    /// Goes on at `is_new` where the line was nobody's, at the end where it is this launch's already, and at `lost`
    /// where the launch is given up (grids.hpp).
    void claim(const std::string& line, const std::string& is_new, const std::string& lost) {
        const std::string plain = new_label(), dirty = new_label();
        const std::string word = registers_.b64(), part = registers_.b64(), next = registers_.b64();
        const std::string old = registers_.b64(), is = registers_.predicate();
        const auto go_if = [&](const std::string& one, const std::string& other, const std::string& label) {
            text_.add(fmt::format("setp.eq.s64 {}, {}, {}", is, one, other));
            text_.add(fmt::format("@{} bra {}", is, label));
        };
        const auto exchange = [&](const std::string& from, const std::string& expected, const std::string& to) {
            text_.add(fmt::format("{}.cas.b64 {}, [{}], {}, {}", forms_.atomic, from, line, expected, to));
        };
        text_.add(fmt::format("{} {}, [{}]", forms_.load, word, line));
        go_if(word, owner_, done_);
        exchange(word, "0", owner_);
        go_if(word, "0", is_new);
        go_if(word, owner_, done_);
        // Somebody else's, or of a launch that was given up.
        text_.add(fmt::format("and.b64 {}, {}, {}", part, word, literal64(~kGridCleaning)));
        go_if(part, owner_, lost);
        text_.add(fmt::format("and.b64 {}, {}, {}", part, word, literal64(kGridCleaning)));
        go_if(part, "0", plain);
        go_if(part, literal64(kGridDirty), dirty);
        go_if(part, literal64(kGridCleaning), lost);
        exchange(old, word, owner_);
        go_if(old, word, is_new);
        go_if(old, owner_, done_);
        text_.add(fmt::format("bra {}", lost));
        text_.label(plain);
        text_.add(fmt::format("or.b64 {}, {}, {}", next, owner_, literal64(kGridDirty)));
        exchange(old, word, next);
        text_.add(fmt::format("setp.eq.s64 {}, {}, {}", is, old, word));
        count_lost(is, 2);
        text_.add(fmt::format("bra {}", lost));
        text_.label(dirty);
        text_.add(fmt::format("or.b64 {}, {}, {}", next, owner_, literal64(kGridCleaning)));
        exchange(old, word, next);
        text_.add(fmt::format("setp.eq.s64 {}, {}, {}", is, old, word));
        text_.add(fmt::format("@!{} bra {}", is, lost));
        text_.add(fmt::format("{} [{}+8], 0", forms_.store, line));
        text_.add(forms_.fence);
        text_.add(fmt::format("or.b64 {}, {}, {}", next, owner_, literal64(kGridClean)));
        text_.add(fmt::format("{} [{}], {}", forms_.store, line, next));
        count_lost(is, 1);
        text_.add(fmt::format("bra {}", lost));
    }

    void count_lost(const std::string& predicate, int launches) {
        text_.add(fmt::format("@{} {}.add.u64 [{}], {}", predicate, forms_.reduction, memory_, launches));
    }

    EmittedProbe finish() const {
        return {"\t{\n" + registers_.declarations() + text_.text() + done_ + ":\n\t}\n", text_.instructions()};
    }

    FunctionContext& function_;
    const Forms forms_;
    const std::string done_;
    Registers registers_;
    Statements text_;
    std::string mask_, memory_, owner_, launch_, stripe_, blocks_;
    std::string line_;     ///< where this block counts: the launch's own, or a stripe's
    std::string striped_;  ///< predicate: a stripe's
};

}  // namespace

std::string grid_declarations() {
    return fmt::format("\t.reg .pred {};\n\t.reg .b64 {};\n", kGridThread, kGridStart);
}

EmittedProbe emit_grid_arrival(FunctionContext& function) {
    return Follower(function).arrival();
}

EmittedProbe emit_grid_arrived(FunctionContext& function) {
    Statements text;
    text.add(fmt::format("@{} {}", kGridThread, Forms(function.target.sm >= 70).fence));
    return {text.text(), text.instructions()};
}

EmittedProbe emit_grid_departure(FunctionContext& function) {
    return Follower(function).departure();
}

}  // namespace egpu::inject

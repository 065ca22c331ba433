// SPDX-License-Identifier: Apache-2.0
//           activemask.b32 %egpu_w0; popc.b32 %egpu_w1, %egpu_w0;          who is here, how many
//           mov.u32 %egpu_w2, %lanemask_lt; and.b32 ...; popc.b32 %egpu_w2  the rank of this lane among them
//           setp.lt.u32 %egpu_p0, %egpu_w2, 4;                              the lane of rank i: element i
//           @%egpu_p0 red.relaxed.gpu.global.add.u64 [%egpu_d2], %egpu_d3;
//           setp.ge.u32 %egpu_p1, %egpu_w1, 4;
//           @%egpu_p1 bra $egpu_1;                                          as good as always
//           mov.u32 %egpu_w3, %egpu_w2;
//   $egpu_0:                                                                fewer lanes than elements: once more
//           add.s32 %egpu_w3, %egpu_w3, %egpu_w1;
//           setp.ge.u32 %egpu_p2, %egpu_w3, 4;
//           @%egpu_p2 bra $egpu_1;
//           red.relaxed.gpu.global.add.u64 [%egpu_d4], %egpu_d5;
//           bra $egpu_0;
//   $egpu_1:
// Lanes of one red that add to one line of memory cost little more than one lane: on an H200 a vector addition of
// 62.7 us took 64.6 us with four elements so, 64.9 us with one element alone, and 77.5 us with a red for each of them.
// The first red stands outside the loop, with a predicate: ptxas moves what an instruction after a branch needs to
// before the branch, so with a loop around the red it came only when the loads were there (66.1 us). No lane waits for
// another, so it doesn't matter where the other lanes are.
#include "inject/codegen/lane_adds.hpp"

#include <algorithm>

namespace egpu::inject {

namespace {

constexpr std::size_t kLongestRun = 8;  ///< selections grow with it

}  // namespace

void LaneAdds::gather() {
    mask_ = registers_.b32();
    count_ = registers_.b32();
    rank_ = registers_.b32();
    body_.add(fmt::format("activemask.b32 {}", mask_));
    body_.add(fmt::format("popc.b32 {}, {}", count_, mask_));
    body_.add(fmt::format("mov.u32 {}, %lanemask_lt", rank_));
    body_.add(fmt::format("and.b32 {}, {}, {}", rank_, rank_, mask_));
    body_.add(fmt::format("popc.b32 {}, {}", rank_, rank_));
}

void LaneAdds::add(std::vector<Addition> additions) {
    std::sort(additions.begin(), additions.end(),
              [](const Addition& one, const Addition& two) { return one.element < two.element; });
    Run run;
    for (const Addition& addition : additions) {
        if (!run.empty() && (run.front().element.map != addition.element.map || run.size() == kLongestRun)) {
            add_run(run);
            run.clear();
        }
        run.push_back(addition);
    }
    if (!run.empty())
        add_run(run);
}

void LaneAdds::add_run(const Run& run) {
    if (run.size() == 1)
        add_by_leader(run.front());
    else
        add_by_several(run);
}

void LaneAdds::add_by_leader(const Addition& addition) {
    if (leads_.empty()) {
        leads_ = registers_.predicate();
        body_.add(fmt::format("setp.eq.u32 {}, {}, 0", leads_, rank_));
    }
    const std::string base = addresses_.base_of(addition.element.map, addition.element.slot);
    std::string value = addition.value, adds = leads_;
    if (value.empty()) {
        value = registers_.b64();
        body_.add(fmt::format("mul.wide.u32 {}, {}, {}", value, count_, addition.factor));
    } else {
        adds = registers_.predicate();
        body_.add(fmt::format("setp.ne.and.s64 {}, {}, 0, {}", adds, value, leads_));
    }
    red(adds, base, addition.element.byte, value);
}

void LaneAdds::add_by_several(const Run& run) {
    const std::string base = addresses_.base_of(run.front().element.map, run.front().element.slot);
    const std::string again = fmt::format("$egpu_{}", function_.next_label++);
    const std::string done = fmt::format("$egpu_{}", function_.next_label++);
    const std::string first = registers_.predicate(), enough = registers_.predicate(), none = registers_.predicate();
    index_ = rank_;
    body_.add(fmt::format("setp.lt.u32 {}, {}, {}", first, index_, run.size()));
    add_own(run, base, first);
    body_.add(fmt::format("setp.ge.u32 {}, {}, {}", enough, count_, run.size()));
    body_.add(fmt::format("@{} bra {}", enough, done));
    index_ = registers_.b32();
    body_.add(fmt::format("mov.u32 {}, {}", index_, rank_));
    body_.label(again);
    body_.add(fmt::format("add.u32 {}, {}, {}", index_, index_, count_));
    body_.add(fmt::format("setp.ge.u32 {}, {}, {}", none, index_, run.size()));
    body_.add(fmt::format("@{} bra {}", none, done));
    add_own(run, base, {});
    body_.add(fmt::format("bra {}", again));
    body_.label(done);
}

/// The element of number index_, where the predicate `who` ("": always) holds and there is something to add.
void LaneAdds::add_own(const Run& run, const std::string& base, const std::string& who) {
    is_index_.assign(run.size(), {});
    const std::string value = own_value(run), address = own_address(run, base);
    std::string adds = who;
    if (!run.front().value.empty()) {
        adds = registers_.predicate();
        body_.add(fmt::format("setp.ne{}.s64 {}, {}, 0{}{}", who.empty() ? "" : ".and", adds, value,
                              who.empty() ? "" : ", ", who));
    }
    red(adds, address, run.front().element.byte, value);
}

/// Bytes between the start of the map and an element of shard 0.
std::uint64_t LaneAdds::offset_of(const Addition& addition) const {
    const auto& element = addition.element;
    return (*function_.layouts)[element.map].device_offset_of(element.slot, element.byte);
}

/// Where a lane finds its element, less the byte of the first element.
std::string LaneAdds::own_address(const Run& run, const std::string& base) {
    const std::uint64_t first = offset_of(run.front());
    std::vector<std::uint32_t> words;
    bool in_a_row = true;
    for (const Addition& addition : run) {
        words.push_back(static_cast<std::uint32_t>((offset_of(addition) - first) / 8));
        in_a_row = in_a_row && words.back() == words.size() - 1;
    }
    const std::string address = registers_.b64();
    body_.add(fmt::format("mad.wide.u32 {}, {}, 8, {}", address, in_a_row ? index_ : own_number(words), base));
    return address;
}

std::string LaneAdds::own_value(const Run& run) {
    const std::string value = registers_.b64();
    if (run.front().value.empty()) {
        std::vector<std::uint32_t> factors;
        for (const Addition& addition : run)
            factors.push_back(addition.factor);
        const std::string factor = own_number(factors);
        body_.add(fmt::format("mul.wide.u32 {}, {}, {}", value, factor, count_));
        return value;
    }
    body_.add(fmt::format("mov.b64 {}, {}", value, run.front().value));
    for (std::size_t i = 1; i < run.size(); ++i) {
        const std::string own = is_index(i);
        body_.add(fmt::format("selp.b64 {}, {}, {}, {}", value, run[i].value, value, own));
    }
    return value;
}

/// The number of a lane's element, in a 32-bit register.
std::string LaneAdds::own_number(const std::vector<std::uint32_t>& numbers) {
    const std::string own = registers_.b32();
    const bool bytes = std::all_of(numbers.begin(), numbers.end(), [](std::uint32_t number) { return number < 256; });
    if (bytes && numbers.size() <= 4) {
        std::uint32_t packed = 0;
        for (std::size_t i = 0; i < numbers.size(); ++i)
            packed |= numbers[i] << (8 * i);
        const std::string all = registers_.b32(), zero = registers_.b32();
        body_.add(fmt::format("mov.u32 {}, {:#x}", all, packed));
        body_.add(fmt::format("mov.u32 {}, 0", zero));
        body_.add(fmt::format("or.b32 {}, {}, 0x4440", own, index_));
        body_.add(fmt::format("prmt.b32 {}, {}, {}, {}", own, all, zero, own));
        return own;
    }
    body_.add(fmt::format("mov.u32 {}, {}", own, numbers.front()));
    for (std::size_t i = 1; i < numbers.size(); ++i) {
        const std::string here = is_index(i);
        body_.add(fmt::format("selp.b32 {}, {}, {}, {}", own, numbers[i], own, here));
    }
    return own;
}

std::string LaneAdds::is_index(std::size_t index) {
    if (is_index_[index].empty()) {
        is_index_[index] = registers_.predicate();
        body_.add(fmt::format("setp.eq.u32 {}, {}, {}", is_index_[index], index_, index));
    }
    return is_index_[index];
}

void LaneAdds::red(const std::string& who, const std::string& address, std::uint64_t offset, const std::string& value) {
    const bool scoped = function_.target.sm >= 70;
    const std::string guard = who.empty() ? std::string() : fmt::format("@{} ", who);
    body_.add(fmt::format("{}red{}.add.u64 [{}+{}], {}", guard, scoped ? ".relaxed.gpu.global" : ".global", address,
                          offset, value));
    if (scoped)
        function_.require_version(6, 0);
}

}  // namespace egpu::inject

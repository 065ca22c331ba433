// SPDX-License-Identifier: Apache-2.0
// Loops are found in one depth-first walk over the basic blocks (T. Wei, J. Mao, W. Zou, Y. Chen: "A New Algorithm for
// Identifying Loops in Decompilation", SAS 2007): every block learns its innermost loop header, irreducible loops
// included; the length of the chain of headers is the depth.
#include "inject/match/flow.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace egpu::inject {
namespace {

constexpr std::uint64_t kStepLimit =
    20'000'000;  ///< steps along chains of headers; compilers' output needs a few per block
constexpr std::uint32_t kNone = 0xffffffff;

struct Blocks {
    std::vector<std::uint32_t> block_of;                 ///< by item
    std::vector<std::vector<std::uint32_t>> successors;  ///< by block
};

/// The targets of `brx.idx index, list`: the labels of the named .branchtargets directive.
std::vector<std::size_t> indexed_targets(const Outline& outline, std::size_t index,
                                         const std::unordered_map<std::string_view, std::string_view>& lists) {
    std::vector<std::size_t> targets;
    const auto& operands = outline.items()[index].instruction()->operands;
    if (operands.size() < 2)
        return targets;
    const auto list = lists.find(operands[1].text);
    if (list == lists.end())
        return targets;
    for (const auto name : identifiers_in(list->second)) {
        const std::size_t target = outline.label_target(name, index);
        if (target < outline.items().size())
            targets.push_back(target);
    }
    return targets;
}

std::vector<std::uint32_t> number_blocks(const Outline& outline, std::uint32_t& count) {
    const auto& items = outline.items();
    std::vector<std::uint32_t> block_of(items.size());
    std::uint32_t block = 0;
    bool begins = false;
    for (std::size_t index = 0; index < items.size(); ++index) {
        if (index > 0 && (begins || items[index].label() != nullptr))
            ++block;
        block_of[index] = block;
        const auto* instruction = items[index].instruction();
        begins = instruction != nullptr && continuation_of(*instruction) != Continuation::next;
    }
    count = items.empty() ? 0 : block + 1;
    return block_of;
}

Blocks find_blocks(const Outline& outline) {
    const auto& items = outline.items();
    Blocks blocks;
    std::uint32_t count = 0;
    blocks.block_of = number_blocks(outline, count);
    blocks.successors.resize(count);
    std::unordered_map<std::string_view, std::string_view> branch_lists;
    for (const auto& item : items)
        if (const auto* directive = item.directive(); directive != nullptr && directive->name == "branchtargets")
            branch_lists.emplace(directive->label, directive->text);

    for (std::size_t index = 0; index < items.size(); ++index) {
        const std::uint32_t block = blocks.block_of[index];
        const bool last = index + 1 == items.size() || blocks.block_of[index + 1] != block;
        if (!last)
            continue;
        auto& successors = blocks.successors[block];
        const auto* instruction = items[index].instruction();
        const auto how = instruction == nullptr ? Continuation::next : continuation_of(*instruction);
        if (how == Continuation::branch && !instruction->operands.empty()) {
            const std::size_t target = outline.label_target(instruction->operands.front().text, index);
            if (target < items.size())
                successors.push_back(blocks.block_of[target]);
        }
        if (how == Continuation::indexed_branch)
            for (const std::size_t target : indexed_targets(outline, index, branch_lists))
                successors.push_back(blocks.block_of[target]);
        const bool falls_through = how == Continuation::next || (instruction != nullptr && instruction->guard);
        if (falls_through && index + 1 < items.size())
            successors.push_back(block + 1);
    }
    return blocks;
}

class LoopFinder {
public:
    explicit LoopFinder(const Blocks& blocks)
        : blocks_(blocks),
          header_(blocks.successors.size(), kNone),
          position_(blocks.successors.size(), 0),
          visited_(blocks.successors.size(), false),
          is_header_(blocks.successors.size(), false) {}

    /// Depth of each block; nullopt where the step limit was reached.
    std::optional<std::vector<std::uint32_t>> depths() {
        if (!blocks_.successors.empty())
            walk(0);
        if (steps_ > kStepLimit)
            return std::nullopt;
        return lengths_of_chains();
    }

private:
    struct Frame {
        std::uint32_t block;
        std::size_t next;
    };

    void walk(std::uint32_t start) {
        std::vector<Frame> frames;
        enter(frames, start);
        while (!frames.empty() && steps_ <= kStepLimit) {
            Frame& frame = frames.back();
            const auto& successors = blocks_.successors[frame.block];
            if (frame.next < successors.size()) {
                const std::uint32_t to = successors[frame.next++];
                if (visited_[to])
                    seen(frame.block, to);
                else
                    enter(frames, to);
                continue;
            }
            const std::uint32_t done = frame.block;
            position_[done] = 0;
            frames.pop_back();
            if (!frames.empty())
                set_header(frames.back().block, header_[done]);
        }
    }

    void enter(std::vector<Frame>& frames, std::uint32_t block) {
        visited_[block] = true;
        frames.push_back({block, 0});
        position_[block] = static_cast<std::uint32_t>(frames.size());
    }

    void seen(std::uint32_t from, std::uint32_t to) {
        if (position_[to] > 0) {  // an edge back to a block of the current path
            is_header_[to] = true;
            set_header(from, to);
            return;
        }
        // Into a finished block: its loops that are on the current path hold `from` too.
        std::uint32_t header = header_[to];
        while (header != kNone && position_[header] == 0) {
            header = header_[header];
            ++steps_;
        }
        set_header(from, header);
    }

    /// Puts `header` into the chain of `block`, which is ordered by position on the current path.
    void set_header(std::uint32_t block, std::uint32_t header) {
        if (header == kNone || block == header)
            return;
        std::uint32_t one = block, two = header;
        while (header_[one] != kNone && steps_ <= kStepLimit) {
            ++steps_;
            const std::uint32_t next = header_[one];
            if (next == two)
                return;
            if (position_[next] < position_[two]) {
                header_[one] = two;
                one = two;
                two = next;
            } else {
                one = next;
            }
        }
        if (one != two)
            header_[one] = two;
    }

    std::vector<std::uint32_t> lengths_of_chains() const {
        std::vector<std::uint32_t> depth(header_.size(), 0);
        std::vector<bool> known(header_.size(), false);
        std::vector<std::uint32_t> chain;
        for (std::uint32_t block = 0; block < header_.size(); ++block) {
            chain.clear();
            std::uint32_t at = block;
            while (at != kNone && !known[at] && chain.size() <= header_.size()) {
                chain.push_back(at);
                at = header_[at];
            }
            for (auto one = chain.rbegin(); one != chain.rend(); ++one) {
                const std::uint32_t outer = header_[*one] == kNone ? 0 : depth[header_[*one]];
                depth[*one] = outer + (is_header_[*one] ? 1 : 0);
                known[*one] = true;
            }
        }
        return depth;
    }

    const Blocks& blocks_;
    std::vector<std::uint32_t> header_;    ///< innermost loop header that is not the block itself
    std::vector<std::uint32_t> position_;  ///< on the current path, from 1; 0: not on it
    std::vector<bool> visited_;
    std::vector<bool> is_header_;
    std::uint64_t steps_ = 0;
};

}  // namespace

Continuation continuation_of(const ptx::Instruction& instruction) {
    const std::string_view name = instruction.parts.empty() ? std::string_view() : instruction.parts.front();
    if (name == "bra")
        return Continuation::branch;
    if (name == "brx")
        return Continuation::indexed_branch;
    if (name == "ret" || name == "exit" || name == "trap")
        return Continuation::leave;
    return Continuation::next;
}

std::vector<std::uint32_t> loop_depths(const Outline& outline) {
    std::vector<std::uint32_t> result(outline.items().size(), 0);
    const Blocks blocks = find_blocks(outline);
    const auto depths = LoopFinder(blocks).depths();
    if (depths)
        for (std::size_t index = 0; index < result.size(); ++index)
            result[index] = (*depths)[blocks.block_of[index]];
    return result;
}

bool may_fall_off_the_end(const Outline& outline) {
    const auto& items = outline.items();
    std::unordered_set<std::string_view> targets;
    for (const auto& item : items) {
        if (const auto* instruction = item.instruction()) {
            if (continuation_of(*instruction) == Continuation::branch && !instruction->operands.empty())
                targets.insert(instruction->operands.front().text);
        } else if (const auto* directive = item.directive();
                   directive != nullptr && directive->name == "branchtargets") {
            for (const auto name : identifiers_in(directive->text))
                targets.insert(name);
        }
    }
    for (std::size_t index = items.size(); index-- > 0;) {
        if (const auto* label = items[index].label(); label != nullptr && targets.contains(label->name))
            return true;  // nothing stands between it and the end
        if (const auto* instruction = items[index].instruction())
            return instruction->guard.has_value() || continuation_of(*instruction) == Continuation::next;
    }
    return true;
}

}  // namespace egpu::inject

// SPDX-License-Identifier: Apache-2.0
#include "ebpf/specializer/stack_layout.hpp"

#include <algorithm>

#include "ebpf/specializer/liveness.hpp"

namespace egpu::ebpf::specializer {
namespace {

/// Uses of one frame in ascending order; those that overlap share a slot.
void lay_out_frame(std::uint32_t depth, std::vector<StackUse> uses, SpecializedProgram& program) {
    std::ranges::sort(uses, {}, [](const StackUse& use) { return std::pair(use.offset, use.bytes); });
    std::size_t begin = 0;
    while (begin < uses.size()) {
        std::int64_t end = uses[begin].offset + uses[begin].bytes;
        std::size_t after = begin + 1;
        bool same = true;
        for (; after < uses.size() && uses[after].offset < end; ++after) {
            same = same && uses[after].offset == uses[begin].offset && uses[after].bytes == uses[begin].bytes;
            end = std::max(end, uses[after].offset + std::int64_t{uses[after].bytes});
        }
        StackSlot slot;
        slot.depth = depth;
        slot.offset = uses[begin].offset;
        slot.bytes = static_cast<std::uint32_t>(end - slot.offset);
        const bool scalar = slot.bytes == 1 || slot.bytes == 2 || slot.bytes == 4 || slot.bytes == 8;
        slot.in_memory = !same || !scalar;
        if (slot.in_memory) {
            // Keeps the alignment that the frame, aligned to 8, gives.
            const auto into_word = static_cast<std::uint32_t>((slot.offset + kFrameBytes) % 8);
            slot.position = program.stack_bytes + into_word;
            program.stack_bytes += (into_word + slot.bytes + 7) & ~std::uint32_t{7};
        }
        program.stack.push_back(slot);
        begin = after;
    }
}

}  // namespace

void lay_out_stack(SpecializedProgram& program) {
    std::array<std::vector<StackUse>, kMaxFrames> frames;
    for (std::uint32_t at = 0; at < program.instructions.size(); ++at) {
        if (!program.facts[at].needed)
            continue;
        for (StackUse use : run_time_use(program, at).stack) {
            if (use.whole_frame) {
                use.offset = -kFrameBytes;
                use.bytes = static_cast<std::uint32_t>(kFrameBytes);
            }
            frames[use.depth].push_back(use);
        }
    }
    for (std::uint32_t depth = 0; depth < kMaxFrames; ++depth)
        lay_out_frame(depth, std::move(frames[depth]), program);
}

}  // namespace egpu::ebpf::specializer

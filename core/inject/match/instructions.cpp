// SPDX-License-Identifier: Apache-2.0
// What the events take (PTX ISA 9.0):
//   barrier       bar and barrier of a block (9.7.13.1) and barrier.cluster (9.7.13.3), in all their forms: sync, red,
//                 arrive, wait. No bar.warp.sync, which is about lanes, and no mbarrier, an object in memory that
//                 threads test in loops: each has its opcode, for instruction/PATTERN
//   branch        bra and brx.idx (9.7.12). Their guard is their condition, so the program runs for all that get there
//   call          call (9.7.12.5), before its arguments are stored
//   mma           wmma.mma (9.7.14.4), mma (9.7.14.5), wgmma.mma_async (9.7.15.5), tcgen05.mma (9.7.16.10), sparse ones
//   too basic_block   the first instruction of what is entered at its start and left at its end: after a label, a
//   branch
//                 and what leaves a function, whatever its own guard says. A label with no instruction behind it begins
//                 none
//   instruction   every instruction whose opcode the pattern matches
#include "inject/match/instructions.hpp"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/names.hpp"
#include "inject/match/calls.hpp"
#include "inject/match/flow.hpp"
#include "inject/match/outline.hpp"

namespace egpu::inject {
namespace {

using ebpf::Event;

/// "ld.global.f32" of `ld .global .f32`.
std::string opcode_of(const ptx::Instruction& instruction) {
    std::string opcode;
    for (const auto part : instruction.parts)
        opcode += (opcode.empty() ? "" : ".") + std::string(part);
    return opcode;
}

bool is_barrier(const ptx::Instruction& instruction) {
    const std::string_view name = instruction.parts.front();
    return name == "barrier" || (name == "bar" && !instruction.has("warp"));
}

bool is_mma(const ptx::Instruction& instruction) {
    const std::string_view name = instruction.parts.front();
    if (name == "mma")
        return true;
    const std::string_view what = instruction.parts.size() > 1 ? instruction.parts[1] : std::string_view();
    return (name == "wmma" && what == "mma") || (name == "wgmma" && what == "mma_async") ||
           (name == "tcgen05" && what == "mma");
}

bool takes(const ebpf::InjectionPoint& point, const ptx::Instruction& instruction) {
    switch (point.event) {
        case Event::instruction:
            return glob_matches(point.opcode_pattern, opcode_of(instruction));
        case Event::barrier:
            return is_barrier(instruction);
        case Event::branch:
            return instruction.parts.front() == "bra" || instruction.parts.front() == "brx";
        case Event::call:
            return instruction.parts.front() == "call";
        case Event::mma:
            return is_mma(instruction);
        default:
            return false;
    }
}

class Finder {
public:
    Finder(const ptx::Module& module, const ebpf::InjectionPoint& point) : module_(module), point_(point) {}

    void look_through(const ptx::Function& function) {
        const Outline outline(module_, function);
        const auto depths = loop_depths(outline);
        const CallSequences calls(outline);
        bool begins = true;  // a block
        for (std::size_t index = 0; index < outline.items().size(); ++index) {
            begins = begins || outline.items()[index].label() != nullptr;
            const auto* instruction = outline.items()[index].instruction();
            if (instruction == nullptr)
                continue;
            if (point_.event == Event::basic_block ? begins : takes(point_, *instruction))
                add(outline, calls, index, depths[index]);
            begins = continuation_of(*instruction) != Continuation::next;
        }
    }

    Matches finish() {
        if (unplaced_ > 0) {
            matches_.notes.push_back(note(
                "EGPU-P256",
                fmt::format(
                    "{} sites of '{}' are not counted: they stand in a call's sequence of arguments or results that "
                    "is not straight",
                    unplaced_, ebpf::to_name(point_.event))));
        }
        return std::move(matches_);
    }

private:
    void add(const Outline& outline, const CallSequences& calls, std::size_t index, std::uint32_t depth) {
        const auto place = calls.place_for(index);
        if (!place) {
            ++unplaced_;
            return;
        }
        const auto* instruction = outline.items()[index].instruction();
        Site site;
        site.function = &outline.function();
        site.instruction = instruction;
        site.anchor = outline.items()[place->item].instruction();
        site.behind = place->behind;
        if (point_.event != Event::branch && point_.event != Event::basic_block)
            site.guard = instruction->guard;
        site.loop_depth = depth;
        site.source = instruction->source;
        matches_.sites.push_back(std::move(site));
    }

    const ptx::Module& module_;
    const ebpf::InjectionPoint& point_;
    Matches matches_;
    std::size_t unplaced_ = 0;
};

}  // namespace

bool is_instruction_event(Event event) {
    return event == Event::barrier || event == Event::branch || event == Event::basic_block || event == Event::call ||
           event == Event::mma || event == Event::instruction;
}

Matches find_instruction_sites(const ptx::Module& module, const std::vector<const ptx::Function*>& functions,
                               const ebpf::InjectionPoint& point) {
    Finder finder(module, point);
    for (const auto* function : functions)
        finder.look_through(*function);
    return finder.finish();
}

}  // namespace egpu::inject

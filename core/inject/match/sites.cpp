// SPDX-License-Identifier: Apache-2.0
// The memory instructions and the entry and exit that an injection point names. What it would name but egpu can't
// count is in the notes, never left out in silence.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "inject/match/flow.hpp"
#include "inject/match/instructions.hpp"
#include "inject/match/match.hpp"
#include "inject/match/outline.hpp"
#include "inject/match/spaces.hpp"
#include "inject/match/ways_out.hpp"

namespace egpu::inject {
namespace {

using ebpf::Event;
using ptx::AccessKind;
using ptx::AccessSpace;

bool event_takes(Event event, AccessKind kind) {
    const bool atomic = kind == AccessKind::atomic || kind == AccessKind::reduction;
    switch (event) {
        case Event::load:
        case Event::load_return:
            return kind == AccessKind::load;
        case Event::store:
            return kind == AccessKind::store;
        case Event::atomic:
            return atomic;
        case Event::atomic_return:
            return kind == AccessKind::atomic;
        case Event::async_copy:
            return kind == AccessKind::async_copy;
        case Event::mem:
            return kind == AccessKind::load || kind == AccessKind::store || atomic;
        default:
            return false;
    }
}

AccessSpace to_access_space(ebpf::Space space) {
    switch (space) {
        case ebpf::Space::global:
            return AccessSpace::global;
        case ebpf::Space::shared:
            return AccessSpace::shared;
        case ebpf::Space::local:
            return AccessSpace::local;
        case ebpf::Space::constant:
            return AccessSpace::constant;
        case ebpf::Space::generic:
            break;
    }
    return AccessSpace::generic;
}

/// What is not counted at memory events, for the notes.
struct NotCounted {
    std::uint32_t async_copies = 0;
    std::uint32_t unknown = 0;
    std::uint32_t untold_generic = 0;
    std::uint32_t untimed = 0;
    std::set<std::string> unknown_opcodes, untimed_opcodes;
};

/// A load or an atomic that has an address to wait for before and a register to wait for behind it.
bool can_be_timed(const ptx::Instruction& instruction, const ptx::MemoryAccess& access) {
    if (access.address_operand < 0 || access.value_operand < 0)
        return false;
    const auto& value = instruction.operands[static_cast<std::size_t>(access.value_operand)];
    for (const auto* part : with_parts(value))
        if (part->kind == ptx::Operand::Kind::identifier && part->text != "_")
            return true;
    return false;
}

void add_notes(const NotCounted& missed, const ebpf::InjectionPoint& point, std::vector<Diagnostic>& notes) {
    if (missed.async_copies > 0)
        notes.push_back(note("EGPU-P250",
                             fmt::format("{} asynchronous {} (cp.async) {} not counted at '{}'", missed.async_copies,
                                         missed.async_copies == 1 ? "copy" : "copies",
                                         missed.async_copies == 1 ? "is" : "are", ebpf::to_name(point.event)),
                             "they are an event of their own: gpu/async_copy"));
    if (missed.unknown > 0)
        notes.push_back(note("EGPU-P251", fmt::format("{} accesses are not counted: what they do to memory isn't in "
                                                      "the instruction ({})",
                                                      missed.unknown, few_of(missed.unknown_opcodes))));
    if (missed.untimed > 0)
        notes.push_back(
            note("EGPU-P254", fmt::format("{} accesses are not counted at '{}': they have no address or no "
                                          "value to wait for ({})",
                                          missed.untimed, ebpf::to_name(point.event), few_of(missed.untimed_opcodes))));
    if (missed.untold_generic > 0)
        notes.push_back(note(
            "EGPU-P252",
            fmt::format("{} generic accesses are not counted under '.{}': constant variables are read by address in a "
                        "copy, so a test at run time can't tell them from global ones",
                        missed.untold_generic, ebpf::to_name(*point.space)),
            "leave the space out: the program then fires for them with space 'generic'"));
}

class SiteFinder {
public:
    SiteFinder(const ptx::Module& module, const ebpf::InjectionPoint& point, bool constants_are_generic)
        : module_(module), point_(point), constants_are_generic_(constants_are_generic) {}

    void look_through(const ptx::Function& function) {
        const Outline outline(module_, function);
        const auto depths = loop_depths(outline);
        std::optional<GenericSpaces> spaces;
        for (std::size_t index = 0; index < outline.items().size(); ++index) {
            const auto* instruction = outline.items()[index].instruction();
            if (instruction == nullptr)
                continue;
            auto access = ptx::memory_access(*instruction);
            if (!access) {
                if (ptx::touches_memory_in_an_unknown_way(*instruction)) {
                    ++missed_.unknown;
                    missed_.unknown_opcodes.emplace(instruction->opcode);
                }
                continue;
            }
            // They read: a program at loads may take itself for one of them.
            if (access->kind == AccessKind::async_copy && (point_.event == Event::load || point_.event == Event::mem))
                ++missed_.async_copies;
            if (!event_takes(point_.event, access->kind))
                continue;
            if (access->bytes == ptx::MemoryAccess::Bytes::at_run_time ||
                access->bytes == ptx::MemoryAccess::Bytes::in_tensor_map)
                check_bytes(outline, index, *access);
            if (ebpf::waits_for_value(point_.event) && !can_be_timed(*instruction, *access)) {
                ++missed_.untimed;
                missed_.untimed_opcodes.emplace(instruction->opcode);
                continue;
            }
            Site site;
            site.function = &function;
            site.instruction = site.anchor = instruction;
            site.access = *access;
            site.loop_depth = depths[index];
            site.source = instruction->source;
            site.guard = instruction->guard;
            if (access->space == AccessSpace::generic) {
                if (!spaces)
                    spaces.emplace(outline);
                resolve(index, *spaces, site);
            }
            take(site, access->space == AccessSpace::generic);
        }
    }

    Matches finish() {
        add_notes(missed_, point_, matches_.notes);
        return std::move(matches_);
    }

private:
    /// What isn't a register here says nothing.
    static void check_bytes(const Outline& outline, std::size_t index, ptx::MemoryAccess& access) {
        using Bytes = ptx::MemoryAccess::Bytes;
        const auto& operands = outline.items()[index].instruction()->operands;
        const auto& operand = operands[static_cast<std::size_t>(access.bytes_operand)];
        const bool is_map = access.bytes == Bytes::in_tensor_map;
        const auto bits = outline.register_bits(is_map ? operand.base : operand.text, index);
        if (is_map ? bits != 64 : bits != 1 && bits != 32 && bits != 64)
            access.bytes = Bytes::unknown;
    }

    void resolve(std::size_t index, const GenericSpaces& spaces, Site& site) const {
        const auto& operands = site.instruction->operands;
        const auto at = static_cast<std::size_t>(site.access.address_operand);
        if (site.access.address_operand < 0 || at >= operands.size())
            return;
        if (const auto space = spaces.space_of(base_name(operands[at]), index))
            site.access.space = *space;
    }

    void take(Site& site, bool written_generic) {
        // Textures and surfaces lie in none of the spaces that a section can name.
        if (point_.space && site.access.space == AccessSpace::texture)
            return;
        if (!point_.space || (*point_.space == ebpf::Space::generic && written_generic)) {
            matches_.sites.push_back(site);
            return;
        }
        const AccessSpace wanted = to_access_space(*point_.space);
        if (site.access.space == wanted) {
            matches_.sites.push_back(site);
            return;
        }
        if (site.access.space != AccessSpace::generic || wanted == AccessSpace::generic)
            return;
        const bool told_at_run_time = wanted == AccessSpace::shared || wanted == AccessSpace::local ||
                                      (wanted == AccessSpace::global && !constants_are_generic_);
        if (told_at_run_time) {
            site.tested_space = wanted;
            matches_.sites.push_back(site);
        } else if (constants_are_generic_) {
            ++missed_.untold_generic;
        }
        // Constant space, and no constant variable becomes a generic address: none of these accesses is to constants.
    }

    const ptx::Module& module_;
    const ebpf::InjectionPoint& point_;
    bool constants_are_generic_;
    Matches matches_;
    NotCounted missed_;
};

/// True where some reachable code makes a generic address of a constant variable.
bool makes_generic_constants(const std::vector<const ptx::Function*>& functions, const ptx::Module& module) {
    for (const auto* function : functions) {
        const Outline outline(module, *function);
        for (const auto& item : outline.items())
            if (const auto* instruction = item.instruction();
                instruction != nullptr && instruction->parts.front() == "cvta" && instruction->has("const"))
                return true;
    }
    return false;
}

}  // namespace

Diagnostic note(std::string_view code, std::string message, std::string hint) {
    Diagnostic diagnostic = error(code, std::move(message), std::move(hint));
    diagnostic.severity = Severity::warning;
    return diagnostic;
}

std::string few_of(const std::set<std::string>& opcodes) {
    std::string list;
    std::size_t shown = 0;
    for (const auto& opcode : opcodes) {
        list += (shown == 0 ? "" : ", ") + (shown == 4 ? std::string("...") : opcode);
        if (++shown == 5)
            break;
    }
    return list;
}

Matches find_sites(const ptx::Module& module, const std::vector<const ptx::Function*>& functions,
                   const ebpf::InjectionPoint& point) {
    Matches matches;
    if (functions.empty())
        return matches;
    if (point.event == Event::kernel_entry || point.event == Event::kernel_exit) {
        if (point.event == Event::kernel_exit && ways_out(module, functions) == WaysOut::none) {
            matches.notes.push_back(note("EGPU-P253", "no thread ever leaves this kernel: it has no exit"));
            return matches;
        }
        Site whole;
        whole.function = functions.front();
        matches.sites.push_back(std::move(whole));
        return matches;
    }
    if (is_instruction_event(point.event))
        return find_instruction_sites(module, functions, point);
    SiteFinder finder(module, point, makes_generic_constants(functions, module));
    for (const auto* function : functions)
        finder.look_through(*function);
    return finder.finish();
}

}  // namespace egpu::inject

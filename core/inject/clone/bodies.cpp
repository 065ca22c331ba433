// SPDX-License-Identifier: Apache-2.0
//   others:   .func f(...) { ld ... }           sampled:   .func f(...) { <program> ld ... }
//             .entry k(.param .u64 p)                      .entry k(.param .u64 p)
//             {                                            {
//               .reg .b32 %r<4>;                             .reg .b32 %r<4>;
//               .shared .b8 tile[64];                        .shared .b8 tile[64];
//             $L1: call f, (...);                          $L1: call f, (...);
//               ret;                                         <program> ret;
//             }                                            }
//
//   joined:   .func f(...) { ld ... }
//             .func $egpu_sampled_f(...) { <program> ld ... }
//             .entry k(.param .u64 p)
//             {
//               .shared .b8 tile[64];                      // one for both bodies
//               .reg .pred %egpu_chosen; ...
//               <index of the block or warp in the grid, mixed: %egpu_chosen>
//               @%egpu_chosen bra.uni $egpu_sampled;
//               {
//                 .reg .b32 %r<4>;
//               $L1: call f, (...);
//                 ret;
//                 ret;                                     // where a body ends without one
//               }
//             $egpu_sampled:
//               {
//                 .reg .b32 %r<4>;
//               $L1: call $egpu_sampled_f, (...);
//                 <program> ret;
//               }
//             }
// Nothing but functions has to be renamed: registers, labels, tables of branch targets and call prototypes belong to
// the scope that declares them (PTX ISA 4.4). Of a device function that reads the same in both there is one.
//
// The choice. i is the linear index of the block in the grid, or of the warp (that of its block times the warps of a
// block, and its own: linear thread index / 32), in 32 bits:
//   h = i * 0x6a09e667;  h = h ^ (h >> 15);  h = h * 0xbb67ae85;  chosen where the high word of h * N is 0
// The factors are the first bits of the fractions of sqrt(2) and sqrt(3): odd, so that different indices stay
// different. Block and warp 0 are always chosen: a grid that is smaller than N isn't left out. A stride of the
// application's, 2^k among them, hits one in N as chance would (tests/inject/clone/bodies_test.cpp).
//
// All threads of a warp take the same body, so what a warp must execute together (bar.sync.aligned and the like also on
// sm_60, where threads of a warp may not be apart at a barrier; PTX ISA 9.7.13.1) it does. A barrier counts arrivals by
// its number, whichever instruction they come from. wgmma and setmaxnreg need the same instruction of all four warps of
// a warpgroup (PTX ISA 9.7.15, 9.7.19.5): kernels that have them choose by four consecutive warps of a block.
#include "inject/clone/bodies.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "inject/match/outline.hpp"
#include "ptx/syntax/edit.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::inject {
namespace {

constexpr std::string_view kSampledPrefix = "$egpu_sampled_";
constexpr std::uint32_t kWarpgroup = 4;

std::unordered_map<std::string_view, const ptx::Function*> definitions(const ptx::Module& module) {
    std::unordered_map<std::string_view, const ptx::Function*> found;
    for (const auto& function : module.functions)
        if (function.body)
            found.emplace(function.name, &function);
    return found;
}

/// Names of device functions that the function calls, as they stand in its text.
std::vector<std::string_view> called_names(const ptx::Module& module, const ptx::Function& function) {
    const Outline outline(module, function);
    std::vector<std::string_view> names;
    for (std::size_t index = 0; index < outline.items().size(); ++index) {
        const auto* instruction = outline.items()[index].instruction();
        if (instruction == nullptr || instruction->parts.front() != "call")
            continue;
        for (const auto& operand : instruction->operands)
            if (const auto name = base_name(operand);
                !name.empty() && outline.meaning_of(name, index).kind == Meaning::Kind::function)
                names.push_back(name);
    }
    return names;
}

bool is_for_warpgroups(const ptx::Module& module, const ptx::Function& function) {
    const Outline outline(module, function);
    return std::any_of(outline.items().begin(), outline.items().end(), [](const OutlineItem& item) {
        const auto* instruction = item.instruction();
        return instruction != nullptr &&
               (instruction->parts.front() == "wgmma" || instruction->parts.front() == "setmaxnreg");
    });
}

/// Statements at the top of the entry's body that declare memory which both bodies can share; whole, with all names.
std::vector<ptx::Range> shared_declarations(const ptx::Module& module, const ptx::Function& entry) {
    std::vector<ptx::Range> ranges;
    std::optional<std::uint32_t> begin;
    for (const auto& statement : entry.body->statements) {
        const auto* variable = std::get_if<ptx::Variable>(&statement);
        if (variable == nullptr || (variable->space != ptx::Space::shared && variable->space != ptx::Space::local))
            continue;
        begin = begin.value_or(variable->range.begin);
        if (!module.slice(variable->range).ends_with(';'))
            continue;
        ranges.push_back({*begin, variable->range.end});
        begin.reset();
    }
    return ranges;
}

/// Between the braces of a body, without some ranges.
std::string inner_text(const ptx::Module& module, const ptx::Scope& body, const std::vector<ptx::Range>& without) {
    std::string text;
    std::uint32_t at = body.open.end;
    for (const auto& range : without) {
        text += module.slice({at, range.begin});
        at = range.end;
    }
    return text + std::string(module.slice({at, body.close.begin}));
}

/// Shared memory that a second body would have a second time: of an inner scope, or of a device function.
Status refuse_unshared(const ptx::Module& module, const ptx::Function& function) {
    constexpr std::uint32_t kOutermost = 0;
    const Outline outline(module, function);
    for (const auto& item : outline.items()) {
        const auto* variable = item.variable();
        if (variable == nullptr || variable->space != ptx::Space::shared || variable->linkage == "extern" ||
            (function.is_entry && item.scope == kOutermost))
            continue;
        Diagnostic diagnostic = error(
            "EGPU-P260", fmt::format("'{}' declares shared memory '{}' in its own scope: a copy with two bodies would "
                                     "have it twice",
                                     function.name, variable->name));
        diagnostic.fix = "run its probes unsampled, or leave this kernel out with --exclude-kernel";
        return diagnostic;
    }
    return ok();
}

/// The text that chooses, and how many instructions it has.
class Choice {
public:
    Choice(const Sampling& sampling, std::uint32_t warps_of_a_group) {
        text_ = "\n\t.reg .pred %egpu_chosen;\n\t.reg .b32 %egpu_choice<4>;\n";
        move(0, "%ctaid.z");
        multiply_add("%nctaid.y", "%ctaid.y");
        multiply_add("%nctaid.x", "%ctaid.x");
        if (sampling.unit == Sampling::Unit::warps)
            index_of_group(32 * warps_of_a_group);
        add("mul.lo.u32 %egpu_choice0, %egpu_choice0, 0x6a09e667");
        add("shr.u32 %egpu_choice1, %egpu_choice0, 15");
        add("xor.b32 %egpu_choice0, %egpu_choice0, %egpu_choice1");
        add("mul.lo.u32 %egpu_choice0, %egpu_choice0, 0xbb67ae85");
        add(fmt::format("mul.hi.u32 %egpu_choice0, %egpu_choice0, {}", sampling.one_in));
        add("setp.eq.u32 %egpu_chosen, %egpu_choice0, 0");
        add("@%egpu_chosen bra.uni $egpu_sampled");
    }

    const std::string& text() const { return text_; }
    std::uint32_t instructions() const { return instructions_; }

private:
    void add(std::string_view instruction) {
        text_ += fmt::format("\t{};\n", instruction);
        ++instructions_;
    }
    void move(int to, std::string_view special) { add(fmt::format("mov.u32 %egpu_choice{}, {}", to, special)); }

    /// The index so far times a size, and the next coordinate.
    void multiply_add(std::string_view size, std::string_view coordinate) {
        move(1, size);
        move(2, coordinate);
        add("mad.lo.u32 %egpu_choice0, %egpu_choice0, %egpu_choice1, %egpu_choice2");
    }

    /// From the block's index to that of its group of `threads` threads (a power of 2).
    void index_of_group(std::uint32_t threads) {
        int shift = 0;
        while ((1U << shift) < threads)
            ++shift;
        move(1, "%ntid.x");
        move(2, "%ntid.y");
        add("mul.lo.u32 %egpu_choice1, %egpu_choice1, %egpu_choice2");
        move(2, "%ntid.z");
        add("mul.lo.u32 %egpu_choice1, %egpu_choice1, %egpu_choice2");
        add(fmt::format("add.u32 %egpu_choice1, %egpu_choice1, {}", threads - 1));
        add(fmt::format("shr.u32 %egpu_choice1, %egpu_choice1, {}", shift));
        add("mul.lo.u32 %egpu_choice0, %egpu_choice0, %egpu_choice1");
        move(1, "%tid.z");
        move(2, "%ntid.y");
        move(3, "%tid.y");
        add("mad.lo.u32 %egpu_choice1, %egpu_choice1, %egpu_choice2, %egpu_choice3");
        move(2, "%ntid.x");
        move(3, "%tid.x");
        add("mad.lo.u32 %egpu_choice1, %egpu_choice1, %egpu_choice2, %egpu_choice3");
        add(fmt::format("shr.u32 %egpu_choice1, %egpu_choice1, {}", shift));
        add("add.u32 %egpu_choice0, %egpu_choice0, %egpu_choice1");
    }

    std::string text_;
    std::uint32_t instructions_ = 0;
};

class Joining {
public:
    Joining(const ptx::Module& others, const ptx::Module& sampled, const std::string& entry)
        : others_(others),
          sampled_(sampled),
          entry_(*sampled.function(entry)),
          plain_(definitions(others)),
          editor_(sampled) {
        find_twofold();
    }

    Result<JoinedBodies> join(const Sampling& sampling) {
        JoinedBodies joined;
        for (const auto& function : sampled_.functions) {
            if (!function.body)
                continue;
            if (function.is_entry || is_twofold(function.name))
                if (auto status = refuse_unshared(sampled_, function); !status)
                    return status.errors();
            if (sampling.unit == Sampling::Unit::warps && is_for_warpgroups(sampled_, function))
                joined.warps_of_a_group = kWarpgroup;
        }
        for (const auto& function : sampled_.functions)
            if (is_twofold(function.name))
                write_second(function);
        const Choice choice(sampling, joined.warps_of_a_group);
        write_entry(choice);
        joined.instructions = choice.instructions();
        joined.ptx = editor_.apply();
        return joined;
    }

private:
    bool is_twofold(std::string_view name) const { return twofold_.contains(name); }

    /// Device functions that differ, and those that call one.
    void find_twofold() {
        std::unordered_map<std::string_view, std::vector<std::string_view>> calls;
        for (const auto& function : sampled_.functions) {
            if (!function.body || function.is_entry)
                continue;
            calls[function.name] = called_names(sampled_, function);
            const auto& body = plain_.at(function.name)->body;
            if (others_.slice(body->range) != sampled_.slice(function.body->range))
                twofold_.insert(function.name);
        }
        for (bool grew = true; grew;) {
            grew = false;
            for (const auto& [name, called] : calls)
                if (std::any_of(called.begin(), called.end(), [&](auto each) { return is_twofold(each); }))
                    grew = twofold_.insert(name).second || grew;
        }
    }

    /// In the sampled text: the name becomes that of the second function.
    void rename(std::string_view name) {
        editor_.insert_before(ptx::range_of(sampled_, name), std::string(kSampledPrefix));
    }

    void rename_calls(const ptx::Function& function) {
        for (const auto name : called_names(sampled_, function))
            if (is_twofold(name))
                rename(name);
    }

    /// A declaration or definition, twice: as it was, then with the other name and the programs.
    void write_second(const ptx::Function& function) {
        const auto text =
            function.body ? others_.slice(plain_.at(function.name)->range) : sampled_.slice(function.range);
        editor_.insert_before(function.range, fmt::format("{}\n", text));
        rename(function.name);
        if (function.body)
            rename_calls(function);
    }

    void write_entry(const Choice& choice) {
        const auto& plain = *plain_.at(entry_.name);
        const auto declared = shared_declarations(sampled_, entry_);
        std::string text;
        for (const auto& range : declared)
            text += fmt::format("\n\t{}", sampled_.slice(range));
        text += choice.text();
        // Control that reaches the end of a body would go on into the other one.
        text += fmt::format("\t{{{}\tret;\n\t}}\n$egpu_sampled:\n\t{{",
                            inner_text(others_, *plain.body, shared_declarations(others_, plain)));
        editor_.insert_after(entry_.body->open, std::move(text));
        for (const auto& range : declared)
            editor_.erase(range);
        rename_calls(entry_);
        editor_.insert_before(entry_.body->close, "\t}\n");
    }

    const ptx::Module& others_;
    const ptx::Module& sampled_;
    const ptx::Function& entry_;
    std::unordered_map<std::string_view, const ptx::Function*> plain_;
    std::unordered_set<std::string_view> twofold_;
    ptx::Editor editor_;
};

}  // namespace

Result<JoinedBodies> join_bodies(const std::string& others, const std::string& sampled, const std::string& entry,
                                 const Sampling& sampling) {
    const auto plain = ptx::parse(others, "copy without the sampled programs");
    if (!plain)
        return plain.errors();
    const auto full = ptx::parse(sampled, "copy with the sampled programs");
    if (!full)
        return full.errors();
    return Joining(*plain, *full, entry).join(sampling);
}

}  // namespace egpu::inject

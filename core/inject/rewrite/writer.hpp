// SPDX-License-Identifier: Apache-2.0
// What the rewrites of one function share: its outline, the context of the code generator, the places where nothing
// or only straight code may be inserted.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "inject/match/calls.hpp"
#include "inject/match/outline.hpp"
#include "inject/rewrite/accumulators.hpp"
#include "inject/rewrite/firing.hpp"

namespace egpu::inject {

class FunctionWriter {
public:
    FunctionWriter(const RewriteRequest& request, const ptx::Function& function, FunctionContext& context,
                   ptx::Editor& editor, RewriteResult& result);

    const RewriteRequest& request() const { return request_; }
    const Outline& outline() const { return outline_; }
    const ptx::Function& function() const { return outline_.function(); }
    FunctionContext& context() { return context_; }
    ptx::Editor& editor() { return editor_; }

    std::size_t index_of(const ptx::Instruction& instruction) const { return index_of_.at(&instruction); }
    /// Inserting here would split a call from its arguments or its result.
    bool inside_call_sequence(std::size_t index) const { return calls_.inside(index); }
    /// Between wgmma.fence and commit_group: only straight code (PTX ISA 9.7.15.7; else ptxas serialises, C7519).
    bool straight_code_only(std::size_t index) const { return straight_only_[index]; }

    std::string new_label();
    void count(std::uint32_t instructions) { result_.instructions_added += instructions; }
    void count_place() { ++result_.sites; }
    /// The site isn't the program's after all: a note instead, one for a program and an instruction.
    void skip(const Firing& firing, std::string_view code, std::string reason);
    bool is_skipped(const Firing& firing) const { return skipped_.contains({firing.program, firing.site.instruction}); }

    /// What is counted instead of written out; must outlive the writer.
    void count_with(const Sums& sums);
    bool is_counted(const Firing& firing) const { return sums_ != nullptr && sums_->counted.contains(&firing); }
    /// Text of the counts that stand before an instruction, or after it.
    std::string counts_at(const ptx::Instruction& instruction, bool after);

    /// The entry says who came first and every exit who leaves last, for programs once a grid.
    void follow_grids() { follows_grids_ = true; }
    bool follows_grids() const { return follows_grids_; }
    bool is_once_a_grid(const Firing& firing) const {
        return request_.programs[firing.program].program->point.granularity == ebpf::Granularity::grid;
    }

    /// The text of a firing with this binding; counted. Granularity, event and numbers are filled in.
    Result<std::string> emit(const Firing& firing, SiteBinding binding);

private:
    void mark_wgmma();

    const RewriteRequest& request_;
    Outline outline_;
    FunctionContext& context_;
    ptx::Editor& editor_;
    RewriteResult& result_;
    const Sums* sums_ = nullptr;
    std::unordered_map<const ptx::Instruction*, std::vector<const Count*>> counts_;  ///< of the entry function
    bool follows_grids_ = false;
    bool uses_carry_ = false;  ///< CC.CF of the application's additions must stay as it is
    std::unordered_map<const ptx::Instruction*, std::size_t> index_of_;
    const CallSequences calls_;
    std::vector<bool> straight_only_;
    std::set<std::pair<std::size_t, const ptx::Instruction*>> skipped_;
};

/// Statements as they are inserted behind the blanks that stand before a statement: without the first tab.
std::string_view inserted(std::string_view text);

/// Firings at one instruction, or at one function's entry or exit.
using Firings = std::vector<const Firing*>;

/// The programs that run once a grid, for the one thread of it (`entry`: the first to enter; else the last to leave),
/// and what finds that thread. "" where the kernel has no such program.
Result<std::string> grid_text(FunctionWriter& writer, const Firings& firings, bool entry);
/// The start of a function: addresses, accumulators, programs at kernel_entry.
Status rewrite_start(FunctionWriter& writer, const Firings& firings);
/// An instruction that leaves the kernel, and the end of the entry function where control can reach it.
Status rewrite_exit(FunctionWriter& writer, const ptx::Instruction& instruction, const Firings& firings);
Status rewrite_end(FunctionWriter& writer, const Firings& firings);
/// The firings whose text stands at one instruction.
struct AtInstruction {
    Firings before;
    Firings behind;    ///< behind a call's results
    Firings returned;  ///< load_return, atomic_return: the access is timed
};
Status rewrite_instruction(FunctionWriter& writer, const ptx::Instruction& instruction, const AtInstruction& firings);

/// A binding for a memory instruction; `base` stands for the address register where it is not empty.
SiteBinding bind_memory(const FunctionWriter& writer, const Firing& firing, std::string_view base = {});
/// What a program is told of a site: so far, which lanes fire.
SiteBinding guarded_binding(const Site& site);
/// The text of a firing at a memory instruction, with the test of its address where one is needed.
Result<std::string> memory_text(FunctionWriter& writer, const Firing& firing, std::string_view base,
                                std::string_view latency);
/// Statements before and after a load that measure its latency.
struct TimedLoad {
    std::string before, after;
    std::string latency;  ///< register
    std::string address;  ///< register with the base address, which the load may overwrite
    std::uint32_t instructions = 0;
};
TimedLoad time_load(const FunctionWriter& writer, const Firing& firing);

}  // namespace egpu::inject

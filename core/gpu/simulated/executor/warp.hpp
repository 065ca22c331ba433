// SPDX-License-Identifier: Apache-2.0
// A warp: lanes that run in lock step while they can, as a tree of paths.
//
// The leaves of the tree are paths, each with a pc and the lanes that are there. A divergent branch turns its path into
// a meeting with two paths below it; a path that comes to the meeting's pc (the branch's immediate post-dominator)
// gives its lanes back, and when all lanes of the meeting have come it is a path again. A call is such a node too: its
// lanes come back when they return.
//
//   A: @p bra C;          path {A, lanes 0-31}
//   B: ... bra D;   ->    meeting {D, 0-31}  +-- path {B, lanes where !p}
//   C: ...                                   +-- path {C, lanes where p}
//   D: ...
//
// Meeting is a courtesy, not a promise: lanes that wait for others which spin (on a lock that a waiting lane holds) are
// let go after a while and run on alone, so every lane makes progress (independent thread scheduling).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/simulated/executor/machine/context.hpp"
#include "gpu/simulated/executor/machine/program.hpp"

namespace egpu::simulated {

class Block;

/// Registers of one activation of a function, shared by all lanes that are in it.
struct Frame {
    std::unique_ptr<std::byte[], void (*)(std::byte*)> rows{nullptr, [](std::byte*) {}};
    std::uint32_t capacity = 0;
    std::uint32_t function = 0;
    std::uint64_t local_base = 0;
    bool used = false;
};

struct Node {
    enum class Kind : std::uint8_t { free, path, meeting, call };
    enum class State : std::uint8_t { ready, at_collective, at_barrier, at_wait, at_cluster };
    Kind kind = Kind::free;
    State state = State::ready;  ///< of a path
    std::uint32_t parent = 0;
    std::uint32_t pc = 0;            ///< path: next instruction; meeting, call: where it goes on
    std::uint32_t meets = kNowhere;  ///< pc at which its lanes go back to the parent
    Mask mask = 0;                   ///< lanes here, below or come back
    Mask arrived = 0;                ///< lanes come back
    std::uint32_t frame = 0;
    std::uint32_t callee_frame = 0;  ///< of a call
    std::uint32_t call_site = 0;
    std::uint32_t depth = 0;       ///< calls above it
    std::uint64_t steps = 0;       ///< of a path: instructions since it came to be, or since lanes were let go
    std::uint64_t spin_steps = 0;  ///< those of turns that had what waiting loops are made of, less half the others
};

enum class WarpState : std::uint8_t { runnable, blocked, done };

class Warp {
public:
    Warp(Block& block, std::uint32_t index) : block_(block), index_(index) {}

    /// Begins at the kernel's entry with these lanes.
    void start(Mask lanes, std::byte* warp_rows, std::byte* block_rows, std::uint64_t cycles);
    /// Runs about `steps` warp instructions, less where the warp ends or waits. False: a fault is in context().fault.
    bool run(std::uint64_t steps);

    WarpState state() const { return state_; }
    Mask live() const { return live_; }
    std::uint32_t index() const { return index_; }
    Context& context() { return context_; }
    std::uint64_t warp_instructions() const { return warp_instructions_; }
    std::uint64_t lane_instructions() const { return lane_instructions_; }
    /// The instruction that the fault is at.
    const Instruction& fault_instruction() const { return *fault_instruction_; }

    /// The barrier that all live lanes are at, if they are; the block then counts the warp as come.
    struct AtBarrier {
        std::uint32_t id = 0;
        std::optional<std::uint32_t> threads;  ///< count operand
        BarrierAction action = BarrierAction::sync;
        Mask predicates = 0;
        Mask lanes = 0;
        std::uint32_t line = 0;
    };
    const std::optional<AtBarrier>& at_barrier() const { return at_barrier_; }
    bool counted() const { return counted_; }
    void set_counted() { counted_ = true; }
    /// The barrier is complete: lanes go on; `result` is what a reduction found.
    void pass_barrier(std::uint32_t result);

    // waits.cpp: barriers of the cluster, mbarrier objects
    /// Lets paths go on whose mbarrier has completed the phase that they wait for.
    void poll_waits();
    /// Nobody in the cluster can go on: lanes that wait for others of their warp are let go, else waits for an mbarrier
    /// end without it, as try_wait may. False: it has neither.
    bool give_way();
    bool at_cluster_barrier() const { return (live_ & ~cluster_arrived_) == 0; }
    void pass_cluster_barrier();
    /// An mbarrier or a cluster's barrier is among what it waits for.
    bool waits_for_cluster() const;

    /// "lanes 0x0000ffff at barrier (line 12)": where its lanes wait.
    std::string describe_waiting();
    /// Makes the instruction that its first waiting path is at the fault's.
    void blame_waiting();

private:
    // warp.cpp
    template <bool Profiled>
    bool run_path(std::uint64_t steps);
    bool step_control(std::uint32_t index, const Instruction& instruction, Mask active, std::uint32_t& pc, bool& leave);
    bool choose_path();
    bool blocked();
    bool fault_at(const Instruction& instruction, FaultKind kind, unsigned lane, std::string text);
    bool trap(const Instruction& instruction, Mask active);
    void let_go_if_spinning(std::uint32_t index);
    void count_steps(std::uint32_t index, std::uint64_t steps, bool spins);

    // paths.cpp
    std::uint32_t new_node();
    void free_node(std::uint32_t node);
    void enter(std::uint32_t path);
    void diverge(std::uint32_t path, const Instruction& instruction,
                 std::span<const std::pair<std::uint32_t, Mask>> ways);
    void arrive(std::uint32_t path);
    void settle(std::uint32_t node);
    void exit_lanes(std::uint32_t path, Mask lanes);
    void return_lanes(std::uint32_t path, Mask lanes);
    void release_arrived(std::uint32_t node);
    bool release_waiting(std::uint32_t path);
    bool release_any();
    void merge_equal_paths();
    bool come_to_barrier(std::uint32_t path, const Instruction& instruction, Mask active);
    void note_barrier();

    // collectives.cpp
    Mask members_of(const Instruction& instruction, Mask lanes) const;
    std::uint32_t split_off(std::uint32_t path, const Instruction& instruction, Mask active);
    void exchange_values(const std::vector<std::uint32_t>& together, Mask come);
    bool collective(std::uint32_t path, const Instruction& instruction, Mask active);
    bool act_together(std::uint32_t path, const Instruction& instruction, Mask come,
                      const std::vector<std::uint32_t>& together);
    bool complete_collective(std::uint32_t path);
    Mask lanes_of_same_members(const Instruction& instruction, Mask lanes) const;
    std::vector<std::uint32_t> split_by_members(std::uint32_t path, const Instruction& instruction,
                                                std::span<const Mask> groups);

    // waits.cpp
    bool release_leaving();
    bool come_to_cluster_barrier(std::uint32_t path, const Instruction& instruction, Mask active);
    bool wait(std::uint32_t path, const Instruction& instruction, Mask active);

    // calls.cpp
    bool call(std::uint32_t path, const Instruction& instruction, Mask active);
    bool call_function(std::uint32_t node, const Instruction& instruction, std::uint32_t function, Mask lanes);
    bool call_builtin(const Instruction& instruction, Mask active);
    bool pass(const std::vector<Passed>& from, std::uint32_t from_frame, const std::vector<Passed>& to,
              std::uint32_t to_frame, Mask lanes);
    std::uint32_t new_frame(std::uint32_t function, std::uint64_t local_base);
    bool reserve_local(std::uint64_t bytes);

    Block& block_;
    const std::uint32_t index_;
    Context context_;
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> free_nodes_;
    std::vector<Frame> frames_;
    std::uint64_t frame_bytes_ = 0;  ///< in frames_
    std::vector<std::byte> local_;
    std::uint32_t current_ = 0;
    Mask live_ = 0;
    WarpState state_ = WarpState::done;
    std::optional<AtBarrier> at_barrier_;
    bool counted_ = false;
    Mask arrive_masks_[16] = {};
    Mask cluster_arrived_ = 0;      ///< lanes that have come to the cluster's barrier in this phase
    Mask cluster_pending_ = 0;      ///< lanes that have come to it and not waited yet
    std::uint64_t vain_tests_ = 0;  ///< mbarrier.test_wait in a row that found nothing
    std::uint64_t warp_instructions_ = 0, lane_instructions_ = 0;
    const Instruction* fault_instruction_ = nullptr;
};

}  // namespace egpu::simulated

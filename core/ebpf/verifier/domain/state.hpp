// SPDX-License-Identifier: Apache-2.0
// State: everything the walk knows at one instruction of one path.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

#include "ebpf/verifier/domain/stack.hpp"
#include "ebpf/verifier/domain/value.hpp"

namespace egpu::ebpf {

inline constexpr std::size_t kFrameLimit = 8;

/// An open branch: its sides meet again at `join` of frame `frame`, and what decided it may differ between lanes or
/// launches. A value written in between depends on it from there on (while the branch is open, it doesn't: whoever
/// comes here has taken it).
struct Divergence {
    std::uint32_t join = 0;
    std::uint32_t frame = 0;
    Variability variability = Variability::site;
    std::uint64_t plainly_loaded_from = 0;  ///< maps whose values decided it, as in Scalar
};

/// The bit of a field in a set of fields: its place in context_fields().
std::uint64_t field_bit(const ContextField& field);

/// Registers and bytes of the stack (from the frame's lowest) that are not there at run time: what writes them was left
/// out of a program made for one site. Nothing, where a program is walked as it is.
struct LeftOut {
    std::bitset<10> registers;
    std::bitset<kStackBytes> stack;
};

struct Frame {
    std::array<Value, 10> registers;  ///< r0 to r9; r10 is the frame itself
    LeftOut left_out;
    Stack stack;
    std::uint32_t function = 0;  ///< its first instruction
    std::uint32_t return_to = 0;
};

/// Worst case so far, or from here on.
struct Cost {
    std::uint32_t instructions = 0;  ///< helpers weighted
    std::uint32_t lookups = 0;
    std::uint32_t atomics = 0;

    Cost operator+(const Cost& other) const;
    Cost operator-(const Cost& other) const;
    void raise_to(const Cost& other);
};

/// A field of the context that this path has read: it is the same at each read of a firing.
struct KnownField {
    const ContextField* field = nullptr;
    Scalar unread;  ///< what is known of it before
    Value value;
};

struct State {
    std::uint32_t at = 0;
    std::uint32_t came_from = 0;  ///< the branch at which this path left another
    std::vector<Frame> frames;
    Cost cost;
    std::vector<KnownField> fields;
    std::vector<Divergence> divergences;  ///< innermost last
    /// Of the places that name several elements of a map (place(); the walk says which): those passed on this path,
    /// and the element that each named, as an expression. One that names another later isn't static.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> visits;
    bool lanes_looped =
        false;  ///< lanes took different ways at a branch in a loop: some rounds may be some lanes' only
    /// Lanes took different ways at a branch before: what one way wrote, this path doesn't know of if it took another,
    /// so that each later branch may part lanes again. Those that are open: where their sides meet, and of which frame.
    bool lanes_parted = false;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> later_branches;
    std::uint32_t next_identity = 1;  ///< of lookups
    std::uint32_t next_link = 1;      ///< of registers that hold the same number

    Frame& frame() { return frames.back(); }
    const Frame& frame() const { return frames.back(); }
    Value get(unsigned index) const;
    void set(unsigned index, const Value& value);
    /// The link of a register that holds a number, made where there is none.
    std::uint32_t link(unsigned index);
    /// Calls back with every value a program could still read.
    template <typename Visitor>
    void for_each_value(Visitor&& visit) {
        for (KnownField& known : fields)
            visit(known.value);
        for (Frame& frame : frames) {
            for (Value& value : frame.registers)
                visit(value);
            for (Piece& piece : frame.stack.pieces())
                visit(piece.value);
        }
    }
    std::uint32_t depth() const { return static_cast<std::uint32_t>(divergences.size()); }
    /// What a field holds, with a link between all that were read from it.
    Value read_field(const ContextField& field, const Scalar& unread);
    /// Forgets fields whose bit isn't set; they can be read again, and nothing is known of them then.
    void forget_fields(std::uint64_t live);
    /// Opens a branch, or raises one that meets at the same place.
    void diverge(std::uint32_t join, const Scalar& decided_by);
    /// Opens a branch behind one at which lanes parted.
    void branch_later(std::uint32_t join);
    /// Closes the branches of the present frame that meet at an instruction.
    void close(std::uint32_t join);
    /// Closes all branches of the present frame.
    void close_frame();
    /// The present instruction in its chain of calls, as a number: the specialiser writes calls out.
    std::uint64_t place() const;
    /// Notes that the present instruction names an element; false where it named another one before.
    bool visit(std::uint64_t element);
    /// Registers of a frame that can't be read any more become uninitialised: equal states then look equal.
    void forget_dead(std::size_t frame, std::uint16_t live_registers);
    /// Links that only one value still has go.
    void drop_single_links();

private:
    void close_at(std::size_t index);
};

/// Every run from `narrower` is a run from `wider`: what was shown for `wider` holds. `by_expression`: a place that
/// names an element of a map may be passed again from here on; numbers known at the site must then be the same numbers.
bool covers(const State& wider, const State& narrower, bool by_expression);

}  // namespace egpu::ebpf

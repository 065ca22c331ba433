// SPDX-License-Identifier: Apache-2.0
// What a rule sees and what it says. Each rule stands in a file of its own; the table of codes is in ../README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ebpf/helpers/helpers.hpp"
#include "ebpf/isa/instruction.hpp"
#include "ebpf/object/object.hpp"
#include "ebpf/verifier/domain/arithmetic.hpp"
#include "ebpf/verifier/domain/state.hpp"

namespace egpu::ebpf {

/// Why a program is refused; the walk adds the place in the source and the registers.
struct Refusal {
    std::string code;
    std::string message;
    std::string why;
    std::string fix;
    std::string subject;                      ///< a name in the source line to underline; "": what is at the column
    std::optional<std::uint32_t> quote_also;  ///< an instruction whose line is quoted first
    std::optional<std::uint32_t> at;          ///< where the message points; else the present instruction
};

/// nullopt: the rule holds.
using Verdict = std::optional<Refusal>;

/// One step of the walk.
struct Scene {
    const Object& object;
    const Program& program;
    ContextKind context;
    const State& state;
    std::uint32_t at;

    const Instruction& instruction() const { return program.instructions[at]; }
    const Instruction& second_half() const { return program.instructions[at + 1]; }
    const MapDefinition& map(std::uint32_t index) const { return object.maps[index]; }
};

enum class AccessKind { read, write, atomic };

/// A load, store or atomic operation.
struct MemoryAccess {
    AccessKind kind = AccessKind::read;
    Value pointer;
    std::int32_t offset = 0;  ///< added by the instruction
    std::uint32_t bytes = 0;
    std::string register_name;  ///< "r1"
    bool is_key = false;        ///< of a helper's arguments, the key
    bool is_record = false;     ///< of a helper's arguments, what leaves the GPU
};

/// Bytes covered, from the pointer's base; saturated far outside anything that exists.
struct Span {
    std::int64_t first = 0, end = 0;
    bool exact = false;  ///< one offset only
};
Span span_of(const MemoryAccess& access);
/// "it can cover bytes 0 to 71", or that nothing bounds it.
std::string span_text(const Span& span);
/// How an index that isn't constant is kept inside.
std::string bound_advice(const Span& span);
/// Of the offset, as Scalar::expression.
std::uint64_t address_expression(const MemoryAccess& access);

// registers.cpp: V002, V005
Verdict check_readable(const Scene& scene, unsigned index);
Verdict check_writable(unsigned index);
// access.cpp: the rules of memory, in their order
Verdict check_access(const Scene& scene, const MemoryAccess& access);
/// Memory that a helper reads or writes: of any length, aligned to 4 bytes at most.
Verdict check_argument_access(const Scene& scene, const MemoryAccess& access);
// provenance.cpp: V005, V007, V013
Verdict check_dereference(const Scene& scene, const MemoryAccess& access);
// alignment.cpp: V008
Verdict check_alignment(const Scene& scene, const MemoryAccess& access);
// stack.cpp: V003, V004, V020
Verdict check_stack_bounds(const Scene& scene, const MemoryAccess& access);
Verdict check_stack_read(const Scene& scene, const MemoryAccess& access);
/// A pointer stored in a caller's variable doesn't outlive what it points to.
Verdict check_stack_store(const Scene& scene, const MemoryAccess& access, const Value& stored);
// map_value.cpp: V006
Verdict check_map_value(const Scene& scene, const MemoryAccess& access);
// context.cpp: V012
Verdict check_context(const Scene& scene, const MemoryAccess& access);
/// What a field can hold.
Scalar context_number(const ContextField& field, const InjectionPoint& point);
// constants.cpp: V006, V021
Verdict check_constants(const Scene& scene, const MemoryAccess& access);
// pointers.cpp: V005, V007
Verdict check_pointer_arithmetic(const Scene& scene, const Value& left, const Value& right);
Verdict check_comparison(const Scene& scene, const Value& left, const Value& right);
// sharing.cpp: V014, V015, V020
/// What changes a shared value at once, as a fix.
inline constexpr const char* kUpdatesAtOnce =
    "egpu_max(word, value) keeps a maximum, egpu_min a minimum, __sync_fetch_and_add a count, all at once";
/// What a store's line of C stores to: "t->accesses", "*flag"; "" where there is no source.
std::string stored_expression(const Scene& scene);
/// "&t->accesses", "flag".
std::string address_of(const std::string& expression);
Verdict check_shared_store(const Scene& scene, const MemoryAccess& access, const Value& stored);
/// A value that bpf_map_update_elem writes: not made from what the same map holds.
Verdict check_update_source(const Scene& scene, std::uint32_t map, const Scalar& content);
/// What an atomic exchange stores: not made from what the same map holds.
Verdict check_exchange(const Scene& scene, const MemoryAccess& access, const Value& stored);
Verdict check_number(const Scene& scene, const Value& value, const char* use);
// atomics.cpp: V014, V015, V016
Verdict check_atomic(const Scene& scene, const MemoryAccess& access, const Value& operand);
// maps.cpp: V022
Verdict check_map_available(const Scene& scene, std::uint32_t map);
Verdict check_global_data(const Scene& scene);
// lanes.cpp: V025
/// A helper that asks all lanes that fire together is called where all of them come.
Verdict check_lanes(const Scene& scene, const Helper& called);
// unavailable_helpers.cpp: V017
Refusal unknown_helper(const Scene& scene, std::uint32_t number);
// helpers.cpp: V018, V019
Verdict check_helper(const Scene& scene, const Helper*& called);
/// The memory a helper's argument points to, as an access; bytes 0 where the kind has none.
MemoryAccess argument_access(const Scene& scene, const Helper& called, unsigned argument);
// records.cpp: V018
/// A ring buffer is passed as one.
Verdict check_ring(const Scene& scene, const Helper& called);
/// Of a record that is appended to it.
Verdict check_record_size(const Scene& scene, const Helper& called, const Value& size);
/// The text of bpf_printk, with its size.
Verdict check_text(const Scene& scene, const Helper& called);
/// Numbers that it prints.
std::size_t numbers_printed(const Scene& scene);
/// `passed`: numbers that the call has, fewer than the text prints.
Refusal too_few_printed(const Scene& scene, const Helper& called, std::size_t passed);
/// Of the numbers that it gets all at once.
Verdict check_printed_bytes(const Scene& scene, const Helper& called, const Value& size);
// calls.cpp: V023, V024
Verdict check_local_call(const Scene& scene, std::uint32_t target);
Verdict check_return(const Scene& scene);
/// Of functions that call one another, the outermost first.
struct FunctionStack {
    std::uint32_t function = 0;  ///< its first instruction
    std::uint32_t bytes = 0;
};
Verdict check_stack_depth(const Scene& scene, const std::vector<FunctionStack>& chain);
// budget.cpp: V009, V010, V011
struct Loop {
    std::uint32_t start = 0;  ///< instruction
    std::uint32_t rounds =
        0;  ///< that a path has gone through to their end, in all: of an inner loop, of all its turns
};
/// Of a loop from `start` to its jump back, an instruction of the line that says for or while; `back` where none does.
std::uint32_t place_of_loop(const Program& program, std::uint32_t start, std::uint32_t back);
/// `loop`: the one that a path over the limit is in; its start is the instruction to be named.
Verdict check_budget(const Scene& scene, std::uint32_t worst, std::uint32_t limit, const std::optional<Loop>& loop);
Refusal endless_loop(std::uint32_t loop);
Refusal too_complex(std::uint32_t steps);

// notes.cpp: V03x, V05x; of accepted programs
/// The map of a look-up or an update is chosen by what isn't known where the program is injected.
std::optional<Refusal> note_map_varies(const Scene& scene, const Helper& called);
std::optional<Refusal> note_compare_exchange(const Scene& scene, const MemoryAccess& access);
std::optional<Refusal> note_argument_place(const Scene& scene, const MemoryAccess& access);
Refusal note_constant_index();
std::optional<Refusal> note_decided_store(const Scene& scene, const MemoryAccess& access, const Value& stored);
/// A field that differs from lane to lane, in a program that runs for one of them.
std::optional<Refusal> note_leaders_field(const Scene& scene, const ContextField& field);
/// Each lane adds what is one number for all of them.
std::optional<Refusal> note_added_by_all(const Scene& scene, const MemoryAccess& access, const Value& added);
/// The constant index of an array, beyond its end.
std::optional<Refusal> note_index(const Scene& scene, const Helper& called, const MemoryAccess& key);
/// An update of an array's element on condition that it isn't there.
std::optional<Refusal> note_never_absent(const Scene& scene, const Helper& called);

/// "t" of `t = lookup()` at the lookup that gave a map value, or "the value of map 'traffic'".
std::string name_of(const Scene& scene, const Value& map_value, std::string* variable = nullptr);

}  // namespace egpu::ebpf

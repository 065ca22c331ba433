// SPDX-License-Identifier: Apache-2.0
// Shows that a program is safe at any site, or says in the user's source why not.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::ebpf {

struct VerifierOptions {
    std::uint32_t instruction_limit =
        0;  ///< worst case a firing; 0: by event (512 at instructions, 4096 at entry and exit)
    std::uint32_t walk_limit = 1'000'000;  ///< abstract steps before "too complex"
    bool keep_walk = false;                ///< fill Verification::walk (-v)
};

/// Bytes of a map's value that some path may write.
struct ValueWrite {
    std::uint32_t map = 0, first = 0, end = 0;
    auto operator<=>(const ValueWrite&) const = default;
};

/// What the walk found out; printed by `egpu check`, used by later stages.
struct Verification {
    std::uint32_t worst_instructions = 0;  ///< on the longest path, helpers weighted
    std::uint32_t worst_lookups = 0;
    std::uint32_t worst_atomics = 0;
    std::uint32_t stack_bytes = 0;
    std::set<std::string> fields_read;  ///< context fields, "bytes_per_lane"
    std::set<std::uint32_t> maps_used;
    std::set<ValueWrite> values_written;  ///< a field that stands in none of them is nothing that this program counts
    /// Map lookups whose key depends on more than site fields: (instruction, map). Empty: all keys are static.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> dynamic_lookups;
    /// Hash maps in which keys must be looked for at run time: a dynamic lookup, or a call that asks whether there is
    /// an entry (bpf_map_lookup_elem, bpf_map_update_elem).
    std::set<std::uint32_t> searched_maps;
    std::set<std::uint32_t> atomics;  ///< instructions that are atomic operations, reached on some path
    /// Of these: 64-bit additions with unused result on one element, known before the program runs. Such may be kept in
    /// registers (DESIGN 7), within a budget that is known only at injection.
    std::set<std::uint32_t> register_adds;
    std::set<std::uint32_t> formats;  ///< texts that it prints, by their place in Object::constants
    std::vector<Diagnostic> notes;    ///< warnings and hints for an accepted program
    std::string walk;                 ///< Linux verifier layout, where asked for
};

/// EGPU-V0xx, each with source line, underline, why and fix (TARGETS E6.6). Rules: verifier/rules/.
Result<Verification> verify(const Object& object, const Program& program, const VerifierOptions& options = {});

}  // namespace egpu::ebpf

// SPDX-License-Identifier: Apache-2.0
// The program under construction: what all functions of a kernel share.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "gpu/simulated/executor/decoder/decode.hpp"
#include "gpu/simulated/executor/machine/program.hpp"

namespace egpu::simulated {

class Builder {
public:
    /// `dynamic_shared`: where the dynamic shared memory begins, behind the static variables.
    Builder(const ModuleSymbols& symbols, std::uint64_t dynamic_shared)
        : symbols_(symbols), dynamic_shared_(dynamic_shared) {}

    const ModuleSymbols& symbols() const { return symbols_; }
    Program& program() { return program_; }

    /// The row that holds a value in all lanes.
    Place constant(std::uint64_t value, bool wide);
    /// A predicate that is the same in all lanes.
    Place constant_mask(bool value);
    /// Where a .shared variable is in the block's shared memory; laid out when first used.
    std::uint64_t shared_offset(const ptx::Variable& variable);
    /// The index in Program::functions; the function is decoded later if it is new.
    std::uint32_t function(std::uint32_t module_index);
    std::uint32_t memory_slot() { return program_.memory_slots++; }
    /// Appends places for a vector; returns the first's index.
    std::uint32_t places(const std::vector<Place>& places);

    bool uses_indirect_calls = false;
    bool uses_dynamic_shared = false;
    std::vector<bool> address_taken;  ///< functions whose address the code takes, by module index

    /// Functions that were asked for and not yet decoded: index in Program::functions, index in the module.
    std::optional<std::pair<std::uint32_t, std::uint32_t>> next_function();

private:
    const ModuleSymbols& symbols_;
    const std::uint64_t dynamic_shared_;
    Program program_;
    std::map<std::pair<std::uint64_t, int>, Place> constants_;
    std::map<const ptx::Variable*, std::uint64_t> shared_;
    std::map<std::uint32_t, std::uint32_t> functions_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pending_;
};

}  // namespace egpu::simulated

// SPDX-License-Identifier: Apache-2.0
// Addresses of map elements: a word of egpu_table, moved to this SM's shard.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "inject/codegen/codegen.hpp"
#include "inject/codegen/writer.hpp"

namespace egpu::inject {

/// Each address is computed once in a scope, ahead of the code that uses it.
class ElementAddresses {
public:
    ElementAddresses(FunctionContext& function, Registers& registers) : function_(function), registers_(registers) {}

    /// The 64-bit register with the address of (map, slot), byte 0; `map` counts in the session.
    std::string base_of(std::uint32_t map, std::uint32_t slot);
    const Statements& statements() const { return statements_; }

private:
    std::string shard_offset(const maps::Layout& layout);

    FunctionContext& function_;
    Registers& registers_;
    Statements statements_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> bases_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> shard_offsets_;  ///< by (shards, distance)
};

}  // namespace egpu::inject

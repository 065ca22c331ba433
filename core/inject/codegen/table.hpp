// SPDX-License-Identifier: Apache-2.0
// egpu_table: the one constant block of an instrumented copy, `.visible .const .align 8 .b64 egpu_table[N]`, filled by
// the agent after loading. Nothing else in a copy depends on the process, context or device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace egpu::inject {

struct TableEntry {
    enum class Kind : std::uint32_t {
        map_element = 1,  ///< address of (map, slot), shard 0, byte 0
        global = 2,       ///< address of the original's variable `symbol`
        grids = 3,        ///< address of kGridBytes zeroes of the context, for grids.hpp
    };
    Kind kind = Kind::map_element;
    std::uint32_t map = 0, slot = 0;  ///< map of the session
    std::string symbol;
    bool operator==(const TableEntry&) const = default;
};

/// Entries in the order of their 8-byte words; equal entries are one.
class Table {
public:
    /// The byte offset in egpu_table of an entry, made where absent.
    std::uint32_t offset_of(const TableEntry& entry);
    const std::vector<TableEntry>& entries() const { return entries_; }
    /// The declaration, "" for an empty table.
    std::string declaration() const;
    static constexpr const char* kSymbol = "egpu_table";

private:
    std::vector<TableEntry> entries_;
};

}  // namespace egpu::inject

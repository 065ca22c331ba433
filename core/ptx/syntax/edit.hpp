// SPDX-License-Identifier: Apache-2.0
// Edits of a module's text: insertions and replacements of ranges, applied at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/syntax/tree.hpp"

namespace egpu::ptx {

/// Where a name that the tree holds stands in the module's text.
Range range_of(const Module& module, std::string_view name);

/// Collects edits; `apply` prints the module with them. Ranges must not overlap; insertions at one place keep the
/// order in which they were made.
///
///   before:  ld.global.f32 %f1, [%rd1];
///   insert_before(instruction.range, "add.u64 %acc, %acc, 4;\n\t")
///   after:   add.u64 %acc, %acc, 4;
///            ld.global.f32 %f1, [%rd1];
class Editor {
public:
    explicit Editor(const Module& module) : module_(&module) {}
    void insert_at(std::uint32_t offset, std::string text);
    void insert_before(Range range, std::string text) { insert_at(range.begin, std::move(text)); }
    void insert_after(Range range, std::string text) { insert_at(range.end, std::move(text)); }
    void replace(Range range, std::string text);
    void erase(Range range) { replace(range, {}); }
    /// The module's text with all edits.
    std::string apply() const;

private:
    struct Edit {
        Range range;
        std::string text;
        std::size_t order;
    };
    const Module* module_;
    std::vector<Edit> edits_;
};

}  // namespace egpu::ptx

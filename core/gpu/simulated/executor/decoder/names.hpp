// SPDX-License-Identifier: Apache-2.0
// Names within a function: registers, labels and variables of nested scopes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/simulated/executor/machine/program.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::simulated {

/// What a name stands for.
struct Symbol {
    enum class Kind {
        reg,        ///< register: type and place
        label,      ///< label: number
        frame,      ///< .local or .param variable in the function's local memory: offset, bytes
        parameter,  ///< parameter of the kernel: offset, bytes
        variable,   ///< .shared, .global or .const: declaration
        targets,    ///< .branchtargets: directive
        other,      ///< .callprototype and the like
    };
    Kind kind = Kind::reg;
    Type type = Type::none;
    Place place;
    std::uint32_t number = 0;
    std::uint64_t offset = 0, bytes = 0;
    const ptx::Variable* declaration = nullptr;
    const ptx::Directive* directive = nullptr;
};

/// Registers and variables of a frame: where each goes.
class FrameLayout {
public:
    Place row(Type type);
    std::uint64_t local(std::uint64_t bytes, std::uint64_t alignment);
    std::uint64_t frame_bytes() const { return rows_; }
    std::uint64_t local_bytes() const { return local_; }
    std::uint32_t registers() const { return registers_; }

private:
    std::uint64_t rows_ = 0, local_ = 0;
    std::uint32_t free_masks_ = 0;
    std::uint64_t next_mask_ = 0;
    std::uint32_t registers_ = 0;  ///< 32-bit registers, predicates not counted
};

class Names {
public:
    void open() { scopes_.emplace_back(); }
    void close() { scopes_.pop_back(); }
    void add(std::string_view name, Symbol symbol) { scopes_.back().names[name] = symbol; }
    /// `.reg .b32 %r<9>`: %r0 to %r8, given places when first used.
    void add_range(std::string_view prefix, std::uint32_t count, Type type);
    /// nullptr where the name is unknown.
    const Symbol* find(std::string_view name, FrameLayout& layout);

private:
    struct RegisterRange {
        std::uint32_t count;
        Type type;
    };
    struct Scope {
        std::unordered_map<std::string_view, Symbol> names;
        std::unordered_map<std::string_view, RegisterRange> ranges;
    };
    std::vector<Scope> scopes_;
};

}  // namespace egpu::simulated

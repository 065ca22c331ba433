// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a PTX module. It refers to the module's text and never replaces it: edits are insertions and
// replacements of ranges (edit.hpp), so that what egpu does not understand leaves as it came.
// Grammar: PTX ISA 9.0, chapters 4 (syntax), 5 (state spaces), 11 (directives).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace egpu::ptx {

/// Bytes [begin, end) of the module's text.
struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

/// An operand of an instruction or of an initialiser.
struct Operand {
    enum class Kind {
        identifier,  ///< register, variable, function, label, special register ("%tid.x"), `_`: text is the name
        integer,     ///< integer: value in `integer`; text as written (0x10, 5U, -3)
        floating,    ///< 0f3F800000, 0d..., 1.5: bits in `integer`, `floating_bits` 32 or 64
        vector,      ///< {a, b}: parts
        address,     ///< [base], [base+offset], [base, {coordinates}], [base+offset], [mbar]: see below
        list,        ///< (a, b) of a call: parts
        pair,        ///< r|p: parts = destination, predicate
        other,       ///< any other expression, kept as text
    };
    Kind kind = Kind::other;
    std::string_view text;  ///< as written, without surrounding blanks and without the '!' of a negated one
    bool negated = false;   ///< !p
    /// address, identifier: an offset is written, which may be 0. (ptxas -g makes other code of [%r1+0] than of [%r1].)
    bool has_offset = false;
    bool unified = false;      ///< address with `.unified` behind it: ld's promise that it is the same for all threads
    std::int64_t integer = 0;  ///< integer value; offset of an address or of "symbol+4"
    int floating_bits = 0;
    std::string_view base;       ///< address: register or symbol ("" for [16]); identifier with offset: the symbol
    std::vector<Operand> parts;  ///< vector, list, pair; address: what stands after the first comma
    Range range;
};

/// `@p` or `@!p` before an instruction.
struct Guard {
    std::string_view predicate;
    bool negated = false;
};

/// `.loc file line column`, in force until the next one. line 0: none.
struct SourceLine {
    std::uint32_t file = 0;  ///< index of a .file directive
    std::uint32_t line = 0;
    std::uint32_t column = 0;
};

struct Instruction {
    std::optional<Guard> guard;
    std::string_view opcode;  ///< "ld.global.v4.f32", as written: `ld .global.f32` is legal, so use `parts`
    std::vector<std::string_view>
        parts;  ///< "ld", "global", "v4", "f32"; "::"-modifiers stay whole ("L1::no_allocate")
    std::vector<Operand> operands;
    SourceLine source;
    Range range;  ///< from the guard (or opcode) to the semicolon, included
    /// True where a part of the opcode (not the first) is `part`.
    bool has(std::string_view part) const;
};

struct Label {
    std::string_view name;
    Range range;  ///< with the colon
};

enum class Space { reg, param, local, shared, global, constant, texture, sampler, surface, none };

/// texref, samplerref and surfref variables have the space texture, sampler or surface (written `.global .texref t`).
///
/// A variable or parameter: `.global .align 4 .b8 name[16] = {...}`, `.reg .b32 %r<9>`, `.param .u64 p`.
struct Variable {
    Space space = Space::none;
    std::string_view linkage;             ///< "visible", "extern", "weak", "common" or ""
    std::string_view type;                ///< "b8", "u64", "f32", "pred", "texref"; without the dot
    std::uint32_t vector = 1;             ///< 2 for .v2
    std::uint32_t alignment = 0;          ///< 0: not written
    std::uint32_t pointer_alignment = 0;  ///< `.ptr .global .align 16`: of what the parameter points to; 0: not written
    std::string_view name;
    std::uint32_t count = 0;                ///< %r<9>: 9, else 0
    std::vector<std::uint64_t> dimensions;  ///< [] is 0, or what its initialiser has
    bool counted_by_initializer = false;    ///< the first dimension was written []
    /// "ptr" (and behind it "global", where it points to), "managed", "unified(19, 95)", without dots.
    std::vector<std::string_view> attributes;
    /// One operand or a vector of them; `generic(x)+4` is `other` with base "x" and integer 4.
    std::optional<Operand> initializer;
    /// From the linkage (or space) to the semicolon, included; a parameter ends before its comma. Where one statement
    /// declares several names, each but the last ends with its comma and the next one begins at its name.
    Range range;
    /// Size in bytes: type x vector x dimensions; 0 for an unsized array.
    std::uint64_t bytes() const;
};

/// `.pragma "nounroll";`, `.loc`, `.file`, `.section`, `.branchtargets`, `.callprototype`, anything else that starts
/// with a dot.
struct Directive {
    std::string_view name;   ///< "pragma"
    std::string_view text;   ///< the whole, as written
    std::string_view label;  ///< "prototype_0" of `prototype_0 : .callprototype ...`
    Range range;
};

struct Scope;
using Statement = std::variant<Instruction, Label, Variable, Directive, std::unique_ptr<Scope>>;

/// `{ ... }`: names declared in it hide outer ones.
struct Scope {
    std::vector<Statement> statements;
    Range range;  ///< with the braces
    Range open;   ///< the '{'
    Range close;  ///< the '}'
};

struct Function {
    bool is_entry = false;
    std::string_view linkage;
    std::string_view name;
    std::vector<Variable> returns;  ///< .func (.reg .b32 r) f(...)
    std::vector<Variable> parameters;
    std::vector<Directive> directives;  ///< .maxntid, .reqntid, .minnctapersm, .maxnreg, .noreturn, .pragma ...
    std::unique_ptr<Scope> body;        ///< null: a declaration
    Range range;
};

struct File {
    std::uint32_t index = 0;
    std::string_view name;
};

/// `.alias a, b;`
struct Alias {
    std::string_view name, target;
    Range range;  ///< with the semicolon
};

/// A parsed module. Owns its text; every view of the tree points into it. Movable, not copyable.
struct Module {
    std::unique_ptr<const std::string> text;
    std::uint32_t version_major = 0, version_minor = 0;
    std::string_view target;                       ///< "sm_90a" (first of the list)
    std::vector<std::string_view> target_options;  ///< "debug", "texmode_unified"
    Range version_range, target_range;             ///< the directives, whole
    std::uint32_t address_size = 64;
    Range address_size_range;           ///< empty where it isn't written
    std::vector<Variable> variables;    ///< module scope
    std::vector<Function> functions;    ///< in order; a declaration and its definition are two
    std::vector<Directive> directives;  ///< other module-scope directives (.section, .pragma ...)
    std::vector<File> files;
    std::vector<Alias> aliases;

    std::string_view slice(Range range) const {
        return std::string_view(*text).substr(range.begin, range.end - range.begin);
    }
    /// The defining (or, failing that, declaring) function of a name; nullptr where there is none.
    const Function* function(std::string_view name) const;
    const Variable* variable(std::string_view name) const;
    std::string_view file_name(std::uint32_t index) const;

    /// Name to index in `functions` and `variables`, filled by parse(): a lookup for each call of a large module.
    std::unordered_map<std::string_view, std::size_t> function_index, variable_index;
};

}  // namespace egpu::ptx

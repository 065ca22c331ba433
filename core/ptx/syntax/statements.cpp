// SPDX-License-Identifier: Apache-2.0
// Statements of function bodies: PTX ISA 9.0, section 4.3.
#include "ptx/syntax/statements.hpp"

#include <algorithm>

#include "ptx/syntax/declarations.hpp"
#include "ptx/syntax/operands.hpp"

namespace egpu::ptx {
namespace {

constexpr int kDeepestScope = 200;  ///< compilers write 3; recursion stays far from the end of the stack

class BodyParser {
public:
    explicit BodyParser(Cursor& cursor) : cursor_(cursor) {}

    std::unique_ptr<Scope> scope(int depth) {
        auto scope = std::make_unique<Scope>();
        if (depth > kDeepestScope) {
            cursor_.fail("EGPU-P004", "blocks nested deeper than 200", cursor_.peek().range);
            return scope;
        }
        scope->open = cursor_.peek().range;
        cursor_.take();
        if (depth == 0)  // once a function: a look ahead at each depth would cost its square
            scope->statements.reserve(cursor_.count_ahead(';', '}', kMaximumTextBytes));
        while (!cursor_.at_end() && !cursor_.at('}'))
            statement(*scope, depth);
        scope->close = cursor_.peek().range;
        if (!cursor_.failed() && cursor_.at_end())
            cursor_.fail("EGPU-P003", "a '{' is never closed", scope->open);
        cursor_.take();
        scope->range = cursor_.since(scope->open.begin);
        return scope;
    }

private:
    void statement(Scope& scope, int depth) {
        if (cursor_.at('{'))
            scope.statements.emplace_back(this->scope(depth + 1));
        else if (cursor_.at(TokenKind::dot_word))
            directive(scope);
        else if (cursor_.at(TokenKind::word) && cursor_.at(':', 1))
            label(scope);
        else if (cursor_.at(TokenKind::word) || cursor_.at('@'))
            instruction(scope);
        else if (!cursor_.accept(';'))  // an empty statement
            cursor_.fail_here("expected an instruction, a label or a directive");
    }

    void directive(Scope& scope) {
        const std::uint32_t begin = cursor_.begin();
        std::string_view linkage;
        if (is_linkage(cursor_.text(cursor_.peek())))
            linkage = cursor_.text(cursor_.take()).substr(1);
        const std::string_view word = cursor_.text(cursor_.peek());
        if (cursor_.at(TokenKind::dot_word) && space_of(word))
            parse_variables(cursor_, begin, linkage,
                            [&](Variable variable) { scope.statements.emplace_back(std::move(variable)); });
        else if (!linkage.empty())
            cursor_.fail_here("expected a state space, such as .shared");
        else if (word == ".loc")
            scope.statements.emplace_back(parse_loc(cursor_, source_));
        else
            scope.statements.emplace_back(parse_directive(cursor_, begin));
    }

    /// "name:", or "name: .branchtargets A, B;", which is a directive with a name and no place to jump to.
    void label(Scope& scope) {
        const Range name = cursor_.take().range;
        cursor_.take();
        const std::string_view next = cursor_.at(TokenKind::dot_word) ? cursor_.text(cursor_.peek()) : "";
        if (next == ".branchtargets" || next == ".calltargets" || next == ".callprototype")
            scope.statements.emplace_back(parse_directive(cursor_, name.begin, cursor_.text(name)));
        else
            scope.statements.emplace_back(Label{cursor_.text(name), cursor_.since(name.begin)});
    }

    void instruction(Scope& scope) {
        Instruction instruction;
        const std::uint32_t begin = cursor_.begin();
        if (cursor_.accept('@')) {
            const bool negated = cursor_.accept('!');
            if (!cursor_.at(TokenKind::word))
                return cursor_.fail_here("expected a predicate behind '@'");
            instruction.guard = Guard{cursor_.text(cursor_.take()), negated};
        }
        if (!cursor_.at(TokenKind::word))
            return cursor_.fail_here("expected an instruction");
        opcode(instruction);
        instruction.operands = parse_operands(cursor_);
        cursor_.expect(';', "behind ", instruction.parts.front());
        instruction.source = source_;
        instruction.range = cursor_.since(begin);
        scope.statements.emplace_back(std::move(instruction));
    }

    /// "ld.global.f32"; blanks may stand before a dot: "ld .global .f32".
    void opcode(Instruction& instruction) {
        const std::uint32_t begin = cursor_.begin();
        std::string_view word = cursor_.text(cursor_.take());
        instruction.parts.reserve(1 + static_cast<std::size_t>(std::count(word.begin(), word.end(), '.')));
        for (std::size_t dot; (dot = word.find('.')) != std::string_view::npos; word.remove_prefix(dot + 1))
            instruction.parts.push_back(word.substr(0, dot));
        instruction.parts.push_back(word);
        while (cursor_.at(TokenKind::dot_word))
            instruction.parts.push_back(cursor_.text(cursor_.take()).substr(1));
        instruction.opcode = cursor_.text(cursor_.since(begin));
    }

    Cursor& cursor_;
    SourceLine source_;
};

}  // namespace

std::unique_ptr<Scope> parse_body(Cursor& cursor) {
    return BodyParser(cursor).scope(0);
}

}  // namespace egpu::ptx

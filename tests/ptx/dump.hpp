// SPDX-License-Identifier: Apache-2.0
// A syntax tree as text, one node a line: what the golden files beside the fixtures hold.
#pragma once

#include <string>
#include <vector>

#include "ptx/syntax/tree.hpp"

namespace egpu::test {

std::string dump(const ptx::Module& module);
std::string dump(const ptx::Operand& operand);

/// Calls `visit` for every statement of a scope, inner scopes included.
template <typename Visit>
void for_each_statement(const ptx::Scope& scope, const Visit& visit) {
    for (const ptx::Statement& statement : scope.statements) {
        visit(statement);
        if (const auto* inner = std::get_if<std::unique_ptr<ptx::Scope>>(&statement))
            for_each_statement(**inner, visit);
    }
}

/// The instructions of all functions, in order.
std::vector<const ptx::Instruction*> instructions_of(const ptx::Module& module);

}  // namespace egpu::test

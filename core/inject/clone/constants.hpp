// SPDX-License-Identifier: Apache-2.0
// Which of the original's `.const` variables a copy may keep in a constant bank of its own (DESIGN 6 rule 4). The agent
// makes the bank equal to the original's before each launch; what is here decides only where that can't be told apart
// from reading the original: the variable's address is used for nothing but `ld.const`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/syntax/tree.hpp"

namespace egpu::inject {

/// A variable of the copy with the contents of the original's of that name.
struct BankedConstant {
    std::string symbol;
    std::uint64_t bytes = 0;
};

/// The constants of one copy that lie in its own bank.
class ConstantBank {
public:
    /// None: every constant is read by address.
    ConstantBank() = default;
    /// All that may, of those that these functions (a kernel and what it calls) read.
    ConstantBank(const ptx::Module& module, const std::vector<const ptx::Function*>& functions);

    bool empty() const { return variables_.empty(); }
    bool holds(const ptx::Variable& variable) const;
    /// The variable into which a register of the function points, "" where it points into none. A register that does
    /// points into that variable wherever it is used.
    std::string_view pointed_to(const ptx::Function& function, std::string_view register_name) const;
    /// In the module's order.
    std::vector<BankedConstant> variables() const;
    /// The copy's declarations. Without initialisers: what the original holds by then replaces them anyway, and an
    /// initialiser may name variables that a copy hasn't.
    std::string declarations() const;

private:
    std::vector<const ptx::Variable*> variables_;
    std::unordered_map<const ptx::Function*, std::unordered_map<std::string_view, const ptx::Variable*>> pointers_;
};

}  // namespace egpu::inject

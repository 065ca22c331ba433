// SPDX-License-Identifier: Apache-2.0
// Which element of a matrix which bits of which lane's registers are.
#pragma once

#include <cstdint>

#include "gpu/simulated/executor/machine/context.hpp"
#include "gpu/simulated/executor/machine/matrix.hpp"

namespace egpu::simulated {

enum class Part : std::uint8_t { a, b, c, d };

struct Position {
    unsigned row = 0, column = 0;
};

/// One matrix of a form.
struct Fragment {
    FragmentKind kind = FragmentKind::groups;
    Part part = Part::a;
    MatrixElement element = MatrixElement::none;
    unsigned rows = 0, columns = 0;
    unsigned registers = 0;
    bool by_columns = false;
    const Place* places = nullptr;

    unsigned in_register() const { return bits_of(element) >= 32 ? 1 : 32 / bits_of(element); }
    /// Of element `index` of a register.
    Position at(unsigned lane, unsigned reg, unsigned index) const;
};

/// The form's matrix; `places` are its registers, all of the form's.
Fragment fragment_of(const MatrixForm& form, Part part, const Place* places);

/// The bits of an element in a register's row.
std::uint64_t read_element(const Context& context, const Fragment& fragment, unsigned lane, unsigned reg,
                           unsigned index);
void write_element(Context& context, const Fragment& fragment, unsigned lane, unsigned reg, unsigned index,
                   std::uint64_t bits);

/// Calls act(lane, register, index, position) for all elements that a lane of `lanes` holds.
template <typename Act>
void for_elements(const Fragment& fragment, Mask lanes, Act act) {
    const unsigned in_register = fragment.in_register();
    for (; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(lanes));
        for (unsigned reg = 0; reg < fragment.registers; ++reg) {
            for (unsigned index = 0; index < in_register; ++index) {
                act(lane, reg, index, fragment.at(lane, reg, index));
            }
        }
    }
}

}  // namespace egpu::simulated

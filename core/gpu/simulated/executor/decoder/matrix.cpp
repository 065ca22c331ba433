// SPDX-License-Identifier: Apache-2.0
// wmma, mma, ldmatrix, stmatrix, movmatrix: operands (PTX ISA 9.0, sections 9.7.14.3 to 9.7.14.5).
#include <fmt/format.h>

#include <algorithm>

#include "gpu/simulated/executor/decoder/function_decoder.hpp"
#include "gpu/simulated/executor/decoder/matrix_shapes.hpp"
#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/matrix.hpp"

namespace egpu::simulated {
namespace {

using Kind = ptx::Operand::Kind;

Type register_type(MatrixElement element) {
    return bits_of(element) == 64 ? Type::f64 : Type::b32;
}

/// The shape in an opcode's parts, taken.
std::optional<MatrixShape> take_shape(Parts& parts, const std::vector<std::string_view>& names) {
    for (const std::string_view name : names) {
        const auto shape = parse_shape(name);
        if (shape && parts.take(name)) {
            return shape;
        }
    }
    return std::nullopt;
}

/// The element types in an opcode's parts, in order, taken.
std::vector<MatrixElement> take_elements(Parts& parts, const std::vector<std::string_view>& names) {
    std::vector<MatrixElement> found;
    for (const std::string_view name : names) {
        const auto element = parse_matrix_element(name);
        if (element && parts.take(name)) {
            found.push_back(*element);
        }
    }
    return found;
}

void set_shape(MatrixForm& form, MatrixShape shape) {
    form.m = static_cast<std::uint16_t>(shape.m);
    form.n = static_cast<std::uint16_t>(shape.n);
    form.k = static_cast<std::uint16_t>(shape.k);
}

/// The first two of "row" and "col" in an opcode: of a and of b.
std::vector<bool> take_layouts(Parts& parts, const std::vector<std::string_view>& names) {
    std::vector<bool> by_columns;
    for (const std::string_view name : names) {
        if ((name == "row" || name == "col") && parts.take(name)) {
            by_columns.push_back(name == "col");
        }
    }
    return by_columns;
}

}  // namespace

Instruction FunctionDecoder::begin_matrix(Handler handler) const {
    Instruction instruction = begin();
    instruction.control = Control::collective;
    instruction.whole_warp = true;
    instruction.handler = handler;
    instruction.cost = cost::kMatrix;
    return instruction;
}

/// Appends the registers of a fragment, `{a, b}` or a single one.
bool FunctionDecoder::take_fragment(const ptx::Operand& operand, MatrixElement element, unsigned count, bool written,
                                    std::vector<Place>& places) {
    std::vector<const ptx::Operand*> registers;
    if (operand.kind == Kind::vector) {
        for (const ptx::Operand& part : operand.parts) {
            registers.push_back(&part);
        }
    } else {
        registers.push_back(&operand);
    }
    if (registers.size() != count) {
        malformed(
            fmt::format("'{}' with a fragment of {} registers, not {}", current_->opcode, registers.size(), count));
        return false;
    }
    for (const ptx::Operand* const one : registers) {
        const Target result = written ? target(*one, register_type(element)) : Target{};
        if (result.extend) {
            missing(fmt::format("'{}' into a register of another width", current_->opcode));
        }
        places.push_back(written ? result.place : source(*one, register_type(element)));
    }
    return !failed();
}

std::uint32_t FunctionDecoder::add_matrix(const MatrixForm& form) {
    auto& matrices = builder_.program().matrices;
    matrices.push_back(form);
    return static_cast<std::uint32_t>(matrices.size() - 1);
}

/// d, a, b, c of wmma.mma and mma, whose form is complete.
void FunctionDecoder::finish_multiply(const MatrixForm& form) {
    if (!want(4, 4)) {
        return;
    }
    Instruction instruction = begin_matrix(multiply_handler(form));
    std::vector<Place> places;
    const auto& operands = current_->operands;
    if (!take_fragment(operands[0], form.d, form.d_registers, true, places) ||
        !take_fragment(operands[1], form.a, form.a_registers, false, places) ||
        !take_fragment(operands[2], form.b, form.b_registers, false, places) ||
        !take_fragment(operands[3], form.c, form.c_registers, false, places)) {
        return;
    }
    instruction.list = builder_.places(places);
    instruction.target = add_matrix(form);
    emit(instruction);
}

/// Modifiers that wmma.mma and mma share, behind shape, layouts and types.
void FunctionDecoder::take_matrix_modifiers(Parts& parts, MatrixForm& form) {
    form.saturates = parts.take("satfinite");
    if (form.a == MatrixElement::b1 && parts.take("popc")) {
        form.ands = parts.take("and");
        if (!form.ands && !parts.take("xor")) {
            missing(fmt::format("'{}'", current_->opcode));
        }
    } else if (form.a == MatrixElement::b1) {
        missing(fmt::format("'{}'", current_->opcode));
    }
    if (form.a == MatrixElement::f64) {
        bool given = false;
        form.rounding = static_cast<std::uint8_t>(take_rounding(parts, given));
    }
    const bool is_integer = form.d == MatrixElement::s32 && form.a != MatrixElement::b1;
    if (form.saturates && !is_integer && form.a != MatrixElement::f16) {
        missing(fmt::format("'{}'", current_->opcode));
    }
    form.saturates = form.saturates && is_integer;
}

/// mma.sync.aligned.SHAPE.ALAYOUT.BLAYOUT.D.A.B.C d, a, b, c.
void FunctionDecoder::decode_mma() {
    Parts parts(current_->parts);
    const bool together = parts.take("sync") && parts.take("aligned");
    const auto shape = take_shape(parts, current_->parts);
    const auto by_columns = take_layouts(parts, current_->parts);
    const auto elements = take_elements(parts, current_->parts);
    if (!together || !shape || by_columns.size() != 2 || elements.size() != 4) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    MatrixForm form;
    set_shape(form, *shape);
    form.d = elements[0];
    form.a = elements[1];
    form.b = elements[2];
    form.c = elements[3];
    form.a_by_columns = by_columns[0];
    form.b_by_columns = by_columns[1];
    take_matrix_modifiers(parts, form);
    const bool known = complete_mma(form);
    const bool layouts = form.kind == FragmentKind::quads || (!form.a_by_columns && form.b_by_columns);
    if (!known || !layouts || !parts.done()) {
        missing(fmt::format("'{}'{}", current_->opcode, parts.done() ? "" : fmt::format(" ({})", parts.rest())));
        return;
    }
    finish_multiply(form);
}

/// wmma.mma{.op.popc}.sync.aligned.ALAYOUT.BLAYOUT.SHAPE.D{.A.B}.C d, a, b, c: without types of a and b it is f16.
void FunctionDecoder::decode_wmma_multiply(Parts& parts) {
    const auto shape = take_shape(parts, current_->parts);
    const auto by_columns = take_layouts(parts, current_->parts);
    auto elements = take_elements(parts, current_->parts);
    if (elements.size() == 2) {
        elements.insert(elements.begin() + 1, 2, MatrixElement::f16);
    }
    if (!shape || by_columns.size() != 2 || elements.size() != 4) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    MatrixForm form;
    set_shape(form, *shape);
    form.d = elements[0];
    form.a = elements[1];
    form.b = elements[2];
    form.c = elements[3];
    take_matrix_modifiers(parts, form);
    if (!complete_wmma(form) || !parts.done()) {
        missing(fmt::format("'{}'{}", current_->opcode, parts.done() ? "" : fmt::format(" ({})", parts.rest())));
        return;
    }
    finish_multiply(form);
}

/// The matrix that wmma.load and .store move, as `d` of a form of its own; false where there is none.
bool FunctionDecoder::tile_of(std::string_view which, MatrixShape shape, MatrixElement element, MatrixForm& tile) {
    using E = MatrixElement;
    MatrixForm form;
    set_shape(form, shape);
    const bool sums = which == "c" || which == "d";
    form.a = form.b = !sums ? element : element == E::s32 ? E::u8 : element == E::f64 ? E::f64 : E::f16;
    form.c = form.d = sums                                                            ? element
                      : element == E::f64                                             ? E::f64
                      : element == E::f16 || element == E::bf16 || element == E::tf32 ? E::f32
                                                                                      : E::s32;
    bool known = complete_wmma(form);
    for (const E other : {E::s4, E::b1, E::tf32}) {  // sums of shapes that only these have
        if (!known && sums && (element == E::s32) == (other != E::tf32)) {
            form.a = form.b = other;
            known = complete_wmma(form);
        }
    }
    tile.kind = FragmentKind::linear;
    tile.d = element;
    tile.d_registers = which == "a" ? form.a_registers : which == "b" ? form.b_registers : form.d_registers;
    tile.m = which == "b" ? form.k : form.m;
    tile.n = which == "a" ? form.k : form.n;
    return known;
}

/// wmma.load.a|b|c.sync.aligned.LAYOUT.SHAPE{.SPACE}.TYPE r, [p]{, stride}; wmma.store.d the same with [p] first.
void FunctionDecoder::decode_wmma_move(Parts& parts, bool loads) {
    const std::string_view which = loads ? parts.take_any({"a", "b", "c"}) : parts.take_any({"d"});
    const auto shape = take_shape(parts, current_->parts);
    const auto by_columns = take_layouts(parts, current_->parts);
    const auto elements = take_elements(parts, current_->parts);
    const AddressSpace space = take_space(parts).value_or(AddressSpace::generic);
    MatrixForm tile;
    const bool known = shape && by_columns.size() == 1 && elements.size() == 1 && !which.empty() &&
                       tile_of(which, *shape, elements[0], tile);
    const bool narrow = known && bits_of(tile.d) < 8;
    // Elements below a byte have one order in memory.
    if (!known || !parts.done() || (narrow && by_columns[0] != (which == "b")) || !want(2, 3)) {
        missing(fmt::format("'{}'{}", current_->opcode, parts.done() ? "" : fmt::format(" ({})", parts.rest())));
        return;
    }
    tile.a_by_columns = by_columns[0];
    Instruction instruction = begin_matrix(loads ? load_matrix_handler() : store_matrix_handler());
    instruction.writes = !loads;
    instruction.sources[0] = generic_address(current_->operands[loads ? 1 : 0], space);
    instruction.sources[1] = current_->operands.size() == 3
                                 ? source(current_->operands[2], Type::u32)
                                 : builder_.constant(tile.a_by_columns ? tile.m : tile.n, false);
    std::vector<Place> places;
    if (!take_fragment(current_->operands[loads ? 0 : 1], tile.d, tile.d_registers, loads, places)) {
        return;
    }
    instruction.list = builder_.places(places);
    instruction.target = add_matrix(tile);
    emit(instruction);
}

void FunctionDecoder::decode_wmma() {
    Parts parts(current_->parts);
    const std::string_view action = parts.take_any({"load", "store", "mma"});
    if (!parts.take("sync") || !parts.take("aligned")) {
        missing(fmt::format("'{}'", current_->opcode));
    } else if (action == "mma") {
        decode_wmma_multiply(parts);
    } else {
        decode_wmma_move(parts, action == "load");
    }
}

/// ldmatrix.sync.aligned.m8n8.x1|x2|x4{.trans}{.shared{::cta}}.b16 r, [p]; stmatrix the same with [p] first.
void FunctionDecoder::decode_row_matrices(bool loads) {
    Parts parts(current_->parts);
    const bool together = parts.take("sync") && parts.take("aligned");
    const bool shape = parts.take("m8n8");
    const std::string_view count = parts.take_any({"x1", "x2", "x4"});
    const bool transposed = parts.take("trans");
    AddressSpace space = take_space(parts).value_or(AddressSpace::generic);
    const bool in_shared = space == AddressSpace::shared || space == AddressSpace::generic;
    if (!together || !shape || count.empty() || !in_shared || parts.take_type() != Type::b16 || !parts.done() ||
        !want(2, 2)) {
        missing(fmt::format("'{}'{}", current_->opcode, parts.done() ? "" : fmt::format(" ({})", parts.rest())));
        return;
    }
    const auto at = address(current_->operands[loads ? 1 : 0], space);
    if (!at) {
        return;
    }
    Instruction instruction = begin_matrix(loads ? load_rows_handler(transposed) : store_rows_handler(transposed));
    instruction.writes = !loads;
    instruction.access_bytes = 16;
    instruction.vector = static_cast<std::uint8_t>(count[1] - '0');
    set_address(instruction, *at, space);
    std::vector<Place> places;
    if (take_fragment(current_->operands[loads ? 0 : 1], MatrixElement::f32, instruction.vector, loads, places)) {
        instruction.list = builder_.places(places);
        emit(instruction);
    }
}

/// movmatrix.sync.aligned.m8n8.trans.b16 d, a.
void FunctionDecoder::decode_transpose() {
    Parts parts(current_->parts);
    const bool together = parts.take("sync") && parts.take("aligned") && parts.take("m8n8") && parts.take("trans");
    if (!together || parts.take_type() != Type::b16 || !parts.done() || !want(2, 2)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    Instruction instruction = begin_matrix(transpose_handler());
    instruction.sources[0] = source(current_->operands[1], Type::b32);
    const Target result = target(current_->operands[0], Type::b32);
    instruction.destination = result.place;
    emit(instruction);
    finish(result);
}

}  // namespace egpu::simulated

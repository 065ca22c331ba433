// SPDX-License-Identifier: Apache-2.0
// tex, tld4, txq, suld, sust, sured, suq (PTX ISA 9.0, sections 9.7.10 and 9.7.11), on objects in registers.
#include <array>
#include <utility>

#include <fmt/format.h>

#include "gpu/simulated/executor/decoder/function_decoder.hpp"
#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/image.hpp"

namespace egpu::simulated {
namespace {

using Kind = ptx::Operand::Kind;

constexpr std::array<std::pair<std::string_view, Geometry>, 7> kGeometries = {{{"1d", {1, false, false}},
                                                                               {"2d", {2, false, false}},
                                                                               {"3d", {3, false, false}},
                                                                               {"a1d", {1, true, false}},
                                                                               {"a2d", {2, true, false}},
                                                                               {"cube", {3, false, true}},
                                                                               {"acube", {3, true, true}}}};
constexpr std::array<std::pair<std::string_view, ImageQuery>, 5> kQueries = {
    {{"width", ImageQuery::width},
     {"height", ImageQuery::height},
     {"depth", ImageQuery::depth},
     {"array_size", ImageQuery::array_size},
     {"normalized_coords", ImageQuery::normalized}}};

std::vector<const ptx::Operand*> elements_of(const ptx::Operand& operand) {
    std::vector<const ptx::Operand*> elements;
    if (operand.kind == Kind::vector) {
        for (const ptx::Operand& part : operand.parts) {
            elements.push_back(&part);
        }
    } else {
        elements.push_back(&operand);
    }
    return elements;
}

Outside take_outside(Parts& parts) {
    const std::string_view given = parts.take_any({"trap", "clamp", "zero"});
    return given == "clamp" ? Outside::clamp : given == "zero" ? Outside::zero : Outside::trap;
}

}  // namespace

std::optional<Geometry> FunctionDecoder::take_geometry(Parts& parts) {
    for (const auto& [name, geometry] : kGeometries) {
        if (parts.take(name)) {
            return geometry;
        }
    }
    return std::nullopt;
}

/// `[%rd1, {%f1, %f2}]`: appends the object's row, then those of its coordinates. Vectors may have more elements than
/// there are coordinates.
bool FunctionDecoder::take_object(const ptx::Operand& operand, const ImageForm& form, bool whole,
                                  std::vector<Place>& places) {
    const Symbol* const object = operand.kind == Kind::address ? symbol(operand.base) : nullptr;
    if (object == nullptr || object->kind != Symbol::Kind::reg || bits_of(object->type) != 64) {
        missing(fmt::format("'{}' of '{}': textures and surfaces other than objects in registers", operand.text,
                            current_->opcode));
        return false;
    }
    places.push_back(object->place);
    const unsigned wanted = form.geometry.coordinates();
    if (operand.parts.size() != 1) {
        missing(fmt::format("'{}' of '{}': samplers of their own", operand.text, current_->opcode));
        return false;
    }
    const auto coordinates = elements_of(operand.parts.front());
    if (coordinates.size() < wanted || coordinates.size() > 4) {
        malformed(fmt::format("'{}' with {} coordinates, not {}", current_->opcode, coordinates.size(), wanted));
        return false;
    }
    for (unsigned index = 0; index < wanted; ++index) {
        const bool is_layer = form.geometry.layered && index == 0;
        places.push_back(source(*coordinates[index], whole || is_layer ? Type::s32 : Type::f32));
    }
    return !failed();
}

/// Nothing of the opcode is left over, and there are so many operands.
bool FunctionDecoder::finish_image(Parts& parts, std::size_t operands) {
    if (!parts.done()) {
        missing(fmt::format("'{}' ({})", current_->opcode, parts.rest()));
        return false;
    }
    if (current_->operands.size() != operands) {
        missing(fmt::format("'{}' with {} operands: offsets and depth comparisons", current_->opcode,
                            current_->operands.size()));
        return false;
    }
    return true;
}

void FunctionDecoder::emit_image(Instruction& instruction, const ImageForm& form, const std::vector<Place>& places) {
    auto& images = builder_.program().images;
    images.push_back(form);
    instruction.target = static_cast<std::uint32_t>(images.size() - 1);
    instruction.list = builder_.places(places);
    emit(instruction);
}

/// The level of detail, or the gradients: there is one level, so they only have to be there.
bool FunctionDecoder::take_level(std::string_view level, const ImageForm& form) {
    const auto& operands = current_->operands;
    const unsigned dimensions = form.geometry.dimensions;
    if (level == "level") {
        (void)source(operands[2], form.whole_coordinates ? Type::s32 : Type::f32);
    } else if (level == "grad") {
        for (const ptx::Operand* const gradient : {&operands[2], &operands[3]}) {
            const auto elements = elements_of(*gradient);
            if (elements.size() < dimensions) {
                malformed(fmt::format("'{}' with a gradient of {} elements", current_->opcode, elements.size()));
                return false;
            }
            for (unsigned index = 0; index < dimensions; ++index) {
                (void)source(*elements[index], Type::f32);
            }
        }
    }
    return !failed();
}

void FunctionDecoder::decode_fetch() {
    Parts parts(current_->parts);
    const bool gathers = parts.root() == "tld4";
    ImageForm form;
    const std::string_view level = gathers ? std::string_view() : parts.take_any({"base", "level", "grad"});
    const std::string_view component = gathers ? parts.take_any({"r", "g", "b", "a"}) : std::string_view();
    const auto geometry = take_geometry(parts);
    const std::string_view vector = parts.take_any({"v4", "v2"});
    const Type type = parts.take_type();
    const Type coordinate = parts.take_type();
    const bool pairs = type == Type::f16x2 && vector == "v2";
    const bool words = type == Type::f32 || type == Type::s32 || type == Type::u32;
    const bool fetches = words || (!gathers && (pairs || type == Type::f16));
    const bool known = geometry && fetches && (pairs || vector == "v4") && gathers == !component.empty() &&
                       (coordinate == Type::f32 || (coordinate == Type::s32 && !gathers && !geometry->cube));
    if (!known || (gathers && geometry->dimensions != 2 && !geometry->cube)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    form.geometry = *geometry;
    form.whole_coordinates = coordinate == Type::s32;
    form.result = pairs ? FetchResult::pairs : type == Type::f16 ? FetchResult::halves : FetchResult::words;
    form.component = static_cast<std::uint8_t>(std::string_view("rgba").find(component.empty() ? 'r' : component[0]));
    if (!finish_image(parts, level == "level" ? 3 : level == "grad" ? 4 : 2) || !take_level(level, form)) {
        return;
    }
    Instruction instruction = begin();
    instruction.handler = gathers ? gather_handler() : fetch_handler();
    instruction.cost = cost::kGlobalMemory;
    std::vector<Place> places;
    if (!take_object(current_->operands[1], form, form.whole_coordinates, places)) {
        return;
    }
    const ptx::Operand& result = current_->operands[0];
    if (result.kind != Kind::vector || result.parts.size() != (pairs ? 2U : 4U)) {
        missing(fmt::format("'{}' into '{}'", current_->opcode, result.text));
        return;
    }
    std::vector<Target> targets;
    for (const ptx::Operand& one : result.parts) {
        targets.push_back(target(one, pairs ? Type::b32 : type));
        places.push_back(targets.back().place);
    }
    emit_image(instruction, form, places);
    for (const Target& one : targets) {
        finish(one);
    }
}

void FunctionDecoder::decode_surface_access(bool is_store) {
    Parts parts(current_->parts);
    ImageForm form;
    const bool bytes = parts.take("b");
    const auto geometry = take_geometry(parts);
    parts.take_any({"ca", "cg", "cs", "cv", "wb", "wt"});
    const std::string_view vector = parts.take_any({"v2", "v4"});
    const Type type = parts.take_type();
    form.outside = take_outside(parts);
    form.vector = static_cast<std::uint8_t>(vector.empty() ? 1 : vector[1] - '0');
    form.element_bytes = static_cast<std::uint8_t>(bytes_of(type));
    const bool known = bytes && geometry && !geometry->cube && is_bits(type) && form.vector * form.element_bytes <= 16;
    if (!known) {
        missing(fmt::format("'{}'{}", current_->opcode, bytes ? "" : " (sample addressing)"));
        return;
    }
    form.geometry = *geometry;
    if (!finish_image(parts, 2)) {
        return;
    }
    Instruction instruction = begin();
    instruction.writes = is_store;
    instruction.cost = is_store ? cost::kStore : cost::kGlobalMemory;
    std::vector<Place> places;
    if (!take_object(current_->operands[is_store ? 0 : 1], form, true, places)) {
        return;
    }
    const auto elements = elements_of(current_->operands[is_store ? 1 : 0]);
    if (elements.size() != form.vector) {
        malformed(fmt::format("'{}' with {} values", current_->opcode, elements.size()));
        return;
    }
    std::vector<Target> targets;
    if (!vector_rows(elements, type, is_store, form.wide, places, targets)) {
        return;
    }
    instruction.handler = is_store ? surface_store_handler(form.wide) : surface_load_handler(form.wide);
    emit_image(instruction, form, places);
    for (const Target& one : targets) {
        finish(one);
    }
}

void FunctionDecoder::decode_surface_reduction() {
    Parts parts(current_->parts);
    ImageForm form;
    const bool bytes = parts.take("b");
    const std::string_view operation = parts.take_any({"add", "min", "max", "and", "or"});
    const auto geometry = take_geometry(parts);
    const Type type = parts.take_type();
    form.outside = take_outside(parts);
    const Element element = element_reduction(operation, type);
    if (!bytes || !geometry || geometry->layered || geometry->cube || is_float(type) || element == nullptr) {
        missing(fmt::format("'{}'{}", current_->opcode, bytes ? "" : " (sample addressing)"));
        return;
    }
    form.geometry = *geometry;
    form.element_bytes = static_cast<std::uint8_t>(bytes_of(type));
    form.wide = bits_of(type) == 64;
    std::vector<Place> places;
    if (!finish_image(parts, 2) || !take_object(current_->operands[0], form, true, places)) {
        return;
    }
    Instruction instruction = begin();
    instruction.writes = true;
    instruction.cost = cost::kGlobalAtomic;
    instruction.handler = surface_reduce_handler(form.wide);
    instruction.element = element;
    places.push_back(source(current_->operands[1], type));
    emit_image(instruction, form, places);
}

void FunctionDecoder::decode_image_query(bool of_surface) {
    Parts parts(current_->parts);
    ImageForm form;
    bool known = false;
    for (const auto& [name, query] : kQueries) {
        if ((!of_surface || query != ImageQuery::normalized) && parts.take(name)) {
            form.query = query;
            known = true;
        }
    }
    if (!known || !parts.take("b32") || !parts.done()) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    if (!want(2, 2)) {
        return;
    }
    const ptx::Operand& where = current_->operands[1];
    const Symbol* const object = where.kind == Kind::address && where.parts.empty() ? symbol(where.base) : nullptr;
    if (object == nullptr || object->kind != Symbol::Kind::reg || bits_of(object->type) != 64) {
        missing(fmt::format("'{}' of '{}': textures and surfaces other than objects in registers", where.text,
                            current_->opcode));
        return;
    }
    Instruction instruction = begin();
    instruction.handler = image_query_handler(of_surface);
    instruction.cost = cost::kArithmetic;
    const Target result = target(current_->operands[0], Type::b32);
    instruction.destination = result.place;
    emit_image(instruction, form, {object->place});
    finish(result);
}

}  // namespace egpu::simulated

// SPDX-License-Identifier: Apache-2.0
// Rule 2: a pointer stays inside its kind: numbers may be added and subtracted, nothing else.
#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {
namespace {

Refusal arithmetic(std::string message, std::string why) {
    Refusal refusal;
    refusal.code = "EGPU-V005";
    refusal.message = std::move(message);
    refusal.why = std::move(why);
    refusal.fix = "add or subtract an index; compute with the value, not with its address";
    return refusal;
}

Refusal null_arithmetic(const Scene& scene, const Value& pointer) {
    MemoryAccess access;
    access.pointer = pointer;
    Refusal refusal = *check_dereference(scene, access);
    refusal.message += ", and an offset is added to it";
    return refusal;
}

}  // namespace

Verdict check_pointer_arithmetic(const Scene& scene, const Value& left, const Value& right) {
    const Instruction& i = scene.instruction();
    const bool adds = operation_of(i) == kAdd, subtracts = operation_of(i) == kSub;
    if (class_of(i) == kClassAlu)
        return arithmetic("half of a pointer is used as a number here",
                          "a pointer has 64 bits; 32 of them mean nothing");
    if (!adds && !subtracts)
        return arithmetic("arithmetic other than + and - is done on a pointer here",
                          fmt::format("the result of \"{}\" would point nowhere that can be checked", to_text(i)));
    for (const Value* value : {&left, &right}) {
        if (value->kind == Kind::map_object)
            return arithmetic(fmt::format("an offset is added to the map '{}' itself", scene.map(value->map).name),
                              "a map's inside belongs to egpu");
        if (value->kind == Kind::map_value_or_null && !(left.is_pointer() && right.is_pointer()))
            return null_arithmetic(scene, *value);
    }
    if (left.is_pointer() && right.is_pointer()) {
        if (subtracts && left.same_base(right) && left.kind != Kind::map_value_or_null)
            return std::nullopt;
        return arithmetic("two pointers are combined here", "only pointers into the same object can be subtracted");
    }
    if (subtracts && right.is_pointer())
        return arithmetic("a pointer is subtracted from a number here", "the result would tell an address");
    return std::nullopt;
}

Verdict check_comparison(const Scene& scene, const Value& left, const Value& right) {
    for (const Value* value : {&left, &right})
        if (auto refusal = value->kind == Kind::partial_sum ? check_number(scene, *value, "compared") : std::nullopt)
            return refusal;
    if (!left.is_pointer() && !right.is_pointer())
        return std::nullopt;
    const Instruction& i = scene.instruction();
    const bool equality = operation_of(i) == kJeq || operation_of(i) == kJne;
    const bool with_null =
        (left.is_constant() && left.scalar.value() == 0) || (right.is_constant() && right.scalar.value() == 0);
    if (class_of(i) == kClassJmp && equality && (with_null || (left.is_pointer() && right.is_pointer())))
        return std::nullopt;
    const bool known = left.is_pointer() && left.same_base(right) && left.kind != Kind::map_value_or_null;
    if (class_of(i) == kClassJmp && known && operation_of(i) != kJset)
        return std::nullopt;
    if (class_of(i) == kClassJmp32)
        return arithmetic("half of a pointer is compared here", "a pointer has 64 bits; 32 of them mean nothing");
    const bool both = left.is_pointer() && right.is_pointer();
    Refusal refusal = arithmetic(
        both ? "the order of two pointers that don't point into the same object is asked for here"
             : "a pointer is compared with a number here",
        both ? "where objects lie is not the program's to know: such pointers are equal or not, neither comes first"
             : "an address means nothing to a program: only NULL and pointers into the same object compare with one");
    if (both)
        refusal.fix = "compare with == or !=, or compare what they point to";
    return refusal;
}

}  // namespace egpu::ebpf

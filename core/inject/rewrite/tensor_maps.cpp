// SPDX-License-Identifier: Apache-2.0
// The bytes of a tensor copy are those of the box that its tensor map describes (PTX ISA 5.5, "Tensors"; cuda.h,
// cuTensorMapEncodeTiled: ceil(boxDim / elementStride) elements in each dimension). The lanes that start the copy read
// the map, which is 128 bytes in parameter, constant or global memory and has a generic address.
//
//   before:  @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
//                     [%r1], [%rd1, {%r2, %r3}], [%r4];
//   after:   {
//            .reg .b32 %egpu_tensor_bytes, ...;
//            mov.b64 %egpu_tensor_kind, 0;                 // and the others
//            @%p1 ld.u64 %egpu_tensor_kind, [%rd1+8];      // type of the elements
//            @%p1 ld.u64 %egpu_tensor_strides, [%rd1+48];  // strides, and the box's first dimension
//            @%p1 ld.u64 %egpu_tensor_box, [%rd1+56];      // its other dimensions
//            ... %egpu_tensor_bytes = bytes of an element * elements in each of 2 dimensions
//            <program, which adds %egpu_tensor_bytes>
//            }
//            @%p1 cp.async.bulk.tensor.2d...
//
// Where a map holds these is in base/tensor_map.hpp. Lanes that start no copy read zeroes; what they make of them is
// not counted.
#include "inject/rewrite/tensor_maps.hpp"

#include <array>

#include <fmt/format.h>

#include "base/tensor_map.hpp"

namespace egpu::inject {
namespace {

/// The words of a map that are read: byte offset, and the register that holds the word.
struct Word {
    unsigned offset;
    std::string_view name;
};
constexpr std::array<Word, 3> kWords{
    {{8, "%egpu_tensor_kind"}, {48, "%egpu_tensor_strides"}, {56, "%egpu_tensor_box"}}};

/// A field to %egpu_tensor_field.
std::string extract(tensor_map::Field field) {
    for (const auto& [offset, name] : kWords)
        if (field.at / 64 * 8 == offset)
            return fmt::format("\tbfe.u64 %egpu_tensor_field, {}, {}, {};\n", name, field.at % 64, field.bits);
    return {};  // the fields all lie in these words
}

/// Elements of a dimension to %egpu_tensor_n: (box - 1) / stride + 1.
std::string elements_of(std::uint32_t dimension) {
    std::string text = extract(tensor_map::box_of(dimension));
    text += "\tcvt.u32.u64 %egpu_tensor_n, %egpu_tensor_field;\n";
    text += extract(tensor_map::stride_of(dimension));
    text += "\tcvt.u32.u64 %egpu_tensor_stride, %egpu_tensor_field;\n";
    if (dimension == 0)
        text += extract(tensor_map::kInterleave) +
                "\tsetp.eq.u64 %egpu_tensor_plain, %egpu_tensor_field, 0;\n"
                "\tselp.b32 %egpu_tensor_stride, 0, %egpu_tensor_stride, %egpu_tensor_plain;\n";
    text +=
        "\tadd.u32 %egpu_tensor_stride, %egpu_tensor_stride, 1;\n"
        "\tdiv.u32 %egpu_tensor_n, %egpu_tensor_n, %egpu_tensor_stride;\n"
        "\tadd.u32 %egpu_tensor_n, %egpu_tensor_n, 1;\n"
        "\tmul.lo.u32 %egpu_tensor_bytes, %egpu_tensor_bytes, %egpu_tensor_n;\n";
    return text;
}

/// The map's address is in a register of 64 bits (match/sites.cpp).
std::string loads(const Firing& firing) {
    const SiteBinding binding = guarded_binding(firing.site);
    const std::string guard =
        binding.guard.empty() ? "" : fmt::format("@{}{} ", binding.guard_negated ? "!" : "", binding.guard);
    const auto& map = firing.site.instruction->operands[static_cast<std::size_t>(firing.site.access.bytes_operand)];
    std::string text;
    for (const auto& [offset, name] : kWords) {
        text += fmt::format("\tmov.b64 {}, 0;\n", name);
        text += fmt::format("\t{}ld.u64 {}, [{}+{}];\n", guard, name, map.base, map.integer + offset);
    }
    return text;
}

}  // namespace

bool copies_through_tensor_map(const Firing& firing) {
    const auto& access = firing.site.access;
    return access.bytes == ptx::MemoryAccess::Bytes::at_run_time && access.tensor_rank != 0;
}

std::string with_tensor_bytes(FunctionWriter& writer, const Firing& firing, std::string text) {
    if (text.find(kTensorBytes) == std::string::npos)
        return text;
    const auto rank = firing.site.access.tensor_rank;
    std::string before =
        "{\n\t.reg .pred %egpu_tensor_plain;\n"
        "\t.reg .b32 %egpu_tensor_bytes, %egpu_tensor_n, %egpu_tensor_stride;\n"
        "\t.reg .b64 %egpu_tensor_kind, %egpu_tensor_strides, %egpu_tensor_box, %egpu_tensor_field;\n";
    before += loads(firing) + extract(tensor_map::kElementType);
    before += fmt::format(
        "\tcvt.u32.u64 %egpu_tensor_n, %egpu_tensor_field;\n"
        "\tshl.b32 %egpu_tensor_n, %egpu_tensor_n, 2;\n"
        "\tmov.b64 %egpu_tensor_field, {:#x};\n"
        "\tshr.u64 %egpu_tensor_field, %egpu_tensor_field, %egpu_tensor_n;\n"
        "\tcvt.u32.u64 %egpu_tensor_bytes, %egpu_tensor_field;\n"
        "\tand.b32 %egpu_tensor_bytes, %egpu_tensor_bytes, 15;\n",
        tensor_map::kElementBytes);
    for (std::uint32_t dimension = 0; dimension < rank; ++dimension)
        before += elements_of(dimension);
    writer.count(13 + 8 * rank + 3);
    return before + text + "}\n";
}

}  // namespace egpu::inject

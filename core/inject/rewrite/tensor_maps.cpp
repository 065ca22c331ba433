// SPDX-License-Identifier: Apache-2.0
// The bytes of a tensor copy are those of the box that its tensor map describes (PTX ISA 5.5, "Tensors"; cuda.h,
// cuTensorMapEncodeTiled: ceil(boxDim / elementStride) elements in each dimension). The lanes that start the copy read
// the map, which is 128 bytes in parameter, constant or global memory and has a generic address.
//
//   before:  @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
//                     [%r1], [%rd1, {%r2, %r3}], [%r4];
//   after:   {
//            .reg .b32 %egpu_tensor_bytes, ...;
//            mov.b32 %egpu_tensor_bytes, 0;                // for lanes that start none
//            @%p1 ld.u64 %egpu_tensor_kind, [%rd1+8];      // type of the elements
//            @%p1 ld.u64 %egpu_tensor_strides, [%rd1+48];  // strides, and the box's first dimension
//            @%p1 ld.u64 %egpu_tensor_box, [%rd1+56];      // its other dimensions
//            ... %egpu_tensor_bytes = bytes of an element * elements in each of 2 dimensions
//            <program, which adds %egpu_tensor_bytes>
//            }
//            @%p1 cp.async.bulk.tensor.2d...
//
// How a map is laid out is nowhere written down. It was measured: an H200, driver 580.159, 2026-12-01, by encoding maps
// that differ in one argument. The agent encodes maps on the driver at hand and compares before any copy is built this
// way (core/agent/driver/tensor_maps.cpp has the same table): with another layout the bytes stay unknown. Bits:
//
//   71..74    element's type   0 u8, 1 u16, 2 u32, 3 s32, 4 u64, 5 s64, 6 f16, 7 f32 and tf32, 8 the same with
//                              subnormals as zero, 9 f64, 10 bf16
//   75..76    interleave       0: none, and the first dimension has no stride
//   416+3i    stride of dimension i, less one; 3 bits
//   440+8i    box in dimension i, less one; 8 bits
#include "inject/rewrite/tensor_maps.hpp"

#include <fmt/format.h>

namespace egpu::inject {
namespace {

/// Bytes of an element by its type's number, four bits each, from the lowest.
constexpr std::uint64_t kElementBytes = 0x28442884421;

/// Elements of a dimension to %egpu_tensor_n: (box - 1) / stride + 1.
std::string elements_of(std::uint32_t dimension) {
    const bool is_first = dimension == 0;
    std::string text =
        is_first ? "\tbfe.u64 %egpu_tensor_field, %egpu_tensor_strides, 56, 8;\n"
                 : fmt::format("\tbfe.u64 %egpu_tensor_field, %egpu_tensor_box, {}, 8;\n", 8 * (dimension - 1));
    text += "\tcvt.u32.u64 %egpu_tensor_n, %egpu_tensor_field;\n";
    text += fmt::format("\tbfe.u64 %egpu_tensor_field, %egpu_tensor_strides, {}, 3;\n", 32 + 3 * dimension);
    text += "\tcvt.u32.u64 %egpu_tensor_stride, %egpu_tensor_field;\n";
    if (is_first)
        text +=
            "\tbfe.u64 %egpu_tensor_field, %egpu_tensor_kind, 11, 2;\n"
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
    for (const auto& [name, offset] : {std::pair{"kind", 8}, std::pair{"strides", 48}, std::pair{"box", 56}}) {
        text += fmt::format("\tmov.b64 %egpu_tensor_{}, 0;\n", name);
        text += fmt::format("\t{}ld.u64 %egpu_tensor_{}, [{}+{}];\n", guard, name, map.base, map.integer + offset);
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
    before += loads(firing);
    before += fmt::format(
        "\tbfe.u64 %egpu_tensor_field, %egpu_tensor_kind, 7, 4;\n"
        "\tcvt.u32.u64 %egpu_tensor_n, %egpu_tensor_field;\n"
        "\tshl.b32 %egpu_tensor_n, %egpu_tensor_n, 2;\n"
        "\tmov.b64 %egpu_tensor_field, {:#x};\n"
        "\tshr.u64 %egpu_tensor_field, %egpu_tensor_field, %egpu_tensor_n;\n"
        "\tcvt.u32.u64 %egpu_tensor_bytes, %egpu_tensor_field;\n"
        "\tand.b32 %egpu_tensor_bytes, %egpu_tensor_bytes, 15;\n",
        kElementBytes);
    for (std::uint32_t dimension = 0; dimension < rank; ++dimension)
        before += elements_of(dimension);
    writer.count(13 + 8 * rank + 3);
    return before + text + "}\n";
}

}  // namespace egpu::inject

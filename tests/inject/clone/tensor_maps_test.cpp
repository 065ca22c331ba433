// SPDX-License-Identifier: Apache-2.0
// The bytes of tensor copies, read from tensor maps. The simulated GPU has no tensor copies: they are taken out of the
// copy's text, the program at them stays. Maps are laid out here by the bits that were measured.
#include <gmock/gmock.h>

#include <bitset>

#include "copy_run.hpp"

namespace egpu::inject {
namespace {

using testing::CopyMaps, testing::Device, testing::Session;

/// The arguments of cuTensorMapEncodeTiled that decide on the bytes.
struct Box {
    const char* name;
    std::uint32_t type, element_bytes, interleave;
    std::vector<std::uint32_t> box, strides;
    std::uint64_t elements;  ///< ceil(box / stride), multiplied
};
std::ostream& operator<<(std::ostream& stream, const Box& box) {
    return stream << box.name;
}

std::string initializer(const Box& box) {
    std::bitset<1024> bits(0);
    bits.flip();  // whatever isn't looked at
    const auto put = [&](std::size_t at, std::size_t width, std::uint32_t value) {
        for (std::size_t bit = 0; bit < width; ++bit)
            bits[at + bit] = (value >> bit & 1) != 0;
    };
    put(71, 4, box.type);
    put(75, 2, box.interleave);
    for (std::size_t i = 0; i < box.box.size(); ++i) {
        put(416 + 3 * i, 3, box.strides[i] - 1);
        put(440 + 8 * i, 8, box.box[i] - 1);
    }
    std::string text;
    for (std::size_t byte = 0; byte < 128; ++byte) {
        std::uint32_t value = 0;
        for (std::size_t bit = 0; bit < 8; ++bit)
            value |= bits[8 * byte + bit] ? 1u << bit : 0;
        text += fmt::format("{}{}", byte == 0 ? "" : ",", value);
    }
    return text;
}

constexpr std::string_view kCoordinates[] = {"%r2", "%r2, %r3", "%r2, %r3, %r4", "%r2, %r3, %r4, %r5",
                                             "%r2, %r3, %r4, %r5, %r6"};

/// Thread 0 of each block starts a copy; other threads' address is none.
std::string module_of(const Box& box, bool with_copy) {
    const std::size_t rank = box.box.size();
    const std::string copy = fmt::format(
        "\t@%p1 cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, "
        "{{{}}}], [%r1];\n",
        rank, kCoordinates[rank - 1]);
    return fmt::format(R"(.version 8.0
.target sm_90
.address_size 64
.shared .align 128 .b8 window[4096];
.global .align 64 .b8 map[128] = {{{}}};
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{{
	.reg .pred %p<2>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	mov.u32 %r7, %tid.x;
	setp.eq.u32 %p1, %r7, 0;
	mov.u64 %rd2, map;
	cvta.global.u64 %rd2, %rd2;
	selp.b64 %rd1, %rd2, 0, %p1;
	mov.u32 %r1, window;
	mov.u32 %r2, 0; mov.u32 %r3, 0; mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0;
{}	ret;
}}
)",
                       initializer(box), with_copy ? copy : "");
}

class TensorMaps : public ::testing::TestWithParam<Box> {};

TEST_P(TensorMaps, AreRead) {
    const Box& box = GetParam();
    const std::string text = module_of(box, true);
    const auto module = ptx::parse(text, "tensor");
    ASSERT_TRUE(module) << to_text(module.error());
    for (const char* program : {"bytes_by_thread", "bytes_by_warp"}) {
        SCOPED_TRACE(program);
        Session session;
        session.attach("copies", program);
        auto request = session.request(*module, "k");
        request.tensor_maps_known = true;
        auto copy = build_copy(request);
        ASSERT_TRUE(copy) << to_text(copy.error());
        ASSERT_EQ(copy->outcomes[0].sites, 1u);
        EXPECT_THAT(copy->outcomes[0].notes, ::testing::IsEmpty());
        const auto begin = copy->ptx.find("@%p1 cp.async.bulk.tensor");
        ASSERT_NE(begin, std::string::npos);
        copy->ptx.erase(begin, copy->ptx.find(';', begin) + 1 - begin);

        Device device;
        const auto original = device.load(module_of(box, false)), instrumented = device.load(copy->ptx);
        ASSERT_TRUE(original && instrumented) << copy->ptx;
        CopyMaps maps(session, device.memory());
        maps.allocate();
        maps.fill_table(*copy, *instrumented, *original, 0);
        device.launch(*instrumented, "k");
        const auto map = session.map("copies/copied");
        EXPECT_EQ(maps.word_of_slot(map, 0, 0), testing::kBlocks) << copy->ptx;
        EXPECT_EQ(maps.word_of_slot(map, 0, 8), testing::kBlocks * box.element_bytes * box.elements) << copy->ptx;
    }
}

const Box kBoxes[] = {
    {"u8", 0, 1, 0, {16}, {1}, 16},
    {"whole_row", 7, 4, 0, {256}, {1}, 256},
    {"f32", 7, 4, 0, {16, 16}, {1, 1}, 256},
    {"f16", 6, 2, 0, {64, 128}, {1, 1}, 8192},
    {"bf16", 10, 2, 0, {64, 8, 3}, {1, 1, 1}, 1536},
    {"f64", 9, 8, 0, {2, 3, 4, 5}, {1, 1, 1, 1}, 120},
    {"five", 5, 8, 0, {2, 1, 256, 1, 3}, {1, 1, 1, 1, 1}, 1536},
    {"strides", 3, 4, 0, {16, 15, 8}, {1, 2, 3}, 16 * 8 * 3},
    {"the_first_has_no_stride", 2, 4, 0, {16, 7}, {4, 8}, 16},
    {"interleaved_strides", 1, 2, 1, {16, 9}, {5, 1}, 4 * 9},
    {"flushed", 8, 4, 2, {8, 8, 8}, {8, 7, 1}, 1 * 2 * 8},
};
INSTANTIATE_TEST_SUITE_P(Boxes, TensorMaps, ::testing::ValuesIn(kBoxes),
                         [](const auto& information) { return information.param.name; });

}  // namespace
}  // namespace egpu::inject

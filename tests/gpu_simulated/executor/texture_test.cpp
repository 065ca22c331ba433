// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces: what each instruction gives on objects over images made here.
#include <fmt/format.h>

#include <bit>

#include "device.hpp"

namespace egpu::simulated::test {
namespace {

constexpr TexelFormat kFloat{ChannelKind::floating, 4, 1};

/// An image of the pattern of a type, row after row.
class Picture {
public:
    template <typename T>
    Picture(Device& device, ImageKind kind, TexelFormat format, Dimensions size, const std::vector<T>& values)
        : device_(device) {
        object_.image = {
            device.upload(values), format, kind, size.x, size.y, size.z, std::uint64_t{size.x} * format.bytes()};
    }
    Sampler& sampler() { return object_.sampler; }
    std::uint64_t address() const { return object_.image.address; }
    std::uint64_t texture() const { return device_.memory.images().add(object_); }
    std::uint64_t surface() const {
        ImageObject object = object_;
        object.is_surface = true;
        return device_.memory.images().add(object);
    }

private:
    Device& device_;
    ImageObject object_;
};

std::vector<float> counted(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(i);
    }
    return values;
}

/// A kernel of one thread a row of `in`: four words %a to %d come from there, four words %r0 to %r3 go to `out`.
std::string kernel_of(const std::string& body) {
    return R"(
.visible .entry k(.param .u64 object, .param .u64 in, .param .u64 out)
{
  .reg .pred %p<4>; .reg .b16 %h<9>; .reg .b32 %r<9>, %t, %a, %b, %c, %d; .reg .b64 %rd<9>, %o, %in, %out;
  ld.param.u64 %o, [object]; ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x; mad.wide.u32 %in, %t, 16, %in; mad.wide.u32 %out, %t, 16, %out;
  ld.global.v4.u32 {%a, %b, %c, %d}, [%in];
  mov.u32 %r0, 77; mov.u32 %r1, 77; mov.u32 %r2, 77; mov.u32 %r3, 77;
  )" + body +
           R"(
  st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};
  ret;
})";
}

using Words = std::array<std::uint32_t, 4>;
constexpr const char* kFour = "{%r0, %r1, %r2, %r3}";

std::uint32_t bits(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

LaunchResult launch_on(Device& device, std::uint64_t object, const std::string& body, const std::vector<Words>& in,
                       std::vector<Words>* out) {
    const auto from = device.upload(in);
    const auto to = device.upload(std::vector<Words>(in.size()));
    const auto result = device.run(kernel_of(body), {1, 1, 1}, {static_cast<std::uint32_t>(in.size()), 1, 1},
                                   Parameters().add(object).add(from).add(to));
    if (out != nullptr) {
        EXPECT_TRUE(result) << why(result);
        *out = device.download<Words>(to, in.size());
    }
    return result;
}

std::vector<Words> run_on(Device& device, std::uint64_t object, const std::string& body, const std::vector<Words>& in) {
    std::vector<Words> out;
    launch_on(device, object, body, in, &out);
    return out;
}

/// The first component of each fetch, as floats.
std::vector<float> fetched(Device& device, std::uint64_t object, const std::string& opcode,
                           const std::string& coordinates, const std::vector<Words>& in) {
    std::vector<float> values;
    for (const Words& one : run_on(device, object, fmt::format("{} {}, [%o, {}];", opcode, kFour, coordinates), in)) {
        values.push_back(std::bit_cast<float>(one[0]));
    }
    return values;
}

std::vector<Words> points(std::initializer_list<std::array<float, 3>> coordinates) {
    std::vector<Words> all;
    for (const auto& one : coordinates) {
        all.push_back({bits(one[0]), bits(one[1]), bits(one[2]), 0});
    }
    return all;
}

TEST(Texture, PointsOfTwoDimensions) {
    Device device;
    Picture picture(device, ImageKind::two, kFloat, {4, 3, 1}, counted(12));
    const auto in = points({{0, 0}, {3.9F, 0.5F}, {1.5F, 2}, {-7, 1}, {4, 9}, {0x1p60F, -0x1p60F}});
    EXPECT_EQ(fetched(device, picture.texture(), "tex.2d.v4.f32.f32", "{%a, %b}", in),
              (std::vector<float>{0, 3, 9, 4, 11, 3}));
    // One level: its number changes nothing.
    const auto object = picture.texture();
    const auto level = run_on(device, object, "tex.level.2d.v4.f32.f32 {%r0,%r1,%r2,%r3}, [%o, {%a,%b}], %c;", in);
    const auto grad =
        run_on(device, object, "tex.grad.2d.v4.f32.f32 {%r0,_,%r2,%r3}, [%o, {%a,%b}], {%a,%b}, {%b,%a};", in);
    EXPECT_EQ(std::bit_cast<float>(level[2][0]), 9);
    EXPECT_EQ(std::bit_cast<float>(grad[2][0]), 9);
    // Channels that it has not: 0, 0, 1.
    EXPECT_EQ(level[2], (Words{bits(9), 0, 0, bits(1)}));
    EXPECT_EQ(grad[2], (Words{bits(9), 77, 0, bits(1)}));
}

TEST(Texture, AddressModes) {
    struct Case {
        AddressMode mode;
        std::vector<float> wanted;
    };
    const std::vector<Case> cases = {{AddressMode::clamp, {0, 3, 0, 0, 3}},
                                     {AddressMode::wrap, {0, 3, 3, 1, 0}},
                                     {AddressMode::mirror, {0, 3, 0, 2, 3}},
                                     {AddressMode::border, {0, 3, 9.5F, 9.5F, 9.5F}}};
    for (const Case& one : cases) {
        Device device;
        Picture picture(device, ImageKind::one, kFloat, {4, 1, 1}, counted(4));
        picture.sampler().normalized_coordinates = true;
        picture.sampler().address = {one.mode, one.mode, one.mode};
        picture.sampler().border = {9.5F, 0, 0, 0};
        const auto in = points({{0.1F}, {0.99F}, {-0.1F}, {-2.7F}, {1.01F}});
        EXPECT_EQ(fetched(device, picture.texture(), "tex.1d.v4.f32.f32", "{%a}", in), one.wanted)
            << static_cast<int>(one.mode);
    }
}

TEST(Texture, LinearFilter) {
    Device device;
    Picture line(device, ImageKind::one, kFloat, {4, 1, 1}, std::vector<float>{0, 256, 1024, 4096});
    line.sampler().linear = true;
    // Weights have 8 fractional bits: 0.5 + 1/512 is half of one of them and rounded up, less than that is nothing.
    const auto in =
        points({{0.5F}, {1}, {0.75F}, {0.5F + 1 / 256.F}, {0.5F + 1 / 512.F}, {0.5F + 1 / 1024.F}, {0}, {9}});
    EXPECT_EQ(fetched(device, line.texture(), "tex.1d.v4.f32.f32", "%a", in),
              (std::vector<float>{0, 128, 64, 1, 1, 0, 0, 4096}));
    Picture plane(device, ImageKind::two, kFloat, {2, 2, 1}, std::vector<float>{0, 4, 8, 16});
    plane.sampler().linear = true;
    EXPECT_EQ(
        fetched(device, plane.texture(), "tex.2d.v4.f32.f32", "{%a, %b}", points({{1, 1}, {0.75F, 0.5F}, {1, 1.25F}})),
        (std::vector<float>{7, 1, 9.5F}));
    Picture cube(device, ImageKind::three, kFloat, {2, 2, 2}, counted(8));
    cube.sampler().linear = true;
    EXPECT_EQ(
        fetched(device, cube.texture(), "tex.3d.v4.f32.f32", "{%a, %b, %c, %c}", points({{1, 1, 1}, {0.5F, 0.5F, 1}})),
        (std::vector<float>{3.5F, 2}));
    Picture bordered(device, ImageKind::one, kFloat, {2, 1, 1}, std::vector<float>{8, 8});
    bordered.sampler().linear = true;
    bordered.sampler().address[0] = AddressMode::border;
    EXPECT_EQ(fetched(device, bordered.texture(), "tex.1d.v4.f32.f32", "{%a}", points({{0}, {1}, {2.25F}})),
              (std::vector<float>{4, 8, 2}));
}

TEST(Texture, LayersAndSlices) {
    Device device;
    Picture layers(device, ImageKind::two_layered, kFloat, {2, 2, 3}, counted(12));
    const std::vector<Words> in = {
        {0, bits(1.5F), bits(1.5F), 0}, {2, bits(0.5F), bits(0.5F), 0}, {9, bits(0), bits(0), 0}};
    EXPECT_EQ(fetched(device, layers.texture(), "tex.a2d.v4.f32.f32", "{%a, %b, %c, %c}", in),
              (std::vector<float>{3, 8, 8}));
    Picture lines(device, ImageKind::one_layered, kFloat, {4, 1, 3}, counted(12));
    EXPECT_EQ(fetched(device, lines.texture(), "tex.a1d.v4.f32.f32", "{%a, %b}", in), (std::vector<float>{1, 8, 8}));
    Picture solid(device, ImageKind::three, kFloat, {2, 2, 3}, counted(12));
    EXPECT_EQ(fetched(device, solid.texture(), "tex.3d.v4.f32.f32", "{%a, %b, %c, %d}",
                      points({{1, 0, 2}, {0, 1, 0}, {0, 0, 7}})),
              (std::vector<float>{9, 2, 8}));
}

TEST(Texture, Cubes) {
    Device device;
    // Faces of 2 x 2: ten times the face, and which texel of it.
    std::vector<float> faces;
    for (int cube = 0; cube < 2; ++cube) {
        for (int face = 0; face < 6; ++face) {
            for (int texel = 0; texel < 4; ++texel) {
                faces.push_back(static_cast<float>(100 * cube + 10 * face + texel));
            }
        }
    }
    Picture cubes(device, ImageKind::cube_layered, kFloat, {2, 2, 12}, faces);
    cubes.sampler().normalized_coordinates = true;
    const auto in = points({{2, 1, 1}, {-2, 1, 1}, {1, 2, 1}, {1, -2, 1}, {1, 1, 2}, {1, 1, -2}});
    EXPECT_EQ(fetched(device, cubes.texture(), "tex.cube.v4.f32.f32", "{%a, %b, %c, %c}", in),
              (std::vector<float>{0, 11, 23, 31, 41, 50}));
    const std::vector<Words> second = {{1, bits(1), bits(1), bits(2)}};
    EXPECT_EQ(fetched(device, cubes.texture(), "tex.acube.v4.f32.f32", "{%a, %b, %c, %d}", second),
              (std::vector<float>{141}));
}

TEST(Texture, WholeCoordinates) {
    Device device;
    Picture line(device, ImageKind::linear, kFloat, {5, 1, 1}, counted(5));
    const std::vector<Words> in = {{4}, {5}, {~0U}, {0}};
    EXPECT_EQ(fetched(device, line.texture(), "tex.1d.v4.f32.s32", "{%a}", in), (std::vector<float>{4, 0, 0, 0}));
    Picture plane(device, ImageKind::two, kFloat, {4, 3, 1}, counted(12));
    const std::vector<Words> places = {{3, 2}, {4, 0}, {1, 1}};
    EXPECT_EQ(fetched(device, plane.texture(), "tex.2d.v4.f32.s32", "{%a, %b}", places),
              (std::vector<float>{11, 0, 5}));
}

TEST(Texture, Formats) {
    Device device;
    const std::string fetch = "tex.2d.v4.s32.f32 {%r0, %r1, %r2, %r3}, [%o, {%a, %b}];";
    const auto in = points({{1, 0}});
    Picture bytes(device, ImageKind::two, {ChannelKind::unsigned_integer, 1, 4}, {2, 1, 1},
                  std::vector<std::uint8_t>{0, 0, 0, 0, 255, 51, 0, 102});
    EXPECT_EQ(run_on(device, bytes.texture(), fetch, in)[0], (Words{255, 51, 0, 102}));
    bytes.sampler().normalized_values = true;
    EXPECT_EQ(run_on(device, bytes.texture(), fetch, in)[0], (Words{bits(1), bits(0.2F), 0, bits(0.4F)}));
    Picture shorts(device, ImageKind::two, {ChannelKind::signed_integer, 2, 2}, {2, 1, 1},
                   std::vector<std::int16_t>{0, 0, -32768, 32767});
    EXPECT_EQ(run_on(device, shorts.texture(), fetch, in)[0], (Words{static_cast<std::uint32_t>(-32768), 32767, 0, 1}));
    shorts.sampler().normalized_values = true;
    EXPECT_EQ(run_on(device, shorts.texture(), fetch, in)[0], (Words{bits(-1), bits(1), 0, bits(1)}));
    Picture halves(device, ImageKind::two, {ChannelKind::floating, 2, 1}, {2, 1, 1},
                   std::vector<std::uint16_t>{0, 0x3e00});
    EXPECT_EQ(run_on(device, halves.texture(), fetch, in)[0], (Words{bits(1.5F), 0, 0, bits(1)}));
    const std::string four = "tex.2d.v4.f16.f32 {%h0, %h1, %h2, %h3}, [%o, {%a, %b}]; mov.b32 %r0, {%h0, %h3};";
    EXPECT_EQ(run_on(device, halves.texture(), four, in)[0][0], 0x3c003e00U);
    const std::string pairs = "tex.2d.v2.f16x2.f32 {%r0, %r1}, [%o, {%a, %b}];";
    EXPECT_EQ(run_on(device, halves.texture(), pairs, in)[0], (Words{0x00003e00, 0x3c000000, 77, 77}));
}

TEST(Texture, Gathers) {
    Device device;
    std::vector<float> values;
    for (int i = 0; i < 9; ++i) {
        values.push_back(static_cast<float>(i));
        values.push_back(static_cast<float>(100 + i));
    }
    Picture picture(device, ImageKind::two, {ChannelKind::floating, 4, 2}, {3, 3, 1}, values);
    const auto in = points({{1.6F, 1.6F}, {0, 0}});
    const auto red = run_on(device, picture.texture(), "tld4.r.2d.v4.f32.f32 {%r0,%r1,%r2,%r3}, [%o, {%a,%b}];", in);
    EXPECT_EQ(red[0], (Words{bits(7), bits(8), bits(5), bits(4)}));
    EXPECT_EQ(red[1], (Words{bits(0), bits(0), bits(0), bits(0)}));
    const auto green = run_on(device, picture.texture(), "tld4.g.2d.v4.f32.f32 {%r0,%r1,%r2,%r3}, [%o, {%a,%b}];", in);
    EXPECT_EQ(green[0], (Words{bits(107), bits(108), bits(105), bits(104)}));
}

TEST(Texture, Queries) {
    Device device;
    Picture layers(device, ImageKind::two_layered, kFloat, {5, 3, 2}, counted(30));
    const std::string query =
        "txq.width.b32 %r0, [%o]; txq.height.b32 %r1, [%o]; txq.array_size.b32 %r2, [%o]; "
        "txq.normalized_coords.b32 %r3, [%o];";
    EXPECT_EQ(run_on(device, layers.texture(), query, {{0}})[0], (Words{5, 3, 2, 0}));
    Picture solid(device, ImageKind::three, kFloat, {5, 3, 2}, counted(30));
    const std::string of_surface = "suq.width.b32 %r0, [%o]; suq.height.b32 %r1, [%o]; suq.depth.b32 %r2, [%o];";
    EXPECT_EQ(run_on(device, solid.surface(), of_surface, {{0}})[0], (Words{5, 3, 2, 77}));
}

TEST(Surface, ReadsAndWrites) {
    Device device;
    Picture picture(device, ImageKind::two, {ChannelKind::unsigned_integer, 4, 1}, {4, 2, 1},
                    std::vector<std::uint32_t>{10, 11, 12, 13, 14, 15, 16, 17});
    const std::vector<Words> in = {{4, 1}, {0, 0}, {8, 1}};
    const auto read = run_on(device, picture.surface(), "suld.b.2d.b32.trap %r0, [%o, {%a, %b}];", in);
    EXPECT_EQ(read[0][0], 15U);
    EXPECT_EQ(read[1][0], 10U);
    EXPECT_EQ(read[2][0], 16U);
    const auto pair =
        run_on(device, picture.surface(),
               "suld.b.2d.v2.b16.trap {%h0, %h1}, [%o, {%a, %b}]; cvt.u32.u16 %r0, %h0; cvt.u32.u16 %r1, %h1; "
               "suld.b.2d.b64.zero %rd1, [%o, {0, %b}]; mov.b64 {%r2, %r3}, %rd1;",
               in);
    EXPECT_EQ(pair[0], (Words{15, 0, 14, 15}));
    run_on(device, picture.surface(),
           "sust.b.2d.b32.trap [%o, {%a, %b}], %a; sust.b.2d.v2.b8.zero [%o, {6, 0}], {%h0, 5};", {{4, 1}});
    const auto now = device.download<std::uint32_t>(picture.address(), 8);
    EXPECT_EQ(now[5], 4U);
    EXPECT_EQ(now[1] >> 24, 5U);
    run_on(device, picture.surface(), "sured.b.add.2d.u32.trap [%o, {12, 1}], %a;", {{3}, {4}, {5}});
    EXPECT_EQ(device.download<std::uint32_t>(picture.address(), 8)[7], 17U + 12);
}

TEST(Surface, Boundaries) {
    Device device;
    Picture layers(device, ImageKind::two_layered, {ChannelKind::unsigned_integer, 4, 1}, {2, 1, 2},
                   std::vector<std::uint32_t>{1, 2, 3, 4});
    const std::vector<Words> in = {{0, 8, 0}, {1, ~0U - 3, 0}, {1, 4, 5}, {7, 4, 0}};
    const auto clamped = run_on(device, layers.surface(), "suld.b.a2d.b32.clamp %r0, [%o, {%a, %b, %c, %c}];", in);
    const auto zeroed = run_on(device, layers.surface(), "suld.b.a2d.b32.zero %r0, [%o, {%a, %b, %c, %c}];", in);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(clamped[i][0], (std::array<std::uint32_t, 4>{2, 3, 4, 4})[i]);
        EXPECT_EQ(zeroed[i][0], 0U);
    }
    run_on(device, layers.surface(), "sust.b.a2d.b32.zero [%o, {%a, %b, %c, %c}], 9;", in);
    EXPECT_EQ(device.download<std::uint32_t>(layers.address(), 4), (std::vector<std::uint32_t>{1, 2, 3, 4}));
    run_on(device, layers.surface(), "sust.b.a2d.b32.clamp [%o, {%a, %b, %c, %c}], 9;", in);
    EXPECT_EQ(device.download<std::uint32_t>(layers.address(), 4), (std::vector<std::uint32_t>{1, 9, 9, 9}));
}

void expect_fault(const LaunchResult& result, FaultKind kind, const std::string& words) {
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(to_string(result.fault->kind), to_string(kind)) << result.fault->text;
    EXPECT_NE(result.fault->text.find(words), std::string::npos) << "'" << words << "' in: " << result.fault->text;
}

TEST(Surface, FaultsSayWhat) {
    Device device;
    Picture picture(device, ImageKind::two, kFloat, {4, 2, 1}, counted(8));
    const std::string load = "suld.b.2d.b32.trap %r0, [%o, {%a, %b}];";
    const auto on = [&](std::uint64_t object, Words where) {
        return launch_on(device, object, load, {where}, nullptr);
    };
    expect_fault(on(picture.surface(), {16, 0}), FaultKind::illegal_address,
                 "at byte 16, row 0, slice 0; it has 16 bytes, 2 rows");
    expect_fault(on(picture.surface(), {2, 0}), FaultKind::misaligned_address, "4 bytes of a surface at x = 2");
    expect_fault(on(picture.texture(), {0, 0}), FaultKind::illegal_address, "names an object of the other kind");
    expect_fault(on(99999, {0, 0}), FaultKind::illegal_address, "names no object");
    const auto object = picture.surface();
    EXPECT_TRUE(device.memory.release(picture.address()));
    expect_fault(on(object, {0, 0}), FaultKind::illegal_address, "are memory no more");
    EXPECT_TRUE(device.memory.images().remove(object));
    EXPECT_FALSE(device.memory.images().remove(object));
    expect_fault(on(object, {0, 0}), FaultKind::illegal_address, "names no object");
}

TEST(Texture, WhatIsMissingIsNamed) {
    Device device;
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"tex.2dms.v4.f32.s32 {%r0,%r1,%r2,%r3}, [%o, {%a,%b,%c,%d}];", "'tex.2dms.v4.f32.s32'"},
        {"tex.2d.v4.f32.f32 {%r0,%r1,%r2,%r3}, [%o, {%a,%b}], {%a,%b};", "offsets and depth comparisons"},
        {"tex.2d.v4.f32.f32 {%r0,%r1,%r2,%r3}|%p1, [%o, {%a,%b}];", "tex.2d.v4.f32.f32"},
        {"tex.2d.v4.f32.f32 {%r0,%r1,%r2,%r3}, [image, {%a,%b}];", "'[image, {%a,%b}]'"},
        {"tex.2d.v4.f32.f32 {%r0,%r1,%r2,%r3}, [%o, %o, {%a,%b}];", "samplers of their own"},
        {"tld4.r.1d.v4.f32.f32 {%r0,%r1,%r2,%r3}, [%o, {%a}];", "'tld4.r.1d.v4.f32.f32'"},
        {"sust.p.2d.v4.b32.trap [%o, {%a,%b}], {%r0,%r1,%r2,%r3};", "sample addressing"},
        {"sured.p.add.2d.b32.trap [%o, {%a,%b}], %r0;", "sample addressing"},
        {"txq.channel_order.b32 %r0, [%o];", "'txq.channel_order.b32'"},
        {"txq.level.width.b32 %r0, [%o], %a;", "'txq.level.width.b32'"}};
    for (const auto& [body, words] : cases) {
        const auto module = device.load(".global .texref image;\n" + kernel_of(body));
        ASSERT_TRUE(module);
        const auto kernel = module->kernel("k");
        ASSERT_FALSE(kernel) << body;
        EXPECT_EQ(kernel.error().code, "EGPU-P202") << to_text(kernel.error());
        EXPECT_NE(to_text(kernel.error()).find(words), std::string::npos) << to_text(kernel.error());
    }
}

/// Undefined on a GPU; here as operations/image.hpp says.
TEST(Texture, OtherGeometries) {
    Device device;
    Picture plane(device, ImageKind::two, kFloat, {4, 2, 1}, counted(8));
    const auto in = points({{2, 1, 1}});
    EXPECT_EQ(fetched(device, plane.texture(), "tex.1d.v4.f32.f32", "{%a}", in), (std::vector<float>{2}));
    EXPECT_EQ(fetched(device, plane.texture(), "tex.3d.v4.f32.f32", "{%a, %b, %c, %c}", in), (std::vector<float>{6}));
    EXPECT_EQ(fetched(device, plane.texture(), "tex.cube.v4.f32.f32", "{%a, %b, %c, %c}", in), (std::vector<float>{1}));
}

}  // namespace
}  // namespace egpu::simulated::test

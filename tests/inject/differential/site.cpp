// SPDX-License-Identifier: Apache-2.0
#include "site.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "ebpf/events/events.hpp"

namespace egpu::inject::testing {

using namespace ebpf;

namespace {

constexpr std::uint32_t kKernel = 3, kSite = 7, kSectorBytes = 32, kLanes = 32;

std::uint64_t mixed(std::uint64_t seed) {
    seed = (seed ^ (seed >> 29)) * 0xbf58476d1ce4e5b9u + 0x9e3779b97f4a7c15u;
    return seed ^ (seed >> 32);
}

void put(std::vector<std::byte>& context, std::string_view name, std::uint64_t value) {
    const ContextField* field = field_named(ContextKind::mem, name);
    if (field != nullptr)
        std::memcpy(context.data() + field->offset, &value, field->bytes);
}

}  // namespace

DifferentialSite::DifferentialSite(std::span<const std::uint8_t> choices) {
    constexpr std::array<std::uint32_t, 5> kTargets{60, 70, 75, 80, 90};
    constexpr std::array<simulated::Dimensions, 4> kBlocks{{{32, 1, 1}, {8, 4, 2}, {3, 5, 1}, {64, 1, 1}}};
    const auto choice = [&](std::size_t at) { return at < choices.size() ? std::uint32_t{choices[at]} : 0; };
    granularity = choice(0) % 4 == 0 ? Granularity::warp : Granularity::thread;
    sm = kTargets[choice(1) % kTargets.size()];
    block = kBlocks[choice(2) % kBlocks.size()];
    chosen = choice(3) % threads();
    bytes_per_lane = 1u << choice(4) % 5;
    space = choice(5) % 4 == 0 ? Space::generic : Space::global;
    const std::uint64_t seed = mixed(choice(6) + 1);
    address = choice(6) % 8 == 0 ? 0x7f0000000000 : (seed & 0x7fffffffff00) | 0x400000000000;
    latency = choice(7) % 4 == 0 ? choice(7) : mixed(seed) >> 20;
    for (std::uint64_t word = 0; word < 4; ++word)
        value.push_back(choice(7) % 3 == 0 ? 0xffffffffu : static_cast<std::uint32_t>(mixed(seed + word)));
}

SiteBinding DifferentialSite::binding() const {
    SiteBinding site;
    site.granularity = granularity;
    site.event = Event::load_return;
    site.kernel_id = kKernel;
    site.site_id = kSite;
    site.guard = "%p1";
    site.space = space;
    site.access = Access::load;
    site.bytes_per_lane = bytes_per_lane;
    site.address_base = "%rd4";
    site.address_offset = 16;
    site.latency = "%rd5";
    site.values = {"%r10", "%r11", "%r12", "%r13"};
    site.value_type = "b32";
    site.arguments = {{"address", 8}, {"latency", 8}, {"chosen", 4}, {"word0", 4}};
    return site;
}

SiteConstants DifferentialSite::constants() const {
    SiteConstants known;
    known.fields = {{"kernel", kKernel},
                    {"site", kSite},
                    {"access", static_cast<std::uint64_t>(Access::load)},
                    {"bytes_per_lane", bytes_per_lane}};
    if (space != Space::generic)
        known.fields["space"] = static_cast<std::uint64_t>(space);
    return known;
}

std::uint32_t DifferentialSite::warp_mask(std::uint32_t thread) const {
    const std::uint32_t first = thread / kLanes * kLanes;
    const std::uint32_t lanes = std::min(kLanes, threads() - first);
    return lanes == kLanes ? 0xffffffffu : (1u << lanes) - 1;
}

std::vector<std::byte> DifferentialSite::context_of(std::uint32_t thread, std::uint32_t mask) const {
    std::vector<std::byte> context(context_bytes(ContextKind::mem));
    const auto address_of = [&](std::uint32_t of) { return address + std::uint64_t{of} * bytes_per_lane + 16; };
    std::set<std::uint64_t> sectors;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane)
        if ((mask >> lane & 1) != 0)
            sectors.insert(address_of(thread / kLanes * kLanes + lane) / kSectorBytes);
    const auto lanes = static_cast<std::uint32_t>(std::popcount(mask));
    put(context, "kernel", kKernel);
    put(context, "site", kSite);
    put(context, "launch", 1);
    put(context, "warp", thread / kLanes);
    put(context, "active_mask", mask);
    put(context, "active_lanes", lanes);
    put(context, "lane", thread % kLanes);
    for (const char* axis : {"grid_dim.x", "grid_dim.y", "grid_dim.z"})
        put(context, axis, 1);
    put(context, "block_dim.x", block.x);
    put(context, "block_dim.y", block.y);
    put(context, "block_dim.z", block.z);
    put(context, "thread.x", thread % block.x);
    put(context, "thread.y", thread / block.x % block.y);
    put(context, "thread.z", thread / block.x / block.y);
    put(context, "space", static_cast<std::uint64_t>(Space::global));
    put(context, "access", static_cast<std::uint64_t>(Access::load));
    put(context, "bytes_per_lane", bytes_per_lane);
    put(context, "address", address_of(thread));
    put(context, "bytes", std::uint64_t{bytes_per_lane} * lanes);
    put(context, "sectors", sectors.size());
    put(context, "latency", latency);
    return context;
}

std::vector<std::uint64_t> DifferentialSite::arguments(bool all_fire) const {
    return {address, latency, all_fire ? kAllThreads : chosen, value[0]};
}

std::vector<std::byte> DifferentialSite::parameters(bool all_fire) const {
    std::vector<std::byte> bytes(36);
    const std::uint32_t who = all_fire ? kAllThreads : chosen;
    std::memcpy(bytes.data(), &address, 8);
    std::memcpy(bytes.data() + 8, &latency, 8);
    std::memcpy(bytes.data() + 16, &who, 4);
    std::memcpy(bytes.data() + 20, value.data(), 16);
    return bytes;
}

std::string DifferentialSite::module(const FunctionContext& function, const std::string& start,
                                     const std::string& probe, const std::string& flush) const {
    return fmt::format(".version {}.{}\n.target sm_{}\n.address_size 64\n{}", function.required.ptx_major,
                       function.required.ptx_minor, function.target.sm, function.table->declaration()) +
           fmt::format(
               ".visible .entry differential(.param .u64 address, .param .u64 latency, .param .u32 chosen,\n"
               "\t.param .b32 word0, .param .b32 word1, .param .b32 word2, .param .b32 word3)\n{{\n"
               "\t.reg .pred %p<4>;\n\t.reg .b32 %r<16>;\n\t.reg .b64 %rd<8>;\n{}"
               "\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %tid.y;\n\tmov.u32 %r3, %tid.z;\n"
               "\tmad.lo.s32 %r2, %r3, {}, %r2;\n\tmad.lo.s32 %r1, %r2, {}, %r1;\n"
               "\tld.param.u64 %rd1, [address];\n\tmul.wide.u32 %rd2, %r1, {};\n\tadd.s64 %rd4, %rd1, %rd2;\n"
               "\tld.param.u64 %rd5, [latency];\n\tld.param.u32 %r4, [chosen];\n"
               "\tld.param.b32 %r10, [word0];\n\tld.param.b32 %r11, [word1];\n"
               "\tld.param.b32 %r12, [word2];\n\tld.param.b32 %r13, [word3];\n"
               "\tsetp.eq.u32 %p1, %r4, %r1;\n\tsetp.eq.u32 %p2, %r4, {};\n\tor.pred %p1, %p1, %p2;\n"
               "{}{}\tret;\n}}\n",
               start, block.y, block.x, bytes_per_lane, kAllThreads, probe, flush);
}

}  // namespace egpu::inject::testing

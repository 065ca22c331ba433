// SPDX-License-Identifier: Apache-2.0
// What a program costs on its way: verified, made for a site, checked again, written as PTX (aims: 100 instructions
// under 1 ms, each further site under 100 us).
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "ebpf/recheck/recheck.hpp"
#include "ebpf/verifier/verifier.hpp"
#include "inject/codegen/codegen.hpp"

namespace egpu::inject {
namespace {

using namespace ebpf;

constexpr std::uint32_t kInstructions = 100;

MapDefinition make_map(const char* name, MapType type, std::uint32_t value_bytes) {
    MapDefinition map;
    map.name = name;
    map.type = type;
    map.key_bytes = 4;
    map.value_bytes = value_bytes;
    map.max_entries = 64;
    return map;
}

/// 100 instructions: a lookup by kernel (helper 65539: egpu_map_lookup_or_init), an index of the array from the
/// address, a loop of four turns, branches, sums.
Object object_of_100() {
    std::string text =
        "mov %r6, %r1\nldxw %r1, [%r6+0]\nstxw [%r10-4], %r1\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, 0\n"
        "call 65539\njeq %r0, 0, out\nmov %r7, %r0\n"
        "ldxdw %r8, [%r6+104]\nldxw %r9, [%r6+96]\nmov %r1, 0\n"
        "again:\nmov %r2, %r8\nrsh %r2, 5\nxor %r8, %r2\nadd %r1, 1\njlt %r1, 4, again\n"
        "and %r8, 63\nstxw [%r10-4], %r8\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, 1\ncall 1\njeq %r0, 0, out\n"
        "mov %r1, 1\nlock add [%r0+0], %r1\n";
    const std::string end = "lock add [%r7+0], %r9\nmov %r1, 1\nlock add [%r7+8], %r1\nout:\nmov %r0, 0\nexit\n";
    const auto count = [](const std::string& assembly) { return assemble(assembly)->size(); };
    for (unsigned i = 0; count(text + end) < kInstructions; ++i)
        text += i % 10 == 4 && count(text + end) + 2 <= kInstructions
                    ? fmt::format("jgt %r9, {}, l{}\nadd %r9, 3\nl{}:\n", i * 7, i, i)
                    : fmt::format("{} %r9, {}\n",
                                  i % 3 == 0   ? "add"
                                  : i % 3 == 1 ? "xor"
                                               : "mul",
                                  i * 11 + 1);
    Object object;
    object.path = "bench";
    object.maps = {make_map("sums", MapType::percpu_hash, 16), make_map("buckets", MapType::array, 8)};
    Program program;
    program.name = "hundred";
    program.section = "gpu/load.global";
    program.point.event = Event::load;
    program.instructions = *assemble(text + end);
    for (auto& i : program.instructions)
        if (i.opcode == kLoadImmediate64)
            i.source = kPseudoMap;
    object.programs.push_back(std::move(program));
    return object;
}

struct Site {
    SiteBinding binding;
    SiteConstants constants;
    std::vector<maps::Layout> layouts;

    explicit Site(const Object& object) {
        binding.event = Event::load;
        binding.kernel_id = 3;
        binding.site_id = 7;
        binding.guard = "%p1";
        binding.space = Space::global;
        binding.bytes_per_lane = 4;
        binding.address_base = "%rd4";
        constants.fields = {{"kernel", 3}, {"site", 7}, {"space", 0}, {"access", 0}, {"bytes_per_lane", 4}};
        for (const auto& map : object.maps)
            layouts.push_back(maps::make_layout(map.value_bytes, map.max_entries, map.per_sm(), 132));
    }

    Result<SpecializedProgram> specialized(const Object& object) const {
        const auto slot = [](std::uint32_t, std::span<const std::byte> key) -> std::optional<std::uint32_t> {
            std::uint32_t index = 0;
            std::memcpy(&index, key.data(), sizeof index);
            return index < 64 ? std::optional(index) : std::nullopt;
        };
        return specialize(object, object.programs.front(), constants, slot);
    }

    /// Specialised, checked again and written; the length of the text.
    std::size_t translate(const Object& object, Recheck& recheck) const {
        const auto program = specialized(object);
        const Status checked = program ? recheck.check_new(*program, constants) : program.errors();
        Table table;
        FunctionContext function;
        function.target = function.required = {90, 8, 0};
        function.table = &table;
        function.layouts = &layouts;
        const auto probe =
            checked ? emit_probe(*program, binding, 0, function) : Result<EmittedProbe>(checked.errors());
        if (!probe) {
            fmt::print(stderr, "{}", to_text(probe.error()));
            std::abort();
        }
        return probe->text.size();
    }
};

void verified_and_translated(benchmark::State& state) {
    const Object object = object_of_100();
    const Site site(object);
    std::size_t bytes = 0;
    for (auto _ : state) {
        const auto verified = verify(object, object.programs.front());
        if (!verified) {
            fmt::print(stderr, "{}", to_text(verified.error()));
            std::abort();
        }
        Recheck recheck;
        bytes = site.translate(object, recheck);
        benchmark::DoNotOptimize(bytes);
    }
    state.counters["instructions"] = static_cast<double>(object.programs.front().instructions.size());
    state.counters["ptx_bytes"] = static_cast<double>(bytes);
}
BENCHMARK(verified_and_translated)->Unit(benchmark::kMicrosecond);

void further_site(benchmark::State& state) {
    const Object object = object_of_100();
    const Site site(object);
    Recheck recheck;
    for (auto _ : state)
        benchmark::DoNotOptimize(site.translate(object, recheck));
}
BENCHMARK(further_site)->Unit(benchmark::kMicrosecond);

/// The part of both that checking again takes.
void checked_again(benchmark::State& state) {
    const Object object = object_of_100();
    const Site site(object);
    const auto program = site.specialized(object);
    Recheck recheck;
    for (auto _ : state)
        benchmark::DoNotOptimize(recheck.check(*program, site.constants));
}
BENCHMARK(checked_again)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace egpu::inject

BENCHMARK_MAIN();

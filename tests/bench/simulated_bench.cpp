// SPDX-License-Identifier: Apache-2.0
// How fast the simulated GPU executes, on one core: lane instructions a second.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "gpu/simulated/executor/device.hpp"

namespace egpu::simulated {
namespace {

struct Prepared {
    DeviceMemory memory;
    std::unique_ptr<Module> module;
    std::shared_ptr<const Kernel> kernel;
    LaunchEnvironment environment;

    explicit Prepared(const std::string& body) {
        auto loaded = Module::load(".version 8.0\n.target sm_90\n.address_size 64\n" + body, "bench.ptx", memory);
        if (!loaded) {
            std::fprintf(stderr, "%s\n", to_text(loaded.error()).c_str());
            std::exit(1);
        }
        module = std::move(*loaded);
        kernel = *module->kernel("k");
        environment.memory = &memory;
        environment.workers = 1;
    }
};

void run(benchmark::State& state, Prepared& prepared, Dimensions grid, Dimensions block,
         std::span<const std::byte> parameters) {
    std::uint64_t lanes = 0;
    for (auto _ : state) {
        const LaunchResult result = launch(*prepared.kernel, grid, block, 0, parameters, prepared.environment);
        if (!result) {
            state.SkipWithError(result.fault->text.c_str());
            return;
        }
        lanes += result.statistics.lane_instructions;
    }
    state.counters["lane_instructions/s"] = benchmark::Counter(static_cast<double>(lanes), benchmark::Counter::kIsRate);
}

/// Vector add: three accesses to global memory in about twenty instructions.
void vector_add(benchmark::State& state) {
    Prepared prepared(R"(
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<11>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
  mad.lo.s32 %r1, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r1, %r2;
  @%p1 bra $done;
  cvta.to.global.u64 %rd4, %rd1; mul.wide.s32 %rd5, %r1, 4; add.s64 %rd6, %rd4, %rd5;
  cvta.to.global.u64 %rd7, %rd2; add.s64 %rd8, %rd7, %rd5;
  ld.global.f32 %f1, [%rd8]; ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f2, %f1;
  cvta.to.global.u64 %rd9, %rd3; add.s64 %rd10, %rd9, %rd5;
  st.global.f32 [%rd10], %f3;
$done:
  ret;
})");
    const std::uint32_t count = 1 << 16;
    struct {
        std::uint64_t a, b, c;
        std::uint32_t n;
    } parameters{*prepared.memory.allocate(count * 4), *prepared.memory.allocate(count * 4),
                 *prepared.memory.allocate(count * 4), count};
    run(state, prepared, {count / 256, 1, 1}, {256, 1, 1}, std::as_bytes(std::span(&parameters, 1)));
}
BENCHMARK(vector_add)->Unit(benchmark::kMillisecond);

/// A loop of fused multiply-adds, as a matrix product has it.
void fma_loop(benchmark::State& state) {
    Prepared prepared(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<2>; .reg .f32 %f<6>; .reg .b32 %r<6>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F800000; mov.f32 %f3, 0f00000000; mov.u32 %r2, 0;
$loop:
  fma.rn.f32 %f3, %f1, %f2, %f3; add.f32 %f2, %f2, %f1; fma.rn.f32 %f3, %f1, %f2, %f3; mul.f32 %f1, %f1, 0f3F7FFFFF;
  add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 1000;
  @%p1 bra $loop;
  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.f32 [%rd3], %f3;
  ret;
})");
    const std::uint64_t out = *prepared.memory.allocate(1024);
    run(state, prepared, {16, 1, 1}, {256, 1, 1}, std::as_bytes(std::span(&out, 1)));
}
BENCHMARK(fma_loop)->Unit(benchmark::kMillisecond);

/// Integer work with a branch that every second lane takes.
void divergent_loop(benchmark::State& state) {
    Prepared prepared(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r3, 1;
$loop:
  xor.b32 %r4, %r1, %r2; and.b32 %r4, %r4, 1; setp.eq.u32 %p1, %r4, 0;
  @%p1 bra $even;
  mad.lo.u32 %r3, %r3, 3, %r1; shr.u32 %r5, %r3, 3; xor.b32 %r3, %r3, %r5;
  bra.uni $meet;
$even:
  add.u32 %r3, %r3, %r2; shl.b32 %r5, %r3, 1; sub.u32 %r3, %r5, %r1;
$meet:
  add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 500;
  @%p2 bra $loop;
  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r3;
  ret;
})");
    const std::uint64_t out = *prepared.memory.allocate(1024);
    run(state, prepared, {16, 1, 1}, {256, 1, 1}, std::as_bytes(std::span(&out, 1)));
}
BENCHMARK(divergent_loop)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace egpu::simulated

BENCHMARK_MAIN();

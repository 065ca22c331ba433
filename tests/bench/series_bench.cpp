// SPDX-License-Identifier: Apache-2.0
// What sampling costs with as many kernels as a session can have, and opening a recording of many more.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "../host/fake_source.hpp"
#include "host/record/recording.hpp"
#include "host/record/writer.hpp"
#include "host/series/rates.hpp"

namespace egpu::host::testing {
namespace {

constexpr std::uint64_t kStep = 50'000'000;

SessionView large_view(std::uint32_t kernels) {
    SessionView view = session_view({}, {"bandwidth"});
    const Kernel kernel = view.catalogue.kernels[0];
    view.catalogue.kernels.assign(kernels, kernel);
    view.catalogue.copies.clear();
    for (std::uint32_t i = 0; i < kernels; ++i) {
        view.catalogue.kernels[i].id = view.catalogue.kernels[i].copy = i + 1;
        view.catalogue.kernels[i].name = "kernel_" + std::to_string(i);
        view.catalogue.copies.push_back({i + 1, {0}});
    }
    view.counts.assign(kernels, {});
    view.copies.assign(kernels, {});
    return view;
}

/// A full map of the traffic: 4,096 entries in 128 shards.
void add_map(SessionView& view) {
    constexpr std::uint32_t kEntries = 4096, kShards = 128;
    view.catalogue.maps = {traffic_map("bandwidth")};
    MapData data;
    data.map = view.catalogue.maps.data();
    data.layout = {.value_bytes = 16, .stride = 16, .capacity = kEntries, .shards = kShards};
    data.age_ns = 0;
    data.slots = kEntries;
    for (std::uint32_t i = 0; i < kEntries; ++i) {
        const std::uint32_t key[] = {i / 2 + 1, 0, i % 2};
        const auto* bytes = reinterpret_cast<const std::byte*>(key);
        data.keys.insert(data.keys.end(), bytes, bytes + sizeof key);
    }
    data.values.resize(data.layout.snapshot_bytes(kEntries));
    view.maps.push_back(std::move(data));
}

void step(SessionView& view, bool all) {
    pass(view, kStep);
    for (std::size_t i = 0; i < view.counts.size(); i += all ? 1 : 1000) {
        ++view.counts[i].launches;
        ++view.counts[i].instrumented;
        ++view.copies[i].launches;
    }
    auto* words = reinterpret_cast<std::uint64_t*>(view.maps[0].values.data());
    for (std::size_t i = 0; all && i < 2 * view.maps[0].slots; ++i)
        words[i] += 4096;
}

void sample(benchmark::State& state) {
    SessionView view = large_view(8192);
    add_map(view);
    Sampler sampler;
    RateWindow window;
    sampler.sample(view);
    for (auto _ : state) {
        state.PauseTiming();
        step(view, state.range(0) != 0);
        state.ResumeTiming();
        window.push(sampler.sample(view), sampler.series());
    }
}
BENCHMARK(sample)->ArgName("all_busy")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void open_recording(benchmark::State& state) {
    const std::string file =
        (std::filesystem::temp_directory_path() / ("egpu-bench-" + std::to_string(::getpid()) + ".egpu")).string();
    SessionView view = large_view(static_cast<std::uint32_t>(state.range(0)));
    add_map(view);
    FakeSource source;
    for (int i = 0; i < 20; ++i) {
        step(view, i == 0);
        source.show(view);
    }
    const auto writer = RecordingWriter::create(file, 50);
    if (!writer || !(*writer)->finish(source.take_samples(), source, view, ""))
        state.SkipWithError("not written");
    for (auto _ : state) {
        auto recording = Recording::open(file);
        benchmark::DoNotOptimize((*recording)->take_samples());
    }
    std::filesystem::remove(file);
}
BENCHMARK(open_recording)->ArgName("kernels")->Arg(8192)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace egpu::host::testing

BENCHMARK_MAIN();

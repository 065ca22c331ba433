// SPDX-License-Identifier: Apache-2.0
// A source whose samples and views a test makes up: one kernel map with traffic, one with a histogram.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "host/series/sampler.hpp"
#include "host/series/source.hpp"

namespace egpu::host::testing {

inline ebpf::TypeField field(std::string name, std::uint32_t offset, std::uint32_t bytes, ebpf::Role role) {
    ebpf::TypeField made;
    made.name = std::move(name);
    made.offset = offset;
    made.bytes = bytes;
    made.role = role;
    return made;
}

/// bandwidth/traffic as TARGETS E3.4 has it: kernel, space, access -> requested_bytes, accesses.
inline Map traffic_map(const std::string& probe) {
    Map map;
    map.name = probe + "/traffic";
    auto& definition = map.definition;
    definition.name = "traffic";
    definition.type = ebpf::MapType::percpu_hash;
    definition.key_bytes = 12;
    definition.value_bytes = 16;
    definition.max_entries = 64;
    definition.key.bytes = 12;
    definition.key.fields = {field("kernel", 0, 4, ebpf::Role::kernel_id), field("space", 4, 4, ebpf::Role::plain),
                             field("access", 8, 4, ebpf::Role::plain)};
    definition.key.fields[1].enumerators = {{0, "global"}, {1, "shared"}};
    definition.key.fields[2].enumerators = {{0, "load"}, {1, "store"}, {2, "atomic"}};
    definition.value.bytes = 16;
    definition.value.fields = {field("requested_bytes", 0, 8, ebpf::Role::bytes),
                               field("accesses", 8, 8, ebpf::Role::count)};
    return map;
}

/// latency/load_latency: kernel -> 64 slots of cycles.
inline Map latency_map() {
    Map map;
    map.name = "latency/load_latency";
    auto& definition = map.definition;
    definition.name = "load_latency";
    definition.type = ebpf::MapType::percpu_hash;
    definition.key_bytes = 4;
    definition.value_bytes = 512;
    definition.max_entries = 16;
    definition.key.bytes = 4;
    definition.key.fields = {field("", 0, 4, ebpf::Role::kernel_id)};
    definition.value.bytes = 512;
    definition.value.fields = {field("slot", 0, 8, ebpf::Role::count)};
    definition.value.fields[0].elements = 64;
    definition.value.fields[0].histogram = "log2_cycles";
    return map;
}

/// Two kernels, instrumented with `probes`, no launches yet.
inline SessionView session_view(std::vector<Map> maps, const std::vector<std::string>& probes) {
    SessionView view;
    view.unix_ns = 1'700'000'000'000'000'000;
    view.monotonic_ns = 5'000'000'000;
    view.catalogue_version = 1;
    view.catalogue.session = 4711;
    view.catalogue.egpu_version = "0.1.0";
    view.catalogue.command = {"./app", "--fast"};
    view.catalogue.started_unix_ms = 1'700'000'000'000;
    for (std::uint32_t id = 1; id <= 2; ++id) {
        Kernel kernel;
        kernel.id = id;
        kernel.name = id == 1 ? "vector_add" : "scan";
        kernel.signature = kernel.mangled = kernel.name;
        kernel.state = KernelState::instrumented;
        kernel.copy = id;
        view.catalogue.kernels.push_back(kernel);
    }
    std::vector<std::uint32_t> indices;
    for (const auto& name : probes) {
        Probe probe;
        probe.probe = name;
        probe.program = name + "_program";
        probe.section = name == "latency" ? "gpu.warp/load_return.global" : "gpu/mem";
        probe.state = ProbeState::attached;
        indices.push_back(static_cast<std::uint32_t>(view.catalogue.probes.size()));
        view.catalogue.probes.push_back(probe);
    }
    view.catalogue.copies = {{1, indices}, {2, indices}};
    view.counts.resize(2);
    view.copies.resize(2);
    view.catalogue.maps = std::move(maps);
    for (const auto& map : view.catalogue.maps) {
        MapData data;
        data.map = &map;
        const std::uint32_t bytes = map.definition.value_bytes;
        data.layout = {.value_bytes = bytes, .stride = bytes, .capacity = map.definition.max_entries, .shards = 2};
        data.age_ns = 0;
        view.maps.push_back(std::move(data));
    }
    return view;
}

/// Sets an entry of a map, its values spread over both shards.
inline void set_entry(SessionView& view, std::size_t map, const std::vector<std::uint32_t>& key,
                      const std::vector<std::uint64_t>& values) {
    MapData& data = view.maps[map];
    std::vector<std::byte> bytes(key.size() * 4);
    std::memcpy(bytes.data(), key.data(), bytes.size());
    std::uint32_t slot = 0;
    while (slot < data.slots && std::memcmp(data.keys.data() + slot * bytes.size(), bytes.data(), bytes.size()) != 0)
        ++slot;
    const std::size_t stride = data.layout.stride;
    if (slot == data.slots) {
        // A snapshot has the used parts of the shards one behind the other.
        std::vector<std::byte> grown((data.slots + 1) * stride * 2);
        for (std::size_t shard = 0; shard < 2 && data.slots != 0; ++shard)
            std::memcpy(grown.data() + shard * (data.slots + 1) * stride,
                        data.values.data() + shard * data.slots * stride, data.slots * stride);
        data.values = std::move(grown);
        data.keys.insert(data.keys.end(), bytes.begin(), bytes.end());
        ++data.slots;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint64_t parts[] = {values[i] / 3, values[i] - values[i] / 3};
        for (std::size_t shard = 0; shard < 2; ++shard)
            std::memcpy(data.values.data() + (shard * data.slots + slot) * stride + i * 8, &parts[shard], 8);
    }
}

inline void launch(SessionView& view, std::uint32_t kernel, std::uint64_t launches) {
    view.counts[kernel - 1].launches = view.counts[kernel - 1].instrumented = launches;
    view.copies[kernel - 1].launches = launches;
}

inline void pass(SessionView& view, std::uint64_t ns) {
    view.monotonic_ns += ns;
    view.unix_ns += static_cast<std::int64_t>(ns);
}

/// Gives the samples of a sampler over the views it is told.
class FakeSource final : public Source {
public:
    /// `view` outlives the source.
    void show(const SessionView& view) {
        view_ = &view;
        waiting_.push_back(sampler_.sample(view));
        for (std::size_t i = messages_.size(); i < view.catalogue.diagnostics.size(); ++i)
            messages_.push_back({view.unix_ns, view.catalogue.diagnostics[i]});
    }
    void end() { state_ = SourceState::ended; }
    const std::vector<Sample>& given() const { return given_; }

    std::vector<Sample> take_samples() override {
        auto samples = std::move(waiting_);
        waiting_.clear();
        given_.insert(given_.end(), samples.begin(), samples.end());
        return samples;
    }
    const SeriesTable& series() const override { return sampler_.series(); }
    const SessionView& view() const override { return *view_; }
    const std::vector<SourceMessage>& messages() const override { return messages_; }
    SourceState state() const override { return state_; }
    const std::string& state_text() const override { return text_; }
    std::string control_path() const override { return {}; }

private:
    Sampler sampler_;
    const SessionView* view_ = nullptr;
    std::vector<Sample> waiting_, given_;
    std::vector<SourceMessage> messages_;
    SourceState state_ = SourceState::live;
    std::string text_;
};

}  // namespace egpu::host::testing

// SPDX-License-Identifier: Apache-2.0
// Copies on the simulated GPU beside their originals: the same results to the last bit, and counts equal to what the
// kernels do by their own text, worked out below.
#include <gmock/gmock.h>

#include <cstring>
#include <functional>

#include <fmt/format.h>

#include "../session.hpp"
#include "gpu/simulated/executor/device.hpp"

namespace egpu::inject {
namespace {

using testing::Session;

constexpr std::uint32_t kBlocks = 4, kThreads = 96, kAll = kBlocks * kThreads, kElements = 300;

/// Three arrays of kAll words and the results of a launch.
class Device {
public:
    Device() {
        for (auto& array : arrays_)
            array = must(memory_.allocate(kAll * 16));
        fill();
    }

    void fill() {
        std::vector<std::uint32_t> words(kAll * 4);
        for (std::size_t at = 0; at < words.size(); ++at)
            words[at] = static_cast<std::uint32_t>(at * 2654435761u) & 0x3fffffff;
        for (const auto array : arrays_)
            EXPECT_TRUE(memory_.copy_in(array, words.data(), words.size() * 4));
    }

    simulated::DeviceMemory& memory() { return memory_; }

    std::unique_ptr<simulated::Module> load(const std::string& text) {
        auto module = simulated::Module::load(text, "test", memory_);
        EXPECT_TRUE(module) << (module ? "" : to_text(module.error()));
        return module ? std::move(*module) : nullptr;
    }

    void launch(simulated::Module& module, const std::string& name, std::uint32_t workers = 1) {
        auto kernel = module.kernel(name);
        ASSERT_TRUE(kernel) << to_text(kernel.error());
        std::vector<std::byte> parameters(28);
        std::memcpy(parameters.data(), arrays_, 24);
        std::memcpy(parameters.data() + 24, &kElements, 4);
        simulated::LaunchEnvironment environment;
        environment.memory = &memory_;
        environment.sm_count = Session::kSmCount;
        environment.workers = workers;
        const auto result = simulated::launch(**kernel, {kBlocks, 1, 1}, {kThreads, 1, 1}, 0, parameters, environment);
        ASSERT_TRUE(result) << result.fault->text;
    }

    /// The bytes of all arrays.
    std::vector<std::byte> contents() const {
        std::vector<std::byte> bytes(3 * kAll * 16);
        for (std::size_t at = 0; at < 3; ++at)
            EXPECT_TRUE(memory_.copy_out(bytes.data() + at * kAll * 16, arrays_[at], kAll * 16));
        return bytes;
    }

private:
    static std::uint64_t must(const Result<std::uint64_t>& address) {
        EXPECT_TRUE(address);
        return address ? *address : 0;
    }
    simulated::DeviceMemory memory_{std::uint64_t{1} << 28};
    std::uint64_t arrays_[3] = {};
};

/// Runs an original, then its copy on the same data, and reads the maps.
class CopyRun {
public:
    void attach(const std::string& name, const std::string& program = {}) { session_.attach(name, program); }
    void set_budget(std::uint32_t budget) { budget_ = budget; }
    void keep_constants_in_bank() { constants_in_bank_ = true; }

    void run(const std::string& kernel, std::uint32_t workers = 1) {
        const std::string path = fmt::format("{}/ptx/inject/run/{}.ptx", EGPU_TEST_DATA, kernel);
        const auto text = read_text(path);
        ASSERT_TRUE(text);
        const auto module = testing::read_module(path);
        auto request = session_.request(module, kernel);
        request.accumulator_budget = budget_;
        request.constants_in_bank = constants_in_bank_;
        auto copy = build_copy(request);
        ASSERT_TRUE(copy) << to_text(copy.error());
        copy_ = std::move(*copy);

        auto original = device_.load(*text);
        ASSERT_TRUE(original);
        update_constants(*original);
        device_.launch(*original, kernel);
        const auto expected = device_.contents();
        const auto expected_variables = variables(*original);
        // The same start for the copy: variables as they were initialised, arrays as they were filled.
        original = device_.load(*text);
        update_constants(*original);
        device_.fill();
        auto instrumented = device_.load(copy_.ptx);
        ASSERT_TRUE(instrumented) << copy_.ptx;
        fill_table(*instrumented, *original);
        refresh_bank(*instrumented, *original);
        device_.launch(*instrumented, kernel, workers);
        EXPECT_EQ(device_.contents() == expected, true) << "results differ";
        EXPECT_EQ(variables(*original) == expected_variables, true) << "variables differ";
    }

    const InstrumentedCopy& copy() const { return copy_; }
    std::uint64_t address_of_table() const { return table_address_; }
    Session& session() { return session_; }

    /// The 64-bit word at `byte` of a map's value for a key, summed over shards; 0 where the key has no slot.
    std::uint64_t word(const std::string& map_name, const std::vector<std::uint32_t>& key, std::uint32_t byte) {
        const std::uint32_t map = session_.map(map_name);
        const auto before = session_.keys(map).used();
        const auto slot = session_.keys(map).slot_of(std::as_bytes(std::span(key)));
        if (!slot || session_.keys(map).used() != before)
            return 0;
        return word_of_slot(map, *slot, byte);
    }
    std::uint64_t word_of_slot(std::uint32_t map, std::uint32_t slot, std::uint32_t byte) {
        const auto& layout = session_.layouts()[map];
        std::uint64_t sum = 0;
        for (std::uint32_t shard = 0; shard < layout.shards; ++shard) {
            std::uint64_t value = 0;
            EXPECT_TRUE(device_.memory().copy_out(
                &value, maps_.at(map) + layout.offset_of(slot, byte) + layout.shard_distance() * shard, 8));
            sum += value;
        }
        return sum;
    }
    /// Over all slots of a map.
    std::uint64_t total(const std::string& map_name, std::uint32_t byte) {
        const std::uint32_t map = session_.map(map_name);
        std::uint64_t sum = 0;
        for (std::uint32_t slot = 0; slot < session_.keys(map).used(); ++slot)
            sum += word_of_slot(map, slot, byte);
        return sum;
    }

private:
    void fill_table(simulated::Module& instrumented, const simulated::Module& original) {
        for (std::uint32_t map = 0; map < session_.layouts().size(); ++map) {
            const auto& layout = session_.layouts()[map];
            auto address = device_.memory().allocate(layout.device_bytes());
            ASSERT_TRUE(address);
            maps_[map] = *address;
        }
        std::vector<std::uint64_t> words;
        for (const auto& entry : copy_.table) {
            if (entry.kind == TableEntry::Kind::global) {
                const auto* variable = original.variable(entry.symbol);
                ASSERT_NE(variable, nullptr) << entry.symbol;
                words.push_back(variable->address);
            } else {
                words.push_back(maps_.at(entry.map) + session_.layouts()[entry.map].offset_of(entry.slot, 0));
            }
        }
        if (words.empty())
            return;
        const auto* table = instrumented.variable(Table::kSymbol);
        ASSERT_NE(table, nullptr);
        ASSERT_EQ(table->bytes, words.size() * 8);
        ASSERT_TRUE(device_.memory().copy_in(table->address, words.data(), words.size() * 8));
    }

    /// As a host does: constants hold something else by the time of the launch than they were initialised with.
    void update_constants(const simulated::Module& original) {
        const auto* table = original.variable("table");
        if (table == nullptr)
            return;
        const std::vector<float> values{5, 7, 11, 13};
        ASSERT_TRUE(device_.memory().copy_in(table->address, values.data(), values.size() * sizeof(float)));
        table_address_ = table->address;
    }

    void refresh_bank(const simulated::Module& instrumented, const simulated::Module& original) {
        for (const auto& constant : copy_.bank) {
            const auto *to = instrumented.variable(constant.symbol), *from = original.variable(constant.symbol);
            ASSERT_TRUE(to != nullptr && from != nullptr) << constant.symbol;
            ASSERT_EQ(to->bytes, constant.bytes);
            ASSERT_EQ(from->bytes, constant.bytes);
            std::vector<std::byte> bytes(constant.bytes);
            ASSERT_TRUE(device_.memory().copy_out(bytes.data(), from->address, bytes.size()));
            ASSERT_TRUE(device_.memory().copy_in(to->address, bytes.data(), bytes.size()));
        }
    }

    std::vector<std::vector<std::byte>> variables(const simulated::Module& module) {
        std::vector<std::vector<std::byte>> all;
        for (const auto& variable : module.variables()) {
            all.emplace_back(variable.bytes);
            EXPECT_TRUE(device_.memory().copy_out(all.back().data(), variable.address, variable.bytes));
        }
        return all;
    }

    Session session_;
    Device device_;
    InstrumentedCopy copy_;
    std::map<std::uint32_t, std::uint64_t> maps_;
    std::uint32_t budget_ = 4;
    bool constants_in_bank_ = false;
    std::uint64_t table_address_ = 0;
};

/// Key of bandwidth's map: kernel 7, space, access; words: requested bytes, accesses.
struct Traffic {
    ebpf::Space space;
    ebpf::Access access;
    std::uint64_t bytes, accesses;
};
void expect_traffic(CopyRun& run, const std::vector<Traffic>& expected) {
    std::uint64_t all_bytes = 0;
    for (const auto& one : expected) {
        const std::vector<std::uint32_t> key{7, static_cast<std::uint32_t>(one.space),
                                             static_cast<std::uint32_t>(one.access)};
        EXPECT_EQ(run.word("bandwidth/traffic", key, 0), one.bytes) << to_name(one.space) << " " << to_name(one.access);
        EXPECT_EQ(run.word("bandwidth/traffic", key, 8), one.accesses)
            << to_name(one.space) << " " << to_name(one.access);
        all_bytes += one.bytes;
    }
    EXPECT_EQ(run.total("bandwidth/traffic", 0), all_bytes) << "bytes under a key that isn't expected";
}

using enum ebpf::Space;
using enum ebpf::Access;

class Budgets : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Budgets, EarlyReturn) {
    CopyRun run;
    run.attach("bandwidth");
    run.attach("entry_exit");
    run.set_budget(GetParam());
    run.run("early_return");
    expect_traffic(run, {{global, load, 2 * 4 * kElements, 2 * kElements}, {global, store, 4 * kElements, kElements}});
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 0), kAll);
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 8), kAll);
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 16), kAll / 32);
    // 300 = 9 warps and 12 lanes: of the mixed warp, 20 lanes leave first; then odd lanes, then even ones.
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 24), 2u + 1u + 2u * 10u);
}

TEST_P(Budgets, Loops) {
    CopyRun run;
    run.attach("bandwidth");
    run.attach("coalescing");
    run.attach("latency");
    run.set_budget(GetParam());
    run.run("loops");
    std::uint64_t loads = 0, requests = 0;
    for (std::uint32_t warp = 0; warp < kAll / 32; ++warp)
        for (std::uint32_t round = 0; round < 6; ++round)
            for (std::uint32_t step = 0; step < 3; ++step) {
                std::uint64_t lanes = 0;
                for (std::uint32_t lane = 0; lane < 32; ++lane) {
                    const std::uint32_t thread = warp * 32 + lane;
                    lanes += round < thread % 7 && (thread + step) % kElements % 2 == 1 ? 1 : 0;
                }
                loads += lanes;
                requests += lanes > 0 ? 1 : 0;
            }
    expect_traffic(run, {{global, load, 4 * loads, loads}, {global, store, 4 * kAll, kAll}});
    EXPECT_EQ(run.total("coalescing/lines", 0), requests + kAll / 32);
    EXPECT_EQ(run.total("coalescing/lines", 16), 4 * loads + 4 * kAll);
    std::uint64_t timed = 0;
    for (std::uint32_t slot = 0; slot < 64; ++slot)
        timed += run.total("latency/load_latency", slot * 8);
    EXPECT_EQ(timed, requests);
}

TEST_P(Budgets, EverySpaceAndForm) {
    CopyRun run;
    run.attach("bandwidth");
    run.attach("coalescing");
    run.set_budget(GetParam());
    run.run("everything");
    const std::uint64_t low = kBlocks * 41;  // threads 0 to 40 of a block read local memory, the others shared memory
    expect_traffic(run, {{global, load, 16 * kAll + 4 * kAll / 2, kAll + kAll / 2},
                         {global, store, 4 * kAll, kAll},
                         {global, atomic, 4 * kAll + 8 * 5 * kBlocks, kAll + 5 * kBlocks},
                         {shared, store, 4 * kAll, kAll},
                         {shared, load, 4 * kAll + 4 * (kAll - low), kAll + kAll - low},
                         {constant, load, 2 * 4 * kAll, 2 * kAll},
                         {local, store, 4 * kAll, kAll},
                         {local, load, 4 * low, low}});
    // Requests to global memory: vector load, atomic, red in one warp a block, the function's load, the store.
    EXPECT_EQ(run.total("coalescing/lines", 0), 4 * kAll / 32 + kBlocks);
}

/// Blocks that few lanes or one come to, guarded accesses, several ways out.
TEST_P(Budgets, Branches) {
    CopyRun run;
    run.attach("bandwidth");
    run.set_budget(GetParam());
    run.run("branches");
    std::uint64_t loads = 0, loaded = 0, stores = 0, stored = 0;
    const auto add = [](std::uint64_t& count, std::uint64_t& bytes, std::uint64_t times, std::uint64_t size) {
        count += times;
        bytes += times * size;
    };
    for (std::uint32_t thread = 0; thread < kAll; ++thread) {
        add(loads, loaded, 1, 4);
        add(loads, loaded, thread % 2, 8);
        if (thread % 32 == 5) {
            add(loads, loaded, 1, 4);
            add(stores, stored, 1, 8);
        } else if (thread % 3 == 0) {
            add(loads, loaded, 2, 4);
            add(stores, stored, 1, 4);
        }
        if (thread % 7 == 0)
            continue;
        add(loads, loaded, 2 * (thread % 5), 4);
        add(stores, stored, thread % 5 / 2 + 1, 4);
    }
    expect_traffic(run, {{global, load, loaded, loads}, {global, store, stored, stores}});
}
INSTANTIATE_TEST_SUITE_P(Run, Budgets, ::testing::Values(0, 1, 4, 16),
                         [](const auto& information) { return fmt::format("Registers{}", information.param); });

/// Constants by address and in the copy's own bank: the same results, and programs see the original's addresses.
class Constants : public ::testing::TestWithParam<bool> {};

TEST_P(Constants, HoldWhatTheHostPutThere) {
    CopyRun run;
    run.attach("constant_addresses");
    run.attach("bandwidth");
    if (GetParam())
        run.keep_constants_in_bank();
    run.run("everything");
    EXPECT_EQ(run.copy().bank.size(), GetParam() ? 1U : 0U);
    EXPECT_EQ(run.word("constant_addresses/where_read", {0}, 0), 2 * kAll);
    // Each thread reads element 1, and one of four in turn: bytes 4, and 0, 4, 8 or 12.
    EXPECT_EQ(run.word("constant_addresses/where_read", {0}, 8),
              2 * kAll * run.address_of_table() + 4 * kAll + kAll / 4 * (0 + 4 + 8 + 12));
}
INSTANTIATE_TEST_SUITE_P(Run, Constants, ::testing::Bool(),
                         [](const auto& information) { return information.param ? "InTheBank" : "ByAddress"; });

TEST(Run, ManyWorkersGiveTheSameCounts) {
    CopyRun run;
    run.attach("bandwidth");
    run.run("loops", 2);
    EXPECT_EQ(run.word("bandwidth/traffic", {7, 0, 1}, 8), kAll);
}

TEST(Run, AccumulatorsAreTaken) {
    CopyRun run;
    run.attach("bandwidth");
    run.run("loops");
    EXPECT_EQ(run.copy().accumulators, 1u);  // the accesses of the load in the loops; the one store adds itself
}

TEST(Run, CountsBySiteAndAReaderOfACount) {
    CopyRun run;
    run.attach("line_counts");
    run.run("early_return");
    EXPECT_EQ(run.total("line_counts/accesses", 0), 3 * kElements);
    EXPECT_EQ(run.word("line_counts/totals", {0}, 0), 2 * kElements);
    EXPECT_LE(run.word("line_counts/totals", {1}, 0), kAll);
    EXPECT_EQ(run.session().sites().size(), 4u);
}

}  // namespace
}  // namespace egpu::inject

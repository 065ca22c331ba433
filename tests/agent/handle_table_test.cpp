// SPDX-License-Identifier: Apache-2.0
// The handle table against std::map, and under readers while it changes.
#include "agent/kernels/handle_table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "agent/kernels/inventory.hpp"

namespace egpu::agent {
namespace {

const void* key(std::uintptr_t number) {
    return reinterpret_cast<const void*>(0x7f0000000000u + number * 16);
}

TEST(HandleTable, KeepsWhatItIsTold) {
    const auto table = std::make_unique<HandleTable>();
    Kernel kernels[2];
    EXPECT_EQ(table->find(key(1)).kernel, nullptr);
    EXPECT_TRUE(table->insert(key(1), {&kernels[0], true}));
    EXPECT_TRUE(table->insert(key(2), {&kernels[1], false}));
    EXPECT_EQ(table->find(key(1)).kernel, &kernels[0]);
    EXPECT_TRUE(table->find(key(1)).context_free);
    EXPECT_FALSE(table->find(key(2)).context_free);
    EXPECT_TRUE(table->insert(key(1), {&kernels[1], false})) << "replaced";
    EXPECT_EQ(table->find(key(1)).kernel, &kernels[1]);
    EXPECT_EQ(table->size(), 2u);
    EXPECT_FALSE(table->insert(nullptr, {&kernels[0]}));
    EXPECT_EQ(table->find(nullptr).kernel, nullptr);
}

TEST(HandleTable, IsFullAtThreeQuartersAndStillAnswers) {
    const auto table = std::make_unique<HandleTable>();
    Kernel kernel;
    std::size_t inserted = 0;
    while (table->insert(key(inserted), {&kernel}))
        ++inserted;
    EXPECT_EQ(inserted, HandleTable::kSlots / 4 * 3);
    EXPECT_EQ(table->find(key(inserted - 1)).kernel, &kernel);
    EXPECT_EQ(table->find(key(inserted)).kernel, nullptr);
}

TEST(HandleTable, AgreesWithAMapOverManyChanges) {
    const auto table = std::make_unique<HandleTable>();
    std::map<std::uintptr_t, Kernel*> model;
    std::vector<Kernel> kernels(50);
    std::mt19937 random(7);
    for (int round = 0; round < 20000; ++round) {
        const std::uintptr_t number = random() % 3000;
        Kernel* kernel = &kernels[random() % kernels.size()];
        if (random() % 100 == 0) {
            table->remove_if([](void* dropped, const Handle& handle) { return handle.kernel == dropped; }, kernel);
            std::erase_if(model, [&](const auto& entry) { return entry.second == kernel; });
        } else {
            ASSERT_TRUE(table->insert(key(number), {kernel}));
            model[number] = kernel;
        }
        ASSERT_EQ(table->size(), model.size());
    }
    for (std::uintptr_t number = 0; number < 3000; ++number)
        ASSERT_EQ(table->find(key(number)).kernel, model.contains(number) ? model[number] : nullptr) << number;
}

TEST(HandleTable, ReadersSeeTheirKernelOrNone) {
    const auto table = std::make_unique<HandleTable>();
    std::vector<Kernel> kernels(64);
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i)
        readers.emplace_back([&] {
            while (!stop)
                for (std::uintptr_t number = 0; number < kernels.size(); ++number) {
                    const Handle handle = table->find(key(number));
                    if (handle.kernel != nullptr && handle.kernel != &kernels[number])
                        ++wrong;
                }
        });
    for (int round = 0; round < 300; ++round) {
        for (std::uintptr_t number = 0; number < kernels.size(); ++number)
            table->insert(key(number), {&kernels[number]});
        table->remove_if([](void*, const Handle&) { return true; }, nullptr);
    }
    stop = true;
    for (std::thread& reader : readers)
        reader.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(table->size(), 0u);
}

}  // namespace
}  // namespace egpu::agent

// SPDX-License-Identifier: Apache-2.0
// Helpers on the simulated GPU: each row of the table against the interpreter, and what lanes do together against what
// they must find.
#include <gmock/gmock.h>

#include "ebpf/helpers/random.hpp"
#include "ebpf/interpreter/interpreter.hpp"
#include "ebpf/verifier/verifier.hpp"
#include "every_helper.hpp"
#include "simulated.hpp"

namespace egpu::inject::testing {
namespace {

constexpr std::uint64_t kClock = 123456789012, kTime = 98765432101234;

/// The text with clocks that stand still.
std::string at_one_time(std::string text) {
    for (const auto& [name, value] : {std::pair{"%clock64", kClock}, std::pair{"%globaltimer", kTime}})
        for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
            text.replace(at, std::strlen(name), std::to_string(value));
    return text;
}

void set_field(std::vector<std::byte>& context, std::string_view name, std::uint64_t value) {
    const ContextField* field = field_named(ContextKind::mem, name);
    ASSERT_NE(field, nullptr) << name;
    context.resize(context_bytes(ContextKind::mem));
    std::memcpy(context.data() + field->offset, &value, field->bytes);
}

class Helpers : public ::testing::TestWithParam<std::uint32_t> {};

/// One thread: what the program leaves in the map is what the interpreter leaves there.
TEST_P(Helpers, EachIsWhatTheInterpreterSays) {
    constexpr std::uint32_t kCount = 9;
    for (const Helper& row : every_helper())
        for (const HelperUse& use : uses_of(row)) {
            SCOPED_TRACE(std::string(row.name) + (use.constant ? " of a constant" : ""));
            // Added, since what a map held must not be stored back to it.
            std::string text = use_of(row, use);
            const std::string store = "stxdw [%r8+0], %r0";
            text.replace(text.rfind(store), store.size(), "lock add [%r8+0], %r0");
            const Object object = assembled(text, row.id == HelperId::value ? "gpu/store" : "gpu/mem");
            const auto verified = verify(object, object.programs.at(0));
            ASSERT_TRUE(verified) << to_text(verified.error());
            Harness harness(object, GetParam());
            supply(harness.site);
            SimulatedSession session(harness.layouts);
            std::uint64_t held = 40;  // by the word that may be changed
            session.write(0, harness.layouts[0].device_offset_of(2, 16), &held, sizeof held);
            const auto probe = harness.emit(object);
            ASSERT_TRUE(probe) << to_text(probe.error());
            ASSERT_EQ(session.run(at_one_time(harness.module(*probe)), harness.table, 1, 1, kCount), "");

            std::vector<ReferenceMap> maps(object.maps.size());
            std::vector<std::byte> key(4), value(64);
            key[0] = std::byte{2};
            std::memcpy(value.data() + 16, &held, sizeof held);
            maps[0].emplace(key, value);
            Execution execution;
            execution.maps = &maps;
            execution.clock = kClock;
            execution.time_ns = kTime;
            execution.arguments = {0, kCount};
            const float moved[] = {1.0f, 2.0f};
            execution.value.resize(sizeof moved);
            std::memcpy(execution.value.data(), moved, sizeof moved);
            set_field(execution.context, "active_mask", 1);
            set_field(execution.context, "kernel", harness.site.kernel_id);
            set_field(execution.context, "site", harness.site.site_id);
            for (const char* size :
                 {"grid_dim.x", "grid_dim.y", "grid_dim.z", "block_dim.x", "block_dim.y", "block_dim.z"})
                set_field(execution.context, size, 1);
            const auto result = interpret(object, object.programs[0].instructions, execution);
            ASSERT_TRUE(result) << to_text(result.error());
            std::vector<std::vector<std::byte>> sent;
            for (const auto& record : execution.records)
                sent.push_back(record.bytes);
            RingPlace start;
            EXPECT_EQ(session.take_records(3, object.maps[3].max_entries, start), sent);
            for (std::uint32_t slot = 0; slot < 8; ++slot) {
                key[0] = std::byte{static_cast<unsigned char>(slot)};
                const auto found = maps[0].find(key);
                for (std::uint32_t word = 0; word < 64; word += 8) {
                    std::uint64_t wanted = 0;
                    if (found != maps[0].end())
                        std::memcpy(&wanted, found->second.data() + word, sizeof wanted);
                    EXPECT_EQ(session.sum(0, slot, word), wanted) << slot << " " << word;
                }
            }
        }
}

// ---- what all lanes find out together -----------------------------------------------------------------------------

/// array[thread]: sum, smallest and largest of r7 over the lanes. `made`: text that makes r7 from the thread in it.
Object over_lanes(const std::string& made, bool branches) {
    std::string text = "ldxw %r7, [%r1+76]\nmov %r6, %r7\n" + made;
    if (branches)  // lanes go apart and meet again
        text += "mov %r9, 1\njset %r6, 1, odd\nmov %r9, 2\nodd:\n";
    int offset = 32;
    for (const char* number : {"0x10008", "0x10009", "0x1000a"}) {
        text += fmt::format("mov %r1, %r7\ncall {}\nstxdw [%r10-{}], %r0\n", number, offset);
        offset -= 8;
    }
    text += "mov %r1, 3\ncall 0x10008\nstxdw [%r10-8], %r0\nstxw [%r10-36], %r6\nmov %r2, %r10\nadd %r2, -36\n";
    text += "mov %r3, %r10\nadd %r3, -32\nmov %r4, 0\nlddw %r1, " + map_address(0) + "\ncall 2\nmov %r0, 0\nexit\n";
    Object object = assembled(text);
    object.maps[0].value_bytes = 32;
    object.maps[0].max_entries = 128;
    return object;
}

struct Lanes {
    const char* name;
    const char* made;
    std::uint64_t (*value)(std::uint64_t thread);
};
constexpr Lanes kLanes[] = {
    {"all 64 bits", "lddw %r2, 0x9e3779b97f4a7c15\nadd %r7, 1\nmul %r7, %r2\n",
     [](std::uint64_t thread) { return (thread + 1) * 0x9e3779b97f4a7c15; }},
    {"equal high halves", "mov %r2, %r7\nand %r2, 3\nlsh %r2, 32\nmul %r7, 77\nand %r7, 255\nor %r7, %r2\n",
     [](std::uint64_t thread) { return (thread & 3) << 32 | (thread * 77 & 255); }},
    {"32 bits, all set but some", "xor %r7, -1\nlsh %r7, 32\nrsh %r7, 32\n",
     [](std::uint64_t thread) { return (thread ^ 0xffffffff) & 0xffffffff; }},
};

/// Guards of the site: which threads fire.
struct Guard {
    const char* text;  ///< sets %p3 from the thread's number in %r1; "": no guard
    bool (*fires)(std::uint32_t thread);
};
constexpr Guard kGuards[] = {
    {"", [](std::uint32_t) { return true; }},
    {"\tand.b32 %r5, %r1, 5;\n\tsetp.ne.u32 %p3, %r5, 0;\n", [](std::uint32_t thread) { return (thread & 5) != 0; }},
    {"\tand.b32 %r5, %r1, 31;\n\tsetp.eq.u32 %p3, %r5, 17;\n", [](std::uint32_t thread) { return thread % 32 == 17; }},
    {"\tsetp.ge.u32 %p3, %r1, 40;\n", [](std::uint32_t thread) { return thread >= 40; }},
};

TEST_P(Helpers, LanesAddUpAndCompare) {
    for (const Lanes& lanes : kLanes)
        for (const bool branches : {false, true})
            for (const Guard& guard : kGuards)
                for (const std::uint32_t threads : {1u, 33u, 64u, 100u}) {
                    SCOPED_TRACE(fmt::format("{}, {} threads, guard {}", lanes.name, threads, guard.text));
                    const Object object = over_lanes(lanes.made, branches);
                    ASSERT_TRUE(verify(object, object.programs.at(0)));
                    Harness harness(object, GetParam());
                    if (guard.text[0] != '\0')
                        harness.site.guard = "%p3";
                    SimulatedSession session(harness.layouts);
                    auto probe = harness.emit(object);
                    ASSERT_TRUE(probe) << to_text(probe.error());
                    probe->text = guard.text + probe->text;
                    ASSERT_EQ(session.run(harness.module(*probe), harness.table, 1, threads, threads), "");
                    for (std::uint32_t warp = 0; warp * 32 < threads; ++warp) {
                        std::uint64_t sum = 0, smallest = ~std::uint64_t{0}, largest = 0, count = 0;
                        const auto in_warp = [&](auto visit) {
                            for (std::uint32_t thread = warp * 32; thread < std::min(threads, warp * 32 + 32); ++thread)
                                visit(thread, guard.fires(thread));
                        };
                        in_warp([&](std::uint32_t thread, bool fires) {
                            if (!fires)
                                return;
                            const std::uint64_t value = lanes.value(thread);
                            sum += value;
                            smallest = std::min(smallest, value);
                            largest = std::max(largest, value);
                            ++count;
                        });
                        in_warp([&](std::uint32_t thread, bool fires) {
                            EXPECT_EQ(session.sum(0, thread, 0), fires ? sum : 0) << thread;
                            EXPECT_EQ(session.sum(0, thread, 8), fires ? smallest : 0) << thread;
                            EXPECT_EQ(session.sum(0, thread, 16), fires ? largest : 0) << thread;
                            EXPECT_EQ(session.sum(0, thread, 24), fires ? 3 * count : 0) << thread;
                        });
                    }
                }
}

/// Lanes may be in different spaces there, and a branch on that would keep some from the call.
TEST_P(Helpers, LanesAreNotAskedWhereTheSpaceIsTheirOwn) {
    const std::string text =
        "ldxw %r7, [%r1+88]\nmov %r1, %r7\ncall 0x10008\nmov %r7, %r0\n"
        "stw [%r10-4], 0\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " +
        map_address(0) + "\ncall 1\njeq %r0, 0, out\nstxdw [%r0+0], %r7\nout:\nmov %r0, 0\nexit\n";
    const Object object = assembled(text);
    Harness harness(object, GetParam());
    EXPECT_TRUE(harness.emit(object));
    harness.site.space = Space::generic;
    const auto probe = harness.emit(object);
    ASSERT_FALSE(probe);
    EXPECT_EQ(probe.error().code, "EGPU-P229");
}

// ---- words that many threads change -------------------------------------------------------------------------------

TEST_P(Helpers, ExtremesOfManyThreads) {
    for (const std::uint32_t bytes : {8u, 4u})
        for (const bool guarded : {false, true}) {
            // Numbers (thread * 37) & 63, so that 0 is among them; the smallest in words 0 and 1, the largest in 2
            // and 3.
            std::string text =
                "ldxw %r7, [%r1+76]\nneg %r7\nadd %r7, 40\nand %r7, 63\nstw [%r10-4], 1\nmov %r2, %r10\nadd %r2, "
                "-4\nlddw %r1, " +
                map_address(0) + "\ncall 1\njeq %r0, 0, out\nmov %r6, %r0\n";
            for (int word = 0; word < 4; ++word) {
                text += fmt::format("mov %r1, %r6\nadd %r1, {}\nmov %r2, %r7\nmov %r3, {}\ncall {}\n", word * 8, bytes,
                                    word < 2 ? "0x10006" : "0x10007");
                if (word % 2 == 1)  // its result is used: of 64 calls one finds each number but the last
                    text += "lock add [%r6+32], %r0\n";
            }
            const Object object = assembled(text + "out:\nmov %r0, 0\nexit\n");
            ASSERT_TRUE(verify(object, object.programs.at(0)));
            Harness harness(object, GetParam());
            if (guarded)
                harness.site.guard = "%p1";
            SimulatedSession session(harness.layouts);
            const auto probe = harness.emit(object);
            ASSERT_TRUE(probe) << to_text(probe.error());
            ASSERT_EQ(session.run(harness.module(*probe), harness.table, 2, 64, 50), "");
            std::uint64_t smallest = 64, largest = 0;
            for (std::uint64_t thread = 0; thread < (guarded ? 50u : 64u); ++thread) {
                const std::uint64_t number = (40 - thread) & 63;
                largest = std::max(largest, number);
                if (number != 0)
                    smallest = std::min(smallest, number);
            }
            EXPECT_EQ(session.sum(0, 1, 0), smallest);
            EXPECT_EQ(session.sum(0, 1, 8), smallest);
            EXPECT_EQ(session.sum(0, 1, 16), largest);
            EXPECT_EQ(session.sum(0, 1, 24), largest);
            EXPECT_GT(session.sum(0, 1, 32), 0u);
        }
}

TEST_P(Helpers, RandomNumbersOfEachLane) {
    const std::string text =
        "ldxw %r7, [%r1+76]\ncall 7\nstxdw [%r10-16], %r0\nstxw [%r10-4], %r7\nmov %r2, %r10\nadd "
        "%r2, -4\nmov %r3, %r10\nadd %r3, -16\nmov %r4, 0\nlddw %r1, " +
        map_address(0) + "\ncall 2\nmov %r0, 0\nexit\n";
    Object object = assembled(text);
    object.maps[0].value_bytes = 8;
    object.maps[0].max_entries = 64;
    ASSERT_TRUE(verify(object, object.programs.at(0)));
    Harness harness(object, GetParam());
    SimulatedSession session(harness.layouts);
    const auto probe = harness.emit(object);
    ASSERT_TRUE(probe) << to_text(probe.error());
    ASSERT_EQ(session.run(at_one_time(harness.module(*probe)), harness.table, 1, 64, 64), "");
    for (std::uint32_t thread = 0; thread < 64; ++thread)
        EXPECT_EQ(session.sum(0, thread, 0), random_number(kClock, random_stream(0, thread / 32, thread % 32)))
            << thread;
}

INSTANTIATE_TEST_SUITE_P(Sm, Helpers, ::testing::Values(60u, 70u, 75u, 80u, 90u, 100u));

}  // namespace
}  // namespace egpu::inject::testing

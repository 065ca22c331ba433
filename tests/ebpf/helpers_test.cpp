// SPDX-License-Identifier: Apache-2.0
// The table of helpers holds together, and agrees with the numbers in the header and in Linux.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "ebpf/helpers/format.hpp"
#include "ebpf/helpers/helpers.hpp"
#include "ebpf/helpers/random.hpp"

namespace egpu::ebpf {
namespace {

TEST(Helpers, EachRowIsWhole) {
    std::set<std::string_view> names;
    for (const auto& row : helpers()) {
        EXPECT_EQ(helper(static_cast<std::uint32_t>(row.id)), &row);
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_GT(row.cost, 0u) << row.name;
        EXPECT_TRUE(row.summary.ends_with(".")) << row.name;
        const auto arguments =
            std::ranges::count_if(row.arguments, [](ArgumentKind argument) { return argument != ArgumentKind::none; });
        const auto commas = std::ranges::count(row.parameters, ',');
        if (row.parameters.ends_with("..."))
            EXPECT_GT(arguments, commas) << row.name;
        else
            EXPECT_EQ(arguments, row.parameters == "void" ? 0 : commas + 1) << row.name;
        bool ended = false;  // no argument behind a missing one
        for (const auto argument : row.arguments) {
            EXPECT_FALSE(ended && argument != ArgumentKind::none) << row.name;
            ended |= argument == ArgumentKind::none;
        }
    }
    EXPECT_EQ(names.size(), 19u);
    EXPECT_EQ(helper(0), nullptr);
    EXPECT_EQ(helper(4), nullptr);  // bpf_probe_read: a bad address would kill the CUDA context
}

/// Ours are declared with the table's types and numbers, and the header declares no other.
TEST(Helpers, OursAreThoseOfTheHeader) {
    std::ifstream file(EGPU_SOURCE_DIR "/core/include/egpu/bpf/egpu.bpf.h");
    const std::string header{std::istreambuf_iterator<char>(file), {}};
    std::size_t ours = 0;
    for (const auto& row : helpers()) {
        if (!row.name.starts_with("egpu_"))
            continue;
        std::ostringstream declaration;
        declaration << "static " << row.result_type << (row.result_type.ends_with('*') ? "" : " ") << "(*const "
                    << row.name << ")(" << row.parameters << ") = (void *)0x" << std::hex
                    << static_cast<std::uint32_t>(row.id) << ";\n";
        EXPECT_NE(header.find(declaration.str()), std::string::npos) << declaration.str();
        ++ours;
    }
    std::size_t declared = 0;
    for (auto at = header.find("(*const "); at != std::string::npos; at = header.find("(*const ", at + 1))
        ++declared;
    EXPECT_EQ(declared, ours);
}

/// Helpers that programs for Linux come with are refused with a sentence of their own, and are not in the table.
TEST(Helpers, WhatIsMissingHasASentence) {
    for (const std::uint32_t number : {BPF_FUNC_map_delete_elem,
                                       BPF_FUNC_ringbuf_reserve,
                                       BPF_FUNC_ringbuf_submit,
                                       BPF_FUNC_ringbuf_reserve_dynptr,
                                       BPF_FUNC_user_ringbuf_drain,
                                       BPF_FUNC_perf_event_output,
                                       BPF_FUNC_ktime_get_boot_ns,
                                       BPF_FUNC_ktime_get_tai_ns,
                                       BPF_FUNC_jiffies64,
                                       BPF_FUNC_probe_read,
                                       BPF_FUNC_probe_read_kernel_str,
                                       BPF_FUNC_spin_lock,
                                       BPF_FUNC_spin_unlock,
                                       BPF_FUNC_timer_init,
                                       BPF_FUNC_timer_cancel,
                                       BPF_FUNC_loop,
                                       BPF_FUNC_for_each_map_elem,
                                       BPF_FUNC_map_push_elem,
                                       BPF_FUNC_map_peek_elem,
                                       BPF_FUNC_tail_call,
                                       BPF_FUNC_get_current_comm,
                                       BPF_FUNC_get_current_task_btf,
                                       BPF_FUNC_get_stackid,
                                       BPF_FUNC_map_lookup_percpu_elem,
                                       BPF_FUNC_snprintf,
                                       BPF_FUNC_strncmp}) {
        const Unavailable* said = unavailable(number);
        ASSERT_NE(said, nullptr) << linux_helper_name(number);
        EXPECT_FALSE(said->why.empty() || said->instead.empty()) << linux_helper_name(number);
    }
    for (const auto& row : helpers())
        EXPECT_EQ(unavailable(static_cast<std::uint32_t>(row.id)), nullptr) << row.name;
    EXPECT_EQ(unavailable(BPF_FUNC_skb_store_bytes), nullptr);
    EXPECT_EQ(unavailable(0x20000), nullptr);
}

TEST(Helpers, TextsOfPrintk) {
    const auto line = [](std::string_view text, std::vector<std::uint64_t> numbers) {
        const Format format = read_format(text);
        EXPECT_EQ(format.problem, "") << text;
        EXPECT_EQ(format.numbers, numbers.size()) << text;
        return printed_text(format, numbers);
    };
    EXPECT_EQ(line("plain\n", {}), "plain");
    EXPECT_EQ(line("100%% of %d", {5}), "100% of 5");
    EXPECT_EQ(line("%d %i %ld %lld", {0xffffffff, 7, ~std::uint64_t{0}, 1}), "-1 7 -1 1");
    EXPECT_EQ(line("%u %lu %hhu %hu", {~std::uint64_t{0}, ~std::uint64_t{0}, 0x1ff, 0x1ffff}),
              "4294967295 18446744073709551615 255 65535");
    EXPECT_EQ(line("%x %X %#lx %08x %-4d| %+d", {255, 255, 255, 255, 3, 4}), "ff FF 0xff 000000ff 3   | +4");
    EXPECT_EQ(line("%p %c%c", {0x1234, 'o', 'k'}), "0x1234 ok");
    EXPECT_EQ(line("%c%c%c", {0x1b, 0x9b, '\n'}), "???");
    EXPECT_EQ(line("one\nline\tof \x1b[1m\n", {}), "one line of  [1m") << "nobody forges a line of egpu's";
    EXPECT_EQ(line(std::string_view("cut\0%d", 6), {}), "cut") << "a text ends with its NUL";
    for (const char* text : {"%s", "%n", "%f", "%", "%*d", "%.3d", "%200d", "%5"})
        EXPECT_NE(read_format(text).problem, "") << text;
}

TEST(Helpers, RandomNumbersDifferAndFillTheirBits) {
    std::set<std::uint32_t> numbers;
    std::array<std::uint32_t, 32> ones{};
    constexpr std::uint32_t kClocks = 32, kStreams = 256;
    for (std::uint32_t clock = 0; clock < kClocks; ++clock)
        for (std::uint32_t lane = 0; lane < kStreams; ++lane) {
            const std::uint32_t number =
                random_number(1000 + clock, random_stream(lane / 64, lane / 32 % 2, lane % 32));
            numbers.insert(number);
            for (std::uint32_t bit = 0; bit < 32; ++bit)
                ones[bit] += number >> bit & 1;
        }
    // 8192 of 2^32 numbers: 0.008 pairs are expected to be the same by chance.
    EXPECT_GE(numbers.size(), kClocks * kStreams - 1);
    for (const std::uint32_t count : ones)
        EXPECT_NEAR(count, kClocks * kStreams / 2, 5 * 45);  // five standard deviations
}

TEST(Helpers, LinuxNames) {
    EXPECT_EQ(linux_helper_name(0), "");
    EXPECT_EQ(linux_helper_name(BPF_FUNC_map_lookup_elem), "bpf_map_lookup_elem");
    EXPECT_EQ(linux_helper_name(BPF_FUNC_trace_printk), "bpf_trace_printk");
    EXPECT_EQ(linux_helper_name(BPF_FUNC_probe_read_kernel), "bpf_probe_read_kernel");
    EXPECT_EQ(linux_helper_name(BPF_FUNC_loop), "bpf_loop");
    EXPECT_EQ(linux_helper_name(BPF_FUNC_user_ringbuf_drain), "bpf_user_ringbuf_drain");
    EXPECT_EQ(linux_helper_name(BPF_FUNC_user_ringbuf_drain + 1), "");
    EXPECT_EQ(linux_helper_name(0x10001), "");
    for (const auto& row : helpers()) {
        if (row.name.starts_with("bpf_")) {
            EXPECT_EQ(linux_helper_name(static_cast<std::uint32_t>(row.id)), row.name);
        }
    }
}

}  // namespace
}  // namespace egpu::ebpf

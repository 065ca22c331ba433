// SPDX-License-Identifier: Apache-2.0
// The table of helpers holds together, and agrees with the numbers in the header and in Linux.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "ebpf/helpers/helpers.hpp"

namespace egpu::ebpf {
namespace {

TEST(Helpers, EachRowIsWhole) {
    std::set<std::string_view> names;
    for (const auto& row : helpers()) {
        EXPECT_EQ(helper(static_cast<std::uint32_t>(row.id)), &row);
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_GT(row.cost, 0u) << row.name;
        EXPECT_TRUE(row.summary.ends_with(".")) << row.name;
        bool ended = false;  // no argument behind a missing one
        for (const auto argument : row.arguments) {
            EXPECT_FALSE(ended && argument != ArgumentKind::none) << row.name;
            ended |= argument == ArgumentKind::none;
        }
    }
    EXPECT_EQ(names.size(), 9u);
    EXPECT_EQ(helper(0), nullptr);
    EXPECT_EQ(helper(4), nullptr);  // bpf_probe_read: a bad address would kill the CUDA context
}

TEST(Helpers, NumbersOfOursAreThoseOfTheHeader) {
    std::ifstream file(EGPU_SOURCE_DIR "/core/include/egpu/bpf/egpu.bpf.h");
    const std::string header{std::istreambuf_iterator<char>(file), {}};
    std::size_t found = 0;
    for (const auto& row : helpers()) {
        if (!row.name.starts_with("egpu_"))
            continue;
        const auto at = header.find("(*const " + std::string(row.name) + ")");
        ASSERT_NE(at, std::string::npos) << row.name;
        const auto number = header.find("(void *)", at);
        EXPECT_EQ(std::stoul(header.substr(number + 8), nullptr, 16), static_cast<std::uint32_t>(row.id)) << row.name;
        ++found;
    }
    EXPECT_EQ(found, 5u);
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

// SPDX-License-Identifier: Apache-2.0
// Recordings with numbers that no session can have are refused where they are opened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "host/record/recording.hpp"
#include "recorded.hpp"

namespace egpu::host::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(Recorded, NumbersThatCanNotBeAreRefused) {
    const std::pair<const char*, const char*> kChanges[] = {
        {"UPDATE kernel_counts SET launches = -5", "launches of kernel_counts 1 is -5"},
        {"UPDATE kernel_counts SET copy_reason = -1", "copy_reason of kernel_counts 1 is -1"},
        {"UPDATE kernel_counts SET launches = 1 << 50 WHERE kernel = 2", "kernel 2 has 1125899906842624 launches"},
        {"UPDATE kernel_counts SET instrumented = launches + 5000 WHERE kernel = 1", "instrumented launches of"},
        {"UPDATE kernel_counts SET kernel = 7 WHERE kernel = 2", "kernel_counts 7 is of none"},
        {"UPDATE copy_counts SET copy = 9 WHERE copy = 2", "copy_counts 9 is of none"},
        {"UPDATE copy_counts SET graph_nodes = -1", "graph_nodes of copy_counts 1 is -1"},
        {"UPDATE copy_counts SET launches = 1 << 60", "copy 1 has"},
        {"UPDATE copy_counts SET pairs = 3, log_ratio_squares = -1", "negative"},
        {"UPDATE copy_counts SET log_ratio = 9e999", "log_ratio of copy_counts 1"},
        {"UPDATE state SET value = -1 WHERE key = 'waits'", "its waits is -1"},
        {"UPDATE state SET value = 1 << 40 WHERE key = 'agent_pid'", "its agent_pid is"},
        {"UPDATE state SET value = -9 WHERE key = 'monotonic_ns'", "its monotonic_ns is -9"},
        {"UPDATE meta SET value = -1 WHERE key = 'interval_ms'", "its interval_ms is -1"},
        {"UPDATE meta SET value = 1 << 60 WHERE key = 'started_unix_ms'", "its started_unix_ms is"},
        {"UPDATE maps SET refused_keys = -3", "below 0"},
        {"UPDATE maps SET copied_ns = -3", "below 0"},
        {"UPDATE samples SET monotonic_ns = monotonic_ns - 1000000000 WHERE id = 30", "sample 30 runs backwards"},
        {"UPDATE samples SET monotonic_ns = -1 WHERE id = 1", "sample 1 runs backwards"},
        {"UPDATE series SET kernel = -1 WHERE id = 3", "series 3"},
        {"UPDATE series SET kernel = 88 WHERE map = 'session' AND id = 0", "series 0 is of kernel 88, of 2"},
        {"UPDATE catalogue SET json = json_set(json, '$.kernels[0].copy', 9)", "kernel 1 has copy 9, of 2"},
        {"UPDATE catalogue SET json = json_set(json, '$.kernels[1].id', 1)", "kernel 1 stands where kernel 2"},
        {"UPDATE catalogue SET json = json_set(json, '$.kernels[0].sites', -2)", "kernel 1 has a figure"},
        {"UPDATE catalogue SET json = json_set(json, '$.copies[0][0]', 5)", "copy 1 is of kernel 5, of 2"},
        {"UPDATE catalogue SET json = json_set(json, '$.copies[0][1][0]', 5)", "copy 1 holds probe 6, of 2"},
        {"UPDATE catalogue SET json = json_set(json, '$.sites', json('[[1,4,\"a.cu\",3,\"ld\",\"f\"]]'))",
         "site 1 is in kernel 4, of 2"},
        {"UPDATE catalogue SET json = json_set(json, '$.started_unix_ms', -1)", "no clock"},
        {"UPDATE catalogue SET json = json_set(json, '$.probes[0].kernels', -1)", "probe bandwidth"},
        // Text where a number belongs, and other things that are none.
        {"UPDATE kernel_counts SET launches = 'abc' WHERE kernel = 2", "launches of kernel_counts 2 is abc"},
        {"UPDATE kernel_counts SET instrumented = -5.5", "instrumented of kernel_counts 1 is -5.5"},
        {"UPDATE kernel_counts SET banked = ''", "banked of kernel_counts 1 is empty"},
        {"UPDATE copy_counts SET log_ratio = 'abc'", "log_ratio of copy_counts 1 is abc"},
        {"UPDATE state SET value = 'abc' WHERE key = 'sm_count'", "its sm_count is abc"},
        {"UPDATE state SET value = x'ff00fe' WHERE key = 'device_name'", "its device_name is"},
        {"UPDATE state SET value = 7 WHERE key = 'program'", "its program is 7"},
        {"UPDATE state SET value = 'yes' WHERE key = 'drained'", "its drained is yes"},
        {"UPDATE state SET value = 2 WHERE key = 'simulated'", "its simulated is 2"},
        {"UPDATE state SET value = NULL WHERE key = 'waits'", "its waits is empty"},
        {"UPDATE state SET value = 'abc' WHERE key = 'unix_ns'", "its unix_ns is abc"},
        {"UPDATE meta SET value = 'abc' WHERE key = 'interval_ms'", "its interval_ms is abc"},
        {"UPDATE meta SET value = 'yes' WHERE key = 'finished'", "its finished is yes"},
        {"UPDATE meta SET value = x'00' WHERE key = 'egpu_version'", "which egpu"},
        {"UPDATE meta SET value = 5 WHERE key = 'summary'", "its summary is no text"},
        {"UPDATE samples SET unix_ns = 'abc' WHERE id = 30", "sample 30 is of a time that no clock shows"},
        {"UPDATE samples SET monotonic_ns = 'abc' WHERE id = 1", "sample 1 is of a time that no clock shows"},
        {"UPDATE series SET site = 'abc' WHERE id = 3", "series 3 has a kernel, site or clock that is no number"},
        {"UPDATE maps SET refused_keys = 'abc'", "that is none"},
        {"UPDATE messages SET unix_ns = 'abc'", "message 1 has a time that no clock shows"},
        // Larger than anything that was ever seen.
        {"UPDATE meta SET value = 9223372036854775807 WHERE key = 'interval_ms'",
         "its interval_ms is 922337203685477580"},
        {"UPDATE meta SET value = 0 WHERE key = 'interval_ms'", "its interval_ms is 0"},
        {"UPDATE state SET value = 9223372036854775807 WHERE key = 'unknown_launches'", "its unknown_launches is 9223"},
        {"UPDATE state SET value = 9223372036854775807 WHERE key = 'gpu_memory_bytes'", "its gpu_memory_bytes is 9223"},
        {"UPDATE state SET value = 9223372036854775807 WHERE key = 'waited_ns'", "its waited_ns is 9223"},
        {"UPDATE state SET value = 2147483648 WHERE key = 'sm_count'", "its sm_count is 2147483648"},
        {"UPDATE state SET value = 9223372036854775807 WHERE key = 'unix_ns'", "its state is of a time"},
        {"UPDATE samples SET unix_ns = 9223372036854775807", "sample 1 is of a time that no clock shows"},
        {"UPDATE samples SET unix_ns = -9223372036854775808 WHERE id = 30", "sample 30 is of a time"},
        {"UPDATE samples SET id = -id", "before the first one"},
        // What every writer writes.
        {"DELETE FROM kernel_counts", "it has counts of 0 kernels, of 2"},
        {"DELETE FROM kernel_counts WHERE kernel = 1", "it has counts of 1 kernels, of 2"},
        {"DELETE FROM catalogue", "its catalogue is missing"},
        {"DELETE FROM state", "its state is missing"},
        {"DELETE FROM meta", "its interval_ms is missing"},
        {"DELETE FROM meta WHERE key = 'session'", "its session is missing"},
        {"UPDATE meta SET value = 4712 WHERE key = 'session'", "it is of session 4712, its catalogue of 4711"},
    };
    write(60);
    const std::string whole = (folder_ / "whole.egpu").string();
    fs::copy_file(file, whole);
    for (const auto& [change, said] : kChanges) {
        fs::copy_file(whole, file, fs::copy_options::overwrite_existing);
        sql(file, change);
        const auto recording = Recording::open(file);
        ASSERT_FALSE(recording) << change;
        EXPECT_EQ(recording.error().code, "EGPU-R013") << change;
        EXPECT_THAT(recording.error().message, HasSubstr(said)) << change;
        EXPECT_THAT(recording.error().message, HasSubstr(file)) << change;
    }
}

}  // namespace
}  // namespace egpu::host::testing

// SPDX-License-Identifier: Apache-2.0
// A test with a folder of its own, in which it writes recordings of sessions that it makes up.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "fake_source.hpp"
#include "host/record/writer.hpp"

namespace egpu::host::testing {

namespace fs = std::filesystem;

constexpr std::uint64_t kMs = 1'000'000;

class Recorded : public ::testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("egpu-record-" + std::to_string(::getpid()));
        fs::create_directories(folder_);
        file = (folder_ / "run.egpu").string();
    }
    void TearDown() override { fs::remove_all(folder_); }

    SessionView new_view() const {
        auto view = session_view({traffic_map("bandwidth"), latency_map()}, {"bandwidth", "latency"});
        view.device_name = "a GPU";
        view.program = "app";
        view.simulated = true;
        view.agent_pid = 42;
        view.gpu_memory_bytes = std::uint64_t{12} << 20;
        view.waited_ns = 1234567890123;
        return view;
    }
    /// Written with `count` samples, some a transaction; finished or left as a killed writer leaves it.
    SessionView write(int count, bool finish = true) {
        FakeSource source;
        SessionView view = new_view();
        auto writer = RecordingWriter::create(file, 50);
        EXPECT_TRUE(writer) << to_text(writer.error());
        for (int done = 0; done < count; done += 20) {
            play_some(source, view, std::min(20, count - done));
            EXPECT_TRUE((*writer)->write(source.take_samples(), source));
        }
        view.catalogue.diagnostics.emplace_back("something was said");
        view.drained = true;
        pass(view, 50 * kMs);
        source.show(view);
        if (finish) {
            EXPECT_TRUE((*writer)->finish(source.take_samples(), source, view, "{\"schema\": \"egpu/summary/1\"}"));
        }
        given = source.given();
        table = source.series().all();
        return view;
    }
    /// Further samples of a session.
    static void play_some(FakeSource& source, SessionView& view, int count) {
        const std::uint64_t from = view.counts[0].launches / 3;
        std::vector<std::uint64_t> slots(64);
        for (int i = 1; i <= count; ++i) {
            pass(view, 50 * kMs);
            const std::uint64_t n = from + static_cast<std::uint64_t>(i);
            launch(view, 1, n * 3);
            if (n % 3 == 0)
                launch(view, 2, n);
            set_entry(view, 0, {1, 0, 0}, {n * 4096, n * 1024});
            set_entry(view, 0, {2, 0, 1}, {n << 40, ~std::uint64_t{0} - 1000 + n % 2});
            slots[n % 20] = n;
            set_entry(view, 1, {1}, slots);
            source.show(view);
        }
    }
    static std::vector<Sample> take_all(Source& source) {
        std::vector<Sample> all;
        for (auto some = source.take_samples(); !some.empty(); some = source.take_samples())
            all.insert(all.end(), some.begin(), some.end());
        return all;
    }
    /// In the order of their series, as a file gives them.
    static Sample sorted(Sample sample) {
        const auto by_series = [](const auto& a, const auto& b) { return a.series < b.series; };
        std::sort(sample.points.begin(), sample.points.end(), by_series);
        std::sort(sample.histograms.begin(), sample.histograms.end(), by_series);
        return sample;
    }
    static void expect_same(const std::vector<Sample>& got, const std::vector<Sample>& wanted) {
        ASSERT_EQ(got.size(), wanted.size());
        for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_EQ(got[i], sorted(wanted[i])) << "sample " << i;
    }
    static void sql(const std::string& path, const char* text) {
        sqlite3* database = nullptr;
        ASSERT_EQ(::sqlite3_open(path.c_str(), &database), SQLITE_OK);
        EXPECT_EQ(::sqlite3_exec(database, text, nullptr, nullptr, nullptr), SQLITE_OK) << ::sqlite3_errmsg(database);
        ::sqlite3_close(database);
    }

    fs::path folder_;
    std::string file;
    std::vector<Sample> given;
    std::vector<Series> table;
};

}  // namespace egpu::host::testing

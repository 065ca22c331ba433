// SPDX-License-Identifier: Apache-2.0
// Recordings: what was written is read; killed writers, full disks, damaged, foreign and newer files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "host/record/recorder.hpp"
#include "host/record/recording.hpp"
#include "host/record/writer.hpp"
#include "host/series/rates.hpp"
#include "recorded.hpp"

namespace egpu::host::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(Recorded, WhatWasWrittenIsRead) {
    const SessionView last = write(137);
    auto recording = Recording::open(file);
    ASSERT_TRUE(recording) << to_text(recording.error());
    expect_same(take_all(**recording), given);
    ASSERT_EQ((*recording)->series().size(), table.size());
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        const Series &got = (*recording)->series()[i], &wanted = table[i];
        EXPECT_EQ(std::tie(got.map, got.field, got.label, got.space, got.access),
                  std::tie(wanted.map, wanted.field, wanted.label, wanted.space, wanted.access));
        EXPECT_EQ(std::tie(got.kind, got.unit, got.kernel_id, got.site_id, got.clock),
                  std::tie(wanted.kind, wanted.unit, wanted.kernel_id, wanted.site_id, wanted.clock));
    }
    EXPECT_EQ((*recording)->state(), SourceState::ended);
    EXPECT_EQ((*recording)->state_text(), "ended");
    const auto& facts = (*recording)->facts();
    EXPECT_EQ(facts.samples, 138u);
    EXPECT_EQ(facts.session, 4711u);
    EXPECT_TRUE(facts.finished);
    EXPECT_THAT(facts.summary, HasSubstr("egpu/summary/1"));
    ASSERT_THAT((*recording)->messages(), SizeIs(1));
    EXPECT_EQ((*recording)->messages()[0].text, "something was said");
    const SessionView& view = (*recording)->view();
    EXPECT_EQ(view.device_name, "a GPU");
    EXPECT_EQ(view.waited_ns, last.waited_ns);
    EXPECT_TRUE(view.drained);
    EXPECT_EQ(view.counts[0].launches, last.counts[0].launches);
    EXPECT_EQ(view.copies[1].launches, last.copies[1].launches);
    EXPECT_EQ(view.catalogue.command, last.catalogue.command);
    // Derived figures come out of the file as out of the session.
    const auto now = kernel_metrics(view), then = kernel_metrics(last);
    EXPECT_EQ(now.at(1).read_bytes, then.at(1).read_bytes);
    EXPECT_EQ(now.at(2).written_bytes, then.at(2).written_bytes);
    const auto rows = read_rows(view.maps[0], view.catalogue), rows_then = read_rows(last.maps[0], last.catalogue);
    ASSERT_EQ(rows.size(), rows_then.size());
    EXPECT_EQ(rows[1].values[1].elements, rows_then[1].values[1].elements) << "all 64 bits";
}

TEST_F(Recorded, SqlReadsIt) {
    write(40);
    sqlite3* database = nullptr;
    ASSERT_EQ(::sqlite3_open(file.c_str(), &database), SQLITE_OK);
    std::string names;
    const auto add = [](void* to, int, char** values, char**) {
        *static_cast<std::string*>(to) += std::string(values[0] != nullptr ? values[0] : "NULL") + " ";
        return 0;
    };
    EXPECT_EQ(::sqlite3_exec(database, "SELECT name || '=' || launches FROM kernels ORDER BY id", add, &names, nullptr),
              SQLITE_OK);
    EXPECT_EQ(::sqlite3_exec(database, "SELECT probe || '/' || state FROM probes", add, &names, nullptr), SQLITE_OK);
    EXPECT_EQ(names, "vector_add=120 scan=39 bandwidth/attached latency/attached ");
    ::sqlite3_close(database);
}

TEST_F(Recorded, AKilledWriterLeavesWhatItWrote) {
    const pid_t child = ::fork();
    if (child == 0) {
        FakeSource source;
        SessionView view = new_view();
        auto writer = RecordingWriter::create(file, 50);
        play_some(source, view, 60);
        const bool good = writer && (*writer)->write(source.take_samples(), source);
        ::kill(::getpid(), good ? SIGKILL : SIGTERM);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(WTERMSIG(status), SIGKILL);
    FakeSource source;
    SessionView view = new_view();
    play_some(source, view, 60);
    source.take_samples();
    auto recording = Recording::open(file);
    ASSERT_TRUE(recording) << to_text(recording.error());
    expect_same(take_all(**recording), source.given());
    EXPECT_EQ((*recording)->state(), SourceState::ended);
    EXPECT_THAT((*recording)->state_text(), HasSubstr("killed"));
    EXPECT_FALSE((*recording)->facts().finished);
    EXPECT_EQ((*recording)->view().counts[0].launches, 180u);
}

TEST_F(Recorded, KilledAtAnyMomentItIsReadable) {
    for (int attempt = 0; attempt < 12; ++attempt) {
        fs::remove(file);
        fs::remove(file + "-journal");
        const pid_t child = ::fork();
        if (child == 0) {
            FakeSource source;
            SessionView view = new_view();
            auto writer = RecordingWriter::create(file, 50);
            while (writer) {
                play_some(source, view, 10);
                const auto samples = source.take_samples();
                Status written = (*writer)->write(samples, source);
                while (!written && written.error().code == "EGPU-R004")
                    written = (*writer)->write(samples, source);
                if (!written)
                    break;
            }
            ::_exit(1);
        }
        const auto is_written = [&] {
            auto recording = Recording::open(file);
            return recording && (*recording)->facts().samples > 0 && (*recording)->state() == SourceState::live;
        };
        for (int i = 0; i < 3000 && !is_written(); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::this_thread::sleep_for(std::chrono::milliseconds(attempt * 7));
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed by itself";
        auto recording = Recording::open(file);
        ASSERT_TRUE(recording) << to_text(recording.error());
        const auto samples = take_all(**recording);
        EXPECT_EQ((*recording)->state(), SourceState::ended) << (*recording)->state_text();
        EXPECT_GT(samples.size(), 0u);
        EXPECT_EQ(samples.size() % 10, 0u) << "whole transactions";
    }
}

TEST_F(Recorded, AFormerOneIsStartedOverInPlace) {
    write(40);
    const auto reader = Recording::open(file);  // goes on to have it open
    ASSERT_TRUE(reader);
    struct stat before {
    }, after{};
    ASSERT_EQ(::stat(file.c_str(), &before), 0);
    write(20);
    ASSERT_EQ(::stat(file.c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino) << "two databases beside one journal would harm each other";
    auto again = Recording::open(file);
    ASSERT_TRUE(again);
    EXPECT_LT(take_all(**again).size(), 30u) << "nothing of the former is left";
}

TEST_F(Recorded, WhatALivingProcessWritesIsLeftToIt) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto writer = RecordingWriter::create(file, 50);
        const char done = writer ? 'y' : 'n';
        if (::write(ready[1], &done, 1) == 1)
            ::pause();
        ::_exit(1);
    }
    char done = 0;
    ASSERT_EQ(::read(ready[0], &done, 1), 1);
    EXPECT_EQ(done, 'y');
    const auto refused = RecordingWriter::create(file, 50);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "EGPU-R002");
    EXPECT_THAT(refused.error().message, HasSubstr(std::to_string(child)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(RecordingWriter::create(file, 50)) << "its writer is gone";
}

TEST_F(Recorded, OneThatIsBeingWrittenGrows) {
    FakeSource source;
    SessionView view = new_view();
    auto writer = RecordingWriter::create(file, 50);
    ASSERT_TRUE(writer);
    play_some(source, view, 10);
    ASSERT_TRUE((*writer)->write(source.take_samples(), source));
    auto recording = Recording::open(file);
    ASSERT_TRUE(recording);
    EXPECT_EQ((*recording)->state(), SourceState::live);
    EXPECT_THAT(take_all(**recording), SizeIs(10));
    play_some(source, view, 5);
    ASSERT_TRUE((*writer)->write(source.take_samples(), source)) << "a reader has it open";
    EXPECT_THAT(take_all(**recording), SizeIs(5));
    EXPECT_EQ((*recording)->view().counts[0].launches, 45u);
    ASSERT_TRUE((*writer)->finish({}, source, view, ""));
    EXPECT_THAT(take_all(**recording), IsEmpty());
    EXPECT_EQ((*recording)->state(), SourceState::ended);
}

TEST_F(Recorded, FullDisk) {
    FakeSource source;
    SessionView view = new_view();
    auto writer = RecordingWriter::create(file, 50);
    ASSERT_TRUE(writer);
    play_some(source, view, 20);
    ASSERT_TRUE((*writer)->write(source.take_samples(), source));
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit small = before;
    small.rlim_cur = fs::file_size(file) + 8192;
    ::setrlimit(RLIMIT_FSIZE, &small);
    Status status = ok();
    for (int i = 0; i < 50 && status; ++i) {
        play_some(source, view, 20);
        status = (*writer)->write(source.take_samples(), source);
    }
    ::setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, "EGPU-R003");
    EXPECT_THAT(status.error().message, HasSubstr(file));
    writer->reset();
    auto recording = Recording::open(file);
    ASSERT_TRUE(recording) << to_text(recording.error());
    const auto samples = take_all(**recording);
    EXPECT_GE(samples.size(), 20u);
    EXPECT_EQ(samples.size() % 20, 0u);
    EXPECT_NE((*recording)->state(), SourceState::damaged);
}

TEST_F(Recorded, TheRecorderSaysAFailureOnceAndEnds) {
    auto source = std::make_unique<FakeSource>();
    FakeSource& fake = *source;
    SessionView view = new_view();
    play_some(fake, view, 4000);
    std::atomic<int> said{0};
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    auto recorder = Recorder::start(
        {.file = file, .interval = std::chrono::milliseconds(10), .on_problem = [&](const Diagnostic&) { ++said; }},
        std::move(source));
    ASSERT_TRUE(recorder);
    rlimit small = before;
    small.rlim_cur = fs::file_size(file);
    ::setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 500 && said == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::setrlimit(RLIMIT_FSIZE, &before);
    const Status finished = (*recorder)->finish(view, "{}");
    EXPECT_EQ(said, 1);
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().code, "EGPU-R003");
    EXPECT_TRUE((*recorder)->had_problem());
}

TEST_F(Recorded, TheRecorderWritesToTheEnd) {
    auto source = std::make_unique<FakeSource>();
    FakeSource& fake = *source;
    SessionView view = new_view();
    play_some(fake, view, 20);
    auto recorder =
        Recorder::start({.file = file, .interval = std::chrono::milliseconds(10), .on_problem = {}}, std::move(source));
    ASSERT_TRUE(recorder);
    ASSERT_TRUE((*recorder)->finish(view, "{}"));
    auto recording = Recording::open(file);
    ASSERT_TRUE(recording);
    EXPECT_THAT(take_all(**recording), SizeIs(20));
    EXPECT_TRUE((*recording)->facts().finished);
}

TEST_F(Recorded, OtherFilesAreLeftAlone) {
    std::ofstream(file) << "my thesis";
    auto writer = RecordingWriter::create(file, 50);
    ASSERT_FALSE(writer);
    EXPECT_EQ(writer.error().code, "EGPU-R002");
    EXPECT_EQ(fs::file_size(file), 9u);
    const std::string other = (folder_ / "other.db").string();
    sql(other, "CREATE TABLE t(x)");
    EXPECT_EQ(RecordingWriter::create(other, 50).error().code, "EGPU-R002");
    EXPECT_EQ(RecordingWriter::create(folder_.string(), 50).error().code, "EGPU-R001");
    EXPECT_EQ(RecordingWriter::create((folder_ / "none" / "run.egpu").string(), 50).error().code, "EGPU-R001");
    EXPECT_EQ(RecordingWriter::create("/dev/null", 50).error().code, "EGPU-R002");
    EXPECT_EQ(RecordingWriter::create("/proc/run.egpu", 50).error().code, "EGPU-R001");
    fs::remove(file);
    write(10);
    EXPECT_TRUE(RecordingWriter::create(file, 50)) << "a recording is replaced";
}

TEST_F(Recorded, AFileOfAnEgpuThatWasKilledWhileItStartedIsTakenOver) {
    write(10);
    { Database started_over(file, Database::Access::create); }  // and no further
    EXPECT_EQ(fs::file_size(file), 4096u);
    EXPECT_EQ(Recording::open(file).error().code, "EGPU-R011");
    EXPECT_TRUE(recording_can_be_written(file));
    write(10);
    EXPECT_TRUE(Recording::open(file));
    // A database that somebody has begun to use is theirs.
    for (const char* used : {"PRAGMA user_version = 7", "PRAGMA application_id = 7", "CREATE TABLE t(x)"}) {
        { Database started_over(file, Database::Access::create); }
        sql(file, used);
        const Status status = recording_can_be_written(file);
        ASSERT_FALSE(status) << used;
        EXPECT_EQ(status.error().code, "EGPU-R002");
    }
}

TEST_F(Recorded, WhatIsNoRecordingIsSaidSo) {
    const auto code = [](const std::string& path) {
        const auto opened = Recording::open(path);
        return opened ? std::string() : opened.error().code;
    };
    EXPECT_EQ(code(file), "EGPU-R010") << "not there";
    EXPECT_EQ(code(folder_.string()), "EGPU-R011") << "a folder";
    const std::string pipe = (folder_ / "pipe").string();
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(code(pipe), "EGPU-R011") << "nobody waits for its writer";
    std::ofstream(file) << "";
    EXPECT_EQ(code(file), "EGPU-R011");
    std::ofstream(file) << std::string(5000, 'x');
    EXPECT_EQ(code(file), "EGPU-R011");
    const std::string other = (folder_ / "other.db").string();
    sql(other, "CREATE TABLE t(x)");
    EXPECT_EQ(code(other), "EGPU-R011");
    fs::remove(file);
    write(10);
    sql(file, "PRAGMA user_version = 2");
    EXPECT_EQ(code(file), "EGPU-R012");
    sql(file, "PRAGMA user_version = 1; UPDATE catalogue SET json = '{}'");
    EXPECT_EQ(code(file), "EGPU-R013");
}

TEST_F(Recorded, ContentsThatMakeNoSenseAreDamage) {
    for (const char* change :
         {"UPDATE points SET series = 5000 WHERE sample = 30 AND series = 0",
          "UPDATE series SET id = id + 100 WHERE id > 3", "UPDATE histograms SET slots = '[1,2' WHERE sample = 30",
          "UPDATE histograms SET slots = '{\"64\":1}'",
          "UPDATE clocks SET clock = 123456789 WHERE sample = 30 AND clock = 1", "DELETE FROM samples WHERE id = 30"}) {
        fs::remove(file);
        write(60);
        sql(file, change);
        auto recording = Recording::open(file);
        ASSERT_TRUE(recording) << change;
        const auto samples = take_all(**recording);
        EXPECT_EQ((*recording)->state(), SourceState::damaged) << change;
        EXPECT_THAT((*recording)->state_text(), ::testing::Not(IsEmpty()));
        EXPECT_LE(samples.size(), 29u) << change;
    }
    fs::remove(file);
    write(60);
    sql(file, "UPDATE maps SET keys = x'00'");
    EXPECT_EQ(Recording::open(file).error().code, "EGPU-R013");
}

TEST_F(Recorded, TruncatedAndBentFilesHarmNothing) {
    write(200);
    std::ifstream in(file, std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(in)), {});
    std::mt19937 random(20261130);
    int damaged = 0, refused = 0;
    for (int attempt = 0; attempt < 150; ++attempt) {
        std::string bent = whole;
        if (attempt % 2 == 0)
            bent.resize(random() % whole.size());
        else
            for (int i = 0; i < 60; ++i)
                bent[random() % bent.size()] = static_cast<char>(random());
        std::ofstream(file, std::ios::binary) << bent;
        auto recording = Recording::open(file);
        refused += recording ? 0 : 1;
        if (!recording)
            continue;
        const auto samples = take_all(**recording);
        EXPECT_LE(samples.size(), given.size());
        damaged += (*recording)->state() == SourceState::damaged ? 1 : 0;
        kernel_metrics((*recording)->view());
        RateWindow window;
        for (const auto& sample : samples)
            window.push(sample, (*recording)->series());
        window.kernel(0, (*recording)->series());
    }
    EXPECT_GT(damaged, 0);
    EXPECT_GT(refused, 0);
}

TEST_F(Recorded, MoreKernelsThanASessionCanHave) {
    constexpr std::uint32_t kKernels = 20'000;
    FakeSource source;
    SessionView view = session_view({}, {});
    view.catalogue.kernels.assign(kKernels, view.catalogue.kernels[0]);
    for (std::uint32_t i = 0; i < kKernels; ++i) {
        view.catalogue.kernels[i].id = i + 1;
        view.catalogue.kernels[i].name = "kernel_" + std::to_string(i);
        view.catalogue.kernels[i].copy = 0;
    }
    view.counts.assign(kKernels, {});
    for (auto& counts : view.counts)
        counts.launches = 1;
    source.show(view);
    for (int i = 0; i < 20; ++i) {
        pass(view, 50 * kMs);
        view.counts[static_cast<std::size_t>(i) * 1000].launches += 7;
        source.show(view);
    }
    auto writer = RecordingWriter::create(file, 50);
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->finish(source.take_samples(), source, view, ""));
    auto recording = Recording::open(file);
    ASSERT_TRUE(recording) << to_text(recording.error());
    expect_same(take_all(**recording), source.given());
    EXPECT_EQ((*recording)->view().catalogue.kernels.size(), kKernels);
    EXPECT_EQ((*recording)->view().counts[1000].launches, 8u);
}

}  // namespace
}  // namespace egpu::host::testing

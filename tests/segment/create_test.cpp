// SPDX-License-Identifier: Apache-2.0
// Real shared memory objects: mode, reservation, names, what killed processes leave.
#include "segment/create/create.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "segment/access/mapping.hpp"
#include "segment/create/geometry.hpp"
#include "segment/create/sessions.hpp"
#include "segment/layout/build_id.h"
#include "segment/snapshots/snapshots.hpp"

namespace egpu::segment {
namespace {

std::filesystem::path file_of(const std::string& name) {
    return std::filesystem::path("/dev/shm") / name;
}

// The maps of the bundled programs `bandwidth` (12-byte keys) and `coalescing` on a device of 132 SMs.
SegmentRequest bundled_programs() {
    SegmentRequest request;
    const maps::Layout traffic = maps::make_layout(16, 4096, true, 132), lines = maps::make_layout(24, 4096, true, 132);
    request.maps = {{"bandwidth/traffic", 12, 16, 4096, traffic.shards, false},
                    {"coalescing/lines", 4, 24, 4096, lines.shards, false}};
    return request;
}

TEST(Create, SizeOfTheBundledProgramsFitsAContainer) {
    const std::uint64_t bytes = segment_bytes(bundled_programs());
    EXPECT_GT(bytes, 16u << 20);
    EXPECT_LE(bytes, 32u << 20);
}

TEST(Create, ReservedPrivateAndGoneAfterwards) {
    std::string name;
    {
        Result<OwnedSegment> segment = OwnedSegment::create(bundled_programs());
        ASSERT_TRUE(segment) << segment.error().message;
        name = segment->name();
        EXPECT_EQ(name, "egpu-" + std::to_string(getuid()) + "-" + std::to_string(getpid()));
        struct stat status {};
        ASSERT_EQ(stat(file_of(name).c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777, 0600u);
        EXPECT_GE(status.st_blocks * 512, status.st_size) << "every page is reserved";

        Mapping agent;
        ASSERT_EQ(agent.open(name, Writable::yes, egpu_segment_build_id()), AccessError::none);
        const std::uint32_t key[3] = {1, 2, 3};
        EXPECT_EQ(segment->publish_key(0, std::as_bytes(std::span(key))), 0u);
        EXPECT_EQ(agent.view().used_slots(0), 1u);
        EXPECT_EQ(std::memcmp(key_of(agent.view(), 0, 0).data(), key, sizeof(key)), 0);
        EXPECT_TRUE(segment->publish_catalogue("{\"kernels\":[]}"));
        EXPECT_EQ(read_catalogue(agent.view()), "{\"kernels\":[]}");
        EXPECT_TRUE(segment->publish_catalogue("{}"));
        EXPECT_EQ(read_catalogue(agent.view()), "{}");
        EXPECT_FALSE(segment->publish_catalogue(std::string((1 << 20) + 1, ' ')));
        EXPECT_EQ(read_catalogue(agent.view()), "{}");
    }
    EXPECT_FALSE(std::filesystem::exists(file_of(name)));
}

/// Of maps that are there from the start, and of those that are added.
TEST(Create, FirstValuesAreTheFirstSnapshot) {
    MapDescription map{"probe/data", 4, 12, 1, 1, true};
    map.initial = {std::byte{7}, std::byte{0}, std::byte{9}};
    SegmentRequest request;
    request.maps = {map, {"probe/none", 4, 8, 1, 1, true}};
    request.reserve_bytes = 64 << 10;
    Result<OwnedSegment> segment = OwnedSegment::create(request);
    ASSERT_TRUE(segment);
    ASSERT_TRUE(segment->add_maps({map}));
    for (const std::uint32_t index : {0u, 2u}) {
        maps::Snapshot snapshot;
        ASSERT_EQ(copy_snapshot(segment->view(), index, &snapshot), maps::CopyResult::copied) << index;
        const std::vector<std::byte> read(snapshot.bytes.begin(), snapshot.bytes.begin() + 3);
        EXPECT_EQ(read, map.initial);
        EXPECT_EQ(segment->view().snapshot(index, 0)[3], std::byte{0});
    }
    maps::Snapshot none;
    EXPECT_NE(copy_snapshot(segment->view(), 1, &none), maps::CopyResult::copied);

    map.initial.resize(13);
    EXPECT_FALSE(OwnedSegment::create({.maps = {map}}));
    MapDescription summed{"probe/sums", 4, 8, 1, 1, true, true};
    summed.initial.resize(8);
    EXPECT_FALSE(OwnedSegment::create({.maps = {summed}}));
}

TEST(Create, MapsThatComeLaterLieInTheReserve) {
    SegmentRequest request = bundled_programs();
    request.reserve_bytes = 256 << 10;
    Result<OwnedSegment> segment = OwnedSegment::create(request);
    ASSERT_TRUE(segment);
    Mapping reader;
    ASSERT_EQ(reader.open(segment->name(), Writable::no, egpu_segment_build_id()), AccessError::none);
    const std::vector<MapDescription> wanted = {{"late/hash", 4, 8, 64, 4, false}, {"late/array", 4, 8, 16, 1, true}};
    ASSERT_TRUE(segment->add_maps(wanted));
    EXPECT_EQ(segment->view().map_count(), 4u);
    EXPECT_EQ(reader.view().map_count(), 2u) << "not before the reader asks";
    reader.refresh();
    ASSERT_EQ(reader.view().map_count(), 4u);
    EXPECT_EQ(reader.view().map_name(2), "late/hash");
    EXPECT_EQ(reader.view().snapshot(2, 1).size(), 64u * 4 * 8);
    EXPECT_EQ(reader.view().used_slots(3), 16u);
    const std::uint32_t key = 7;
    EXPECT_EQ(segment->publish_key(2, std::as_bytes(std::span(&key, 1))), 0u);
    EXPECT_EQ(std::memcmp(key_of(reader.view(), 2, 0).data(), &key, sizeof(key)), 0);

    const std::uint64_t left = segment->reserve_left();
    const Status refused = segment->add_maps({{"small", 4, 8, 1, 1, true}, {"large", 4, 1024, 1024, 1, true}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "EGPU-X013");
    EXPECT_EQ(segment->reserve_left(), left) << "all or none";
    EXPECT_EQ(segment->view().map_count(), 4u);
    EXPECT_EQ(segment->add_maps({{"none", 4, 0, 1, 1, true}}).error().code, "EGPU-X012");
}

TEST(Create, AReaderTakesInNoMapThatLiesOutside) {
    SegmentRequest request = bundled_programs();
    request.reserve_bytes = 64 << 10;
    Result<OwnedSegment> segment = OwnedSegment::create(request);
    ASSERT_TRUE(segment);
    Mapping reader;
    ASSERT_EQ(reader.open(segment->name(), Writable::yes, egpu_segment_build_id()), AccessError::none);
    ASSERT_TRUE(segment->add_maps({{"late", 4, 8, 64, 1, false}}));
    reader.view().map(2).snapshot[1].offset = std::uint64_t{1} << 40;
    reader.view().header().map_count = 0xffffffff;
    reader.refresh();
    EXPECT_EQ(reader.view().map_count(), 2u);
}

TEST(Create, AFullMapRefusesAndCounts) {
    SegmentRequest request = bundled_programs();
    request.maps[1].capacity = 2;
    Result<OwnedSegment> segment = OwnedSegment::create(request);
    ASSERT_TRUE(segment);
    const std::uint32_t key = 9;
    const auto bytes = std::as_bytes(std::span(&key, 1));
    EXPECT_EQ(segment->publish_key(1, bytes), 0u);
    EXPECT_EQ(segment->publish_key(1, bytes), 1u);
    EXPECT_EQ(segment->publish_key(1, bytes), 2u) << "capacity: refused";
    EXPECT_EQ(segment->view().map(1).refused_keys, 1u);
    EXPECT_EQ(segment->view().used_slots(1), 2u);
}

TEST(Create, AFullFolderIsAnErrorWithAHint) {
    SegmentRequest request = bundled_programs();
    request.maps[0].capacity = 1u << 26;  // 63 GiB twice: under the format's limit of 64 GiB of values
    request.maps[0].shards = 63;
    if (std::filesystem::space("/dev/shm").available > segment_bytes(request))
        GTEST_SKIP() << "/dev/shm has over 126 GiB";
    const Result<OwnedSegment> segment = OwnedSegment::create(request);
    ASSERT_FALSE(segment);
    EXPECT_EQ(segment.error().code, "EGPU-X010");
    EXPECT_THAT(segment.error().message, testing::MatchesRegex(".* has [0-9]+ MB free, a session needs [0-9]+ MB"));
    ASSERT_FALSE(segment.error().hints.empty());
    EXPECT_THAT(segment.error().hints[0], testing::HasSubstr("docker run --shm-size=1g"));
    EXPECT_THAT(
        list_sessions(),
        testing::Not(testing::Contains(testing::Field(&SessionInfo::host_pid, static_cast<std::uint32_t>(getpid())))));
}

TEST(Create, RefusesWhatCantBeLaidOut) {
    for (const MapDescription& bad :
         {MapDescription{"m", 4, 0, 1, 1, false}, MapDescription{"m", 0, 8, 1, 1, false},
          MapDescription{"m", 4, 8, 0, 1, false}, MapDescription{"m", 4, 8, 1, 0, false},
          MapDescription{"m", 4, 1u << 21, 1, 1, true}, MapDescription{"m", 4, 1u << 20, 1u << 26, 4096, true}}) {
        SegmentRequest request;
        request.maps = {bad};
        const Result<OwnedSegment> segment = OwnedSegment::create(request);
        ASSERT_FALSE(segment);
        EXPECT_EQ(segment.error().code, "EGPU-X012");
    }
    SegmentRequest many;
    many.maps.assign(65, {"m", 4, 8, 1, 1, false});
    EXPECT_FALSE(OwnedSegment::create(many));
}

// A child that makes a segment and is killed with SIGKILL.
pid_t killed_holder() {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        Result<OwnedSegment> segment = OwnedSegment::create(bundled_programs());
        const char done = segment ? 1 : 0;
        (void)!write(ready[1], &done, 1);
        pause();
        _exit(1);
    }
    char made = 0;
    EXPECT_EQ(read(ready[0], &made, 1), 1);
    EXPECT_EQ(made, 1);
    kill(child, SIGKILL);
    close(ready[0]);
    close(ready[1]);
    return child;
}

TEST(Sessions, AKilledHolderIsSeenAsDeadAndCleanedUp) {
    const pid_t child = killed_holder();
    const std::string name = "egpu-" + std::to_string(getuid()) + "-" + std::to_string(child);
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(std::filesystem::exists(file_of(name)));
    Mapping reader;
    EXPECT_EQ(reader.open(name, Writable::no, egpu_segment_build_id()), AccessError::none) << "still readable";
    bool listed = false;
    for (const SessionInfo& session : list_sessions())
        if (session.name == name) {
            listed = true;
            EXPECT_FALSE(session.host_alive);
            EXPECT_TRUE(session.readable);
        }
    EXPECT_TRUE(listed);
    EXPECT_THAT(remove_stale_segments(), testing::Contains(name));
    EXPECT_FALSE(std::filesystem::exists(file_of(name)));
}

TEST(Sessions, OfAnotherBuildAreToldFromDamagedOnes) {
    Result<OwnedSegment> segment = OwnedSegment::create(bundled_programs());
    ASSERT_TRUE(segment);
    egpu_segment_header& header = segment->view().header();
    const auto listed = [&] {
        for (const SessionInfo& session : list_sessions())
            if (session.name == segment->name())
                return session;
        return SessionInfo{};
    };
    EXPECT_TRUE(listed().readable);
    ++header.build_id;
    EXPECT_TRUE(listed().other_build);
    EXPECT_FALSE(listed().readable);
    --header.build_id;
    ++header.layout_version;
    EXPECT_TRUE(listed().other_build);
    --header.layout_version;
    const std::uint32_t capacity = std::exchange(header.kernel_capacity, 0xffffffff);
    EXPECT_FALSE(listed().other_build);
    EXPECT_FALSE(listed().readable);
    EXPECT_TRUE(listed().is_segment);
    header.kernel_capacity = capacity;
    EXPECT_TRUE(listed().readable);
}

TEST(Sessions, LivingOnesStay) {
    Result<OwnedSegment> segment = OwnedSegment::create(bundled_programs());
    ASSERT_TRUE(segment);
    EXPECT_THAT(remove_stale_segments(), testing::Not(testing::Contains(segment->name())));
    EXPECT_TRUE(std::filesystem::exists(file_of(segment->name())));
}

TEST(Mapping, RefusesNamesAndFilesThatAreNone) {
    Mapping mapping;
    for (const char* bad : {"", "egpu-", "other", "egpu-../etc", "/egpu-1", "egpu-1/2", "egpu-A",
                            "egpu-1111111111111111111111111111111111111111111111111111111111111111"})
        EXPECT_EQ(mapping.open(bad, Writable::no, 0), AccessError::not_found) << bad;
    const std::string name = "egpu-" + std::to_string(getuid()) + "-garbage" + std::to_string(getpid());
    const int file = shm_open(("/" + name).c_str(), O_CREAT | O_RDWR, 0600);
    ASSERT_GE(file, 0);
    EXPECT_EQ(mapping.open(name, Writable::no, 0), AccessError::too_short) << "empty";
    ASSERT_EQ(ftruncate(file, 1 << 16), 0);
    EXPECT_EQ(mapping.open(name, Writable::no, 0), AccessError::not_a_segment) << "zeroes";
    close(file);
    shm_unlink(("/" + name).c_str());
}

TEST(Mapping, ATruncatedFileIsRefused) {
    Result<OwnedSegment> segment = OwnedSegment::create(bundled_programs());
    ASSERT_TRUE(segment);
    ASSERT_EQ(truncate(file_of(segment->name()).c_str(), 1 << 20), 0);
    Mapping mapping;
    EXPECT_EQ(mapping.open(segment->name(), Writable::no, egpu_segment_build_id()), AccessError::too_short);
}

TEST(Mapping, UnlinksOnlyTheObjectThatItOpened) {
    auto first = std::make_unique<OwnedSegment>(std::move(*OwnedSegment::create(bundled_programs())));
    Mapping mapping;
    ASSERT_EQ(mapping.open(first->name(), Writable::no, egpu_segment_build_id()), AccessError::none);
    first.reset();
    Result<OwnedSegment> second = OwnedSegment::create(bundled_programs());
    ASSERT_TRUE(second);
    EXPECT_FALSE(mapping.unlink()) << "the name belongs to another object by now";
    EXPECT_TRUE(std::filesystem::exists(file_of(second->name())));
}

}  // namespace
}  // namespace egpu::segment

// SPDX-License-Identifier: Apache-2.0
// Lays a segment out: Boost.Interprocess makes and names the object, posix_fallocate reserves every page before
// anybody maps it (a page that tmpfs can't give later would be SIGBUS in the application).
#include "segment/create/create.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/shared_memory_object.hpp>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "segment/access/shared.hpp"
#include "segment/create/geometry.hpp"
#include "segment/create/sessions.hpp"
#include "segment/layout/build_id.h"

namespace egpu::segment {

namespace bip = boost::interprocess;

namespace {

constexpr const char* kFolder = "/dev/shm";  // where shm_open puts its objects on Linux
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

std::uint64_t rounded_up_mebibytes(std::uint64_t bytes) {
    return (bytes + kMebibyte - 1) / kMebibyte;
}

Diagnostic no_room(std::uint64_t free_bytes, std::uint64_t needed) {
    return error("EGPU-X010",
                 fmt::format("{} has {} MB free, a session needs {} MB", kFolder, free_bytes / kMebibyte,
                             rounded_up_mebibytes(needed)),
                 "docker run --shm-size=1g …   (outside a container: make room in /dev/shm)");
}

std::uint64_t free_bytes_now() {
    struct statvfs status {};
    if (::statvfs(kFolder, &status) != 0)
        return ~std::uint64_t{0};
    return std::uint64_t{status.f_bavail} * status.f_frsize;
}

// Reserves all pages, or says why not. Retried when a signal came in between.
Status reserve(int file, std::uint64_t bytes) {
    int failed = EINTR;
    while (failed == EINTR)
        failed = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
    if (failed == 0)
        return ok();
    if (failed == ENOSPC)
        return no_room(free_bytes_now(), bytes);
    return error("EGPU-X011", fmt::format("shared memory of {} MB can't be reserved: {}", rounded_up_mebibytes(bytes),
                                          std::strerror(failed)));
}

}  // namespace

struct OwnedSegment::State {
    std::string name;
    bip::shared_memory_object object;
    bip::mapped_region region;
    View view;
    std::mutex writing;  // catalogue, keys and maps: the egpu process has several threads
    std::uint64_t reserve_used = 0;
    bool named = false;

    ~State() {
        if (!named)
            return;
        if (view)
            raise(view.header().state, std::uint32_t{EGPU_SESSION_ENDED});
        bip::shared_memory_object::remove(name.c_str());
    }
};

OwnedSegment::OwnedSegment(std::unique_ptr<State> state) : state_(std::move(state)) {}
OwnedSegment::OwnedSegment(OwnedSegment&&) noexcept = default;
OwnedSegment& OwnedSegment::operator=(OwnedSegment&&) noexcept = default;
OwnedSegment::~OwnedSegment() = default;

std::uint64_t segment_bytes(const SegmentRequest& request) {
    return geometry_of(request).bytes;
}

Result<OwnedSegment> OwnedSegment::create(const SegmentRequest& request) {
    if (Status sound = check_request(request); !sound)
        return sound.errors();
    const Geometry geometry = geometry_of(request);
    remove_stale_segments();
    // Said before trying, so that a full folder is not first filled up for the others.
    if (const std::uint64_t free_bytes = free_bytes_now(); free_bytes < geometry.bytes)
        return no_room(free_bytes, geometry.bytes);
    auto state = std::make_unique<State>();
    state->name = fmt::format("egpu-{}-{}", ::getuid(), ::getpid());
    try {
        bip::permissions only_this_user(0600);
        state->object =
            bip::shared_memory_object(bip::create_only, state->name.c_str(), bip::read_write, only_this_user);
        state->named = true;
        if (Status reserved = reserve(state->object.get_mapping_handle().handle, geometry.bytes); !reserved)
            return reserved.errors();
        state->region = bip::mapped_region(state->object, bip::read_write, 0, geometry.bytes);
    } catch (const bip::interprocess_exception& failure) {
        return error("EGPU-X011", fmt::format("the shared memory {} can't be made: {}", state->name, failure.what()));
    }
    lay_out(static_cast<std::byte*>(state->region.get_address()), request, geometry);
    const AccessError checked =
        View::open(state->region.get_address(), geometry.bytes, egpu_segment_build_id(), &state->view);
    if (checked != AccessError::none)
        return error("EGPU-X012", fmt::format("a segment laid out for this session {}", to_text(checked)));
    return OwnedSegment(std::move(state));
}

const std::string& OwnedSegment::name() const {
    return state_->name;
}

const View& OwnedSegment::view() const {
    return state_->view;
}

void OwnedSegment::beat() {
    store_release(state_->view.header().host_heartbeat_ns, monotonic_ns());
}

bool OwnedSegment::publish_catalogue(std::string_view json) {
    const std::lock_guard lock(state_->writing);
    egpu_segment_header& header = state_->view.header();
    const std::uint32_t which = (header.catalogue_index & 1) ^ 1;
    const std::span<std::byte> place = state_->view.catalogue(which);
    if (json.size() > place.size())
        return false;
    // Raised before the first byte: a reader still at this buffer, current two versions ago, reads again.
    store_release(header.catalogue_version, header.catalogue_version + 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    std::memcpy(place.data(), json.data(), json.size());
    store_relaxed(header.catalogue_bytes[which], std::uint64_t{json.size()});
    store_release(header.catalogue_index, which);
    return true;
}

std::uint32_t OwnedSegment::publish_key(std::uint32_t map, std::span<const std::byte> key) {
    const std::lock_guard lock(state_->writing);
    const MapGeometry& geometry = state_->view.geometry(map);
    egpu_map_entry& entry = state_->view.map(map);
    const std::uint32_t slot = load_relaxed(entry.used_slots);
    if (slot >= geometry.capacity || key.size() != geometry.key_bytes || geometry.is_array) {
        add_relaxed(entry.refused_keys, std::uint32_t{1});
        return geometry.capacity;
    }
    std::memcpy(state_->view.keys(map).data() + std::size_t{slot} * geometry.key_bytes, key.data(), key.size());
    store_release(entry.used_slots, slot + 1);
    return slot;
}

std::uint64_t OwnedSegment::reserve_left() const {
    return state_->view.reserve().size() - state_->reserve_used;
}

Status OwnedSegment::add_maps(const std::vector<MapDescription>& maps) {
    const std::lock_guard lock(state_->writing);
    egpu_segment_header& header = state_->view.header();
    const std::uint32_t before = state_->view.map_count();
    if (before + maps.size() > EGPU_SEGMENT_MAX_MAPS)
        return error("EGPU-X013", fmt::format("a session holds at most {} maps", EGPU_SEGMENT_MAX_MAPS));
    const std::uint64_t free_bytes = reserve_left();
    std::uint64_t end = state_->reserve_used;
    std::vector<MapPlace> places;
    for (const MapDescription& map : maps) {
        if (Status sound = check_map(map); !sound)
            return sound;
        places.push_back(place_in_reserve(map, header.reserve, end, &end));
    }
    if (end > header.reserve.bytes)
        return error("EGPU-X013",
                     fmt::format("its maps need {} KiB, {} KiB are left for probes that are added",
                                 (end - state_->reserve_used + 1023) / 1024, free_bytes / 1024),
                     "egpu run --reserve \"16 MiB\" keeps more room; a smaller max_entries needs less");
    for (std::size_t i = 0; i < maps.size(); ++i)
        state_->view.map(static_cast<std::uint32_t>(before + i)) =
            map_entry(static_cast<std::byte*>(state_->region.get_address()), maps[i], places[i]);
    state_->reserve_used = end;
    store_release(header.map_count, static_cast<std::uint32_t>(before + maps.size()));
    state_->view.refresh();
    return ok();
}

std::string read_catalogue(const View& view) {
    constexpr int kTries = 16;
    const egpu_segment_header& header = view.header();
    for (int attempt = 0; attempt < kTries; ++attempt) {
        const std::uint32_t version = load_acquire(header.catalogue_version);
        const std::uint32_t which = load_acquire(header.catalogue_index) & 1;
        const std::uint64_t bytes = load_relaxed(header.catalogue_bytes[which]);
        const std::span<const std::byte> place = view.catalogue(which);
        if (bytes > place.size())
            return {};
        std::string text(reinterpret_cast<const char*>(place.data()), bytes);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        // Unchanged: what was being written meanwhile, if anything, is the other buffer.
        if (load_acquire(header.catalogue_version) == version)
            return text;
    }
    return {};
}

}  // namespace egpu::segment

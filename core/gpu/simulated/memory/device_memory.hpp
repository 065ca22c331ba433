// SPDX-License-Identifier: Apache-2.0
// The memory of the simulated GPU: allocations with addresses of their own, checked access from the host, and the
// table that kernels look addresses up in.
//
// Addresses. Device allocations lie in a range that the process keeps free of host mappings, so a device pointer that
// the host dereferences faults as it would with a real GPU. Host memory mapped in (pinned, managed, registered) keeps
// its host address, as under unified addressing. Address 0 to 64 KiB is never valid. Between two device allocations
// there are at least 256 bytes that belong to nobody.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "gpu/simulated/memory/image_objects.hpp"

namespace egpu::simulated {

/// The range that device allocations come from (47-bit addresses): a slice for each simulated device.
inline constexpr std::uint64_t kDeviceBase = 0x4000'0000'0000;
inline constexpr std::uint64_t kDeviceSlice = std::uint64_t{1} << 36;
inline constexpr std::uint32_t kDeviceSlices = 64;
/// Windows of the generic address space, each 4 GiB, outside of what a host process maps.
inline constexpr std::uint64_t kSharedWindow = 0x3F00'0000'0000;
inline constexpr std::uint64_t kLocalWindow = 0x3F01'0000'0000;
inline constexpr std::uint64_t kParameterWindow = 0x3F02'0000'0000;
/// Addresses of device functions: this + module * 2^20 + 16 * index.
inline constexpr std::uint64_t kFunctionWindow = 0x3E00'0000'0000;
inline constexpr std::uint64_t kLowestAddress = 0x1'0000;
inline constexpr std::uint64_t kRedZone = 256;

enum class AllocationKind {
    device,    ///< cuMemAlloc and the like
    host,      ///< host memory mapped in
    variable,  ///< a .global variable of a module
    constant,  ///< a .const variable of a module: kernels can't write it
    heap,      ///< malloc in a kernel
};

/// What is known of one allocation. `host` is where its bytes are in this process.
struct Allocation {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::byte* host = nullptr;
    AllocationKind kind = AllocationKind::device;
    std::string name;  ///< variable name; empty for most

    bool writable_by_kernels() const { return kind != AllocationKind::constant; }
    bool contains(std::uint64_t at, std::uint64_t size) const {
        return at >= address && size <= bytes && at - address <= bytes - size;
    }
};

/// All memory of one simulated device. Thread-safe.
class DeviceMemory {
public:
    /// At most kDeviceSlice / 2 bytes are given out.
    explicit DeviceMemory(std::uint64_t capacity = std::uint64_t{8} << 30);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    /// Zeroed memory. Alignment is a power of two, 256 at least. 0 bytes, too many bytes: an error.
    Result<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment = 256,
                                   AllocationKind kind = AllocationKind::device, std::string name = {});
    /// Frees an allocation made by `allocate`; its first address only. The bytes stay readable to launches and copies
    /// in progress until they end, but are found no more.
    Status release(std::uint64_t address);

    /// Makes host memory reachable for kernels at its host address. Overlap with another mapping is an error.
    Status map_host(void* pointer, std::uint64_t bytes, std::string name = {});
    Status unmap_host(void* pointer);

    Status copy_in(std::uint64_t to, const void* from, std::uint64_t bytes);
    Status copy_out(void* to, std::uint64_t from, std::uint64_t bytes) const;
    Status copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);  ///< may overlap
    /// `count` elements of `width` (1, 2, 4, 8) bytes.
    Status fill(std::uint64_t to, std::uint64_t value, std::uint32_t width, std::uint64_t count);

    /// The allocation that an address lies in.
    std::optional<Allocation> find(std::uint64_t address) const;
    /// Where [address, address + bytes) is in this process; nullptr unless one allocation contains it all. Valid until
    /// the allocation is released, or under a UseGuard.
    std::byte* host_pointer(std::uint64_t address, std::uint64_t bytes) const;
    /// Says where an address is in terms of allocations: "4 bytes past the end of the allocation at 0x... of 1024
    /// bytes".
    std::string describe(std::uint64_t address) const;

    std::uint64_t capacity() const { return capacity_; }
    /// Bytes in device allocations (host mappings don't count).
    std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }

    /// Bytes that malloc in kernels holds.
    std::uint64_t heap_used() const { return heap_used_.load(std::memory_order_relaxed); }

    /// Textures and surfaces over this memory.
    ImageObjects& images() { return images_; }
    const ImageObjects& images() const { return images_; }

    /// For kernels: a look-up without copies. The pointer is valid while a UseGuard exists.
    const Allocation* lookup(std::uint64_t address) const;
    /// Changes whenever an allocation goes away: cached look-ups from before are void.
    std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

    /// Held by a launch and by a copy: what is released meanwhile keeps its bytes until the last guard is gone.
    class UseGuard {
    public:
        explicit UseGuard(const DeviceMemory& memory);
        ~UseGuard();
        UseGuard(const UseGuard&) = delete;
        UseGuard& operator=(const UseGuard&) = delete;

    private:
        const DeviceMemory& memory_;
    };

private:
    struct Block;  // an Allocation and the owner of its bytes
    using Blocks = std::map<std::uint64_t, std::unique_ptr<Block>>;

    const Block* containing(std::uint64_t address) const;
    std::optional<std::uint64_t> place(std::uint64_t bytes, std::uint64_t alignment);
    bool overlaps(std::uint64_t address, std::uint64_t bytes) const;
    Diagnostic out_of_range(std::string_view action, std::uint64_t address, std::uint64_t bytes) const;
    std::string describe_locked(std::uint64_t address) const;
    void retire(Blocks::iterator block);

    const std::uint64_t capacity_;
    ImageObjects images_;
    std::atomic<std::uint64_t> used_{0};
    std::atomic<std::uint64_t> heap_used_{0};
    std::atomic<std::uint64_t> generation_{1};
    mutable std::shared_mutex mutex_;
    Blocks blocks_;
    bool reserved_ = false;     ///< the slice is kept free of host mappings
    int slice_ = -1;            ///< -1: all slices are taken, nothing can be allocated
    std::uint64_t begin_ = 0;   ///< of the slice
    std::uint64_t cursor_ = 0;  ///< where the next allocation is looked for: addresses are reused as late as possible
    mutable std::vector<std::unique_ptr<Block>> retired_;
    mutable std::uint32_t uses_ = 0;
};

}  // namespace egpu::simulated

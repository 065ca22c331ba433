// SPDX-License-Identifier: Apache-2.0
// Allocations of the simulated GPU: where they are placed, how they are found, how the host reaches them.
#include "gpu/simulated/memory/device_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bitset>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/units.hpp"

namespace egpu::simulated {
namespace {

constexpr std::uint64_t kLeastAlignment = 256;

struct Release {
    void operator()(std::byte* pointer) const { std::free(pointer); }
};

/// Hands out the slices of the device range; one process may simulate several devices.
class Slices {
public:
    int take() {
        const std::lock_guard lock(mutex_);
        for (std::uint32_t slice = 0; slice < kDeviceSlices; ++slice) {
            if (!taken_[slice]) {
                taken_.set(slice);
                return static_cast<int>(slice);
            }
        }
        return -1;
    }
    void give_back(int slice) {
        const std::lock_guard lock(mutex_);
        taken_.reset(static_cast<std::size_t>(slice));
    }

private:
    std::mutex mutex_;
    std::bitset<kDeviceSlices> taken_;
};

Slices& slices() {
    static Slices* const all = new Slices;  // never destroyed: a DeviceMemory may outlive static destructors
    return *all;
}

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace

struct DeviceMemory::Block {
    Allocation allocation;
    std::unique_ptr<std::byte, Release> owned;  // null for host memory mapped in
};

DeviceMemory::DeviceMemory(std::uint64_t capacity)
    : capacity_(std::min(capacity, kDeviceSlice / 2)), slice_(slices().take()) {
    if (slice_ < 0) {
        return;
    }
    begin_ = kDeviceBase + static_cast<std::uint64_t>(slice_) * kDeviceSlice;
    cursor_ = begin_ + kLeastAlignment;
    // Keeps host mappings out of the slice. Where the kernel refuses (an address space limit, a sanitizer's layout)
    // nothing is lost but the guarantee that a stray host access faults.
    void* const at = reinterpret_cast<void*>(begin_);
    void* const got =
        mmap(at, kDeviceSlice, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) {
        reserved_ = false;
    } else if (got != at) {
        munmap(got, kDeviceSlice);
    } else {
        reserved_ = true;
    }
}

DeviceMemory::~DeviceMemory() {
    if (reserved_) {
        munmap(reinterpret_cast<void*>(begin_), kDeviceSlice);
    }
    if (slice_ >= 0) {
        slices().give_back(slice_);
    }
}

bool DeviceMemory::overlaps(std::uint64_t address, std::uint64_t bytes) const {
    auto next = blocks_.upper_bound(address);
    if (next != blocks_.end() && next->first - address < bytes) {
        return true;
    }
    if (next == blocks_.begin()) {
        return false;
    }
    const Allocation& before = std::prev(next)->second->allocation;
    return address - before.address < before.bytes;
}

/// The next free place at or after the cursor, once around the slice.
std::optional<std::uint64_t> DeviceMemory::place(std::uint64_t bytes, std::uint64_t alignment) {
    const std::uint64_t end = begin_ + kDeviceSlice;
    std::uint64_t at = align_up(cursor_, alignment);
    for (int round = 0; round < 2; ++round) {
        auto next = blocks_.lower_bound(at);
        if (next != blocks_.begin()) {
            const Allocation& before = std::prev(next)->second->allocation;
            if (before.address >= begin_) {
                at = std::max(at, align_up(before.address + before.bytes + kRedZone, alignment));
            }
        }
        while (at < end && bytes + kRedZone <= end - at) {
            if (next == blocks_.end() || next->first >= at + bytes + kRedZone) {
                cursor_ = at + bytes + kRedZone;
                return at;
            }
            const Allocation& there = next->second->allocation;
            at = align_up(there.address + there.bytes + kRedZone, alignment);
            ++next;
        }
        at = align_up(begin_ + kLeastAlignment, alignment);
    }
    return std::nullopt;
}

Result<std::uint64_t> DeviceMemory::allocate(std::uint64_t bytes, std::uint64_t alignment, AllocationKind kind,
                                             std::string name) {
    if (bytes == 0) {
        return error("EGPU-X201", "an allocation of 0 bytes on the simulated GPU");
    }
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kDeviceSlice / 4) {
        return error("EGPU-X201", fmt::format("{} is not an alignment", alignment));
    }
    const std::unique_lock lock(mutex_);
    if (slice_ < 0) {
        return error("EGPU-X202", fmt::format("more than {} simulated devices in one process", kDeviceSlices));
    }
    if (bytes > capacity_ - used()) {
        return error("EGPU-X203",
                     fmt::format("the simulated GPU has {} of {} free, {} were asked for",
                                 format_memory(capacity_ - used()), format_memory(capacity_), format_memory(bytes)));
    }
    auto block = std::make_unique<Block>();
    block->owned.reset(static_cast<std::byte*>(std::calloc(bytes, 1)));
    const auto address = place(bytes, std::max(alignment, kLeastAlignment));
    if (!block->owned || !address) {
        return error("EGPU-X203", fmt::format("no host memory for {} of the simulated GPU", format_memory(bytes)));
    }
    block->allocation = {*address, bytes, block->owned.get(), kind, std::move(name)};
    if (kind == AllocationKind::heap) {
        heap_used_.fetch_add(bytes, std::memory_order_relaxed);
    }
    blocks_.emplace(*address, std::move(block));
    used_.fetch_add(bytes, std::memory_order_relaxed);
    return *address;
}

/// Takes a block out of the table; its bytes go when no launch or copy can be using them.
void DeviceMemory::retire(Blocks::iterator block) {
    generation_.fetch_add(1, std::memory_order_acq_rel);
    if (uses_ > 0) {
        retired_.push_back(std::move(block->second));
    }
    blocks_.erase(block);
}

Status DeviceMemory::release(std::uint64_t address) {
    const std::unique_lock lock(mutex_);
    const auto found = blocks_.find(address);
    if (found == blocks_.end() || !found->second->owned) {
        return error("EGPU-X204",
                     fmt::format("{:#x} is not the start of an allocation: {}", address, describe_locked(address)));
    }
    used_.fetch_sub(found->second->allocation.bytes, std::memory_order_relaxed);
    if (found->second->allocation.kind == AllocationKind::heap) {
        heap_used_.fetch_sub(found->second->allocation.bytes, std::memory_order_relaxed);
    }
    retire(found);
    return ok();
}

Status DeviceMemory::map_host(void* pointer, std::uint64_t bytes, std::string name) {
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    if (address < kLowestAddress || bytes == 0 ||
        bytes > (std::uint64_t{1} << 47) - std::min(address, std::uint64_t{1} << 47)) {
        return error("EGPU-X205",
                     fmt::format("{} bytes at {:#x} can't be mapped into the simulated GPU", bytes, address));
    }
    const std::unique_lock lock(mutex_);
    if (overlaps(address, bytes)) {
        return error("EGPU-X206",
                     fmt::format("host memory at {:#x} is mapped into the simulated GPU already", address));
    }
    auto block = std::make_unique<Block>();
    block->allocation = {address, bytes, static_cast<std::byte*>(pointer), AllocationKind::host, std::move(name)};
    blocks_.emplace(address, std::move(block));
    return ok();
}

Status DeviceMemory::unmap_host(void* pointer) {
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    const std::unique_lock lock(mutex_);
    const auto found = blocks_.find(address);
    if (found == blocks_.end() || found->second->owned) {
        return error("EGPU-X207", fmt::format("host memory at {:#x} is not mapped into the simulated GPU", address));
    }
    retire(found);
    return ok();
}

const DeviceMemory::Block* DeviceMemory::containing(std::uint64_t address) const {
    auto next = blocks_.upper_bound(address);
    if (next == blocks_.begin()) {
        return nullptr;
    }
    const Block* const block = std::prev(next)->second.get();
    return address - block->allocation.address < block->allocation.bytes ? block : nullptr;
}

const Allocation* DeviceMemory::lookup(std::uint64_t address) const {
    const std::shared_lock lock(mutex_);
    const Block* const block = containing(address);
    return block == nullptr ? nullptr : &block->allocation;
}

std::optional<Allocation> DeviceMemory::find(std::uint64_t address) const {
    const std::shared_lock lock(mutex_);
    const Block* const block = containing(address);
    return block == nullptr ? std::nullopt : std::optional(block->allocation);
}

std::byte* DeviceMemory::host_pointer(std::uint64_t address, std::uint64_t bytes) const {
    const std::shared_lock lock(mutex_);
    const Block* const block = containing(address);
    if (block == nullptr || !block->allocation.contains(address, bytes)) {
        return nullptr;
    }
    return block->allocation.host + (address - block->allocation.address);
}

Diagnostic DeviceMemory::out_of_range(std::string_view action, std::uint64_t address, std::uint64_t bytes) const {
    return error("EGPU-X208", fmt::format("{} of {} bytes at {:#x}: {}", action, bytes, address, describe(address)));
}

Status DeviceMemory::copy_in(std::uint64_t to, const void* from, std::uint64_t bytes) {
    if (bytes == 0) {
        return ok();
    }
    const UseGuard guard(*this);
    std::byte* const target = host_pointer(to, bytes);
    if (target == nullptr) {
        return out_of_range("a copy to the simulated GPU", to, bytes);
    }
    std::memcpy(target, from, bytes);
    return ok();
}

Status DeviceMemory::copy_out(void* to, std::uint64_t from, std::uint64_t bytes) const {
    if (bytes == 0) {
        return ok();
    }
    const UseGuard guard(*this);
    const std::byte* const source = host_pointer(from, bytes);
    if (source == nullptr) {
        return out_of_range("a copy from the simulated GPU", from, bytes);
    }
    std::memcpy(to, source, bytes);
    return ok();
}

Status DeviceMemory::copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    if (bytes == 0) {
        return ok();
    }
    const UseGuard guard(*this);
    std::byte* const target = host_pointer(to, bytes);
    const std::byte* const source = host_pointer(from, bytes);
    if (target == nullptr || source == nullptr) {
        return out_of_range("a copy on the simulated GPU", target == nullptr ? to : from, bytes);
    }
    std::memmove(target, source, bytes);
    return ok();
}

Status DeviceMemory::fill(std::uint64_t to, std::uint64_t value, std::uint32_t width, std::uint64_t count) {
    if (width == 0 || width > 8 || (width & (width - 1)) != 0) {
        return error("EGPU-X201", fmt::format("a fill with elements of {} bytes", width));
    }
    if (count == 0) {
        return ok();
    }
    if (count > ~std::uint64_t{0} / width) {
        return out_of_range("a fill on the simulated GPU", to, count);
    }
    const UseGuard guard(*this);
    std::byte* const target = host_pointer(to, count * width);
    if (target == nullptr) {
        return out_of_range("a fill on the simulated GPU", to, count * width);
    }
    if (width == 1) {
        std::memset(target, static_cast<int>(value & 0xff), count);
        return ok();
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        std::memcpy(target + i * width, &value, width);  // little endian: the low bytes
    }
    return ok();
}

std::string DeviceMemory::describe(std::uint64_t address) const {
    const std::shared_lock lock(mutex_);
    return describe_locked(address);
}

std::string DeviceMemory::describe_locked(std::uint64_t address) const {
    const auto said = [](const Allocation& allocation) {
        const std::string kind = allocation.kind == AllocationKind::host ? "the host memory" : "the allocation";
        return allocation.name.empty()
                   ? fmt::format("{} at {:#x} of {} bytes", kind, allocation.address, allocation.bytes)
                   : fmt::format("variable '{}' at {:#x} of {} bytes", allocation.name, allocation.address,
                                 allocation.bytes);
    };
    if (address < kLowestAddress) {
        return "a null pointer plus an offset";
    }
    const auto next = blocks_.upper_bound(address);
    std::uint64_t after_distance = ~std::uint64_t{0};
    if (next != blocks_.begin()) {
        const Allocation& before = std::prev(next)->second->allocation;
        const std::uint64_t offset = address - before.address;
        if (offset < before.bytes) {
            return fmt::format("{} bytes into {}", offset, said(before));
        }
        after_distance = offset - before.bytes;
        if (next == blocks_.end() || next->first - address > after_distance) {
            return after_distance == 0 ? fmt::format("just past the end of {}", said(before))
                                       : fmt::format("{} bytes past the end of {}", after_distance, said(before));
        }
    }
    if (next != blocks_.end()) {
        return fmt::format("{} bytes before {}", next->first - address, said(next->second->allocation));
    }
    return "there are no allocations";
}

DeviceMemory::UseGuard::UseGuard(const DeviceMemory& memory) : memory_(memory) {
    const std::unique_lock lock(memory_.mutex_);
    ++memory_.uses_;
}

DeviceMemory::UseGuard::~UseGuard() {
    const std::unique_lock lock(memory_.mutex_);
    if (--memory_.uses_ == 0) {
        memory_.retired_.clear();
    }
}

}  // namespace egpu::simulated

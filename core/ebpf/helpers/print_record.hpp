// SPDX-License-Identifier: Apache-2.0
// What a call of bpf_printk sends: where it was called, and its numbers. The text stays with the host.
#pragma once

#include <cstddef>
#include <cstdint>

namespace egpu::ebpf {

struct PrintRecord {
    std::uint32_t text = 0;  ///< its place in Object::constants
    std::uint32_t reserved = 0;
    std::uint32_t kernel = 0, site = 0;
    std::uint32_t block[3] = {}, thread[3] = {};
    // numbers of 8 bytes each follow
};
// In words of 64 bits, as code on a GPU writes it (inject/codegen/ring.cpp).
static_assert(offsetof(PrintRecord, kernel) == 8 && offsetof(PrintRecord, block) == 16 &&
              offsetof(PrintRecord, thread) == 28 && sizeof(PrintRecord) == 40);

/// Bytes of a record with so many numbers.
constexpr std::uint32_t print_record_bytes(std::uint32_t numbers) {
    return static_cast<std::uint32_t>(sizeof(PrintRecord)) + 8 * numbers;
}

}  // namespace egpu::ebpf

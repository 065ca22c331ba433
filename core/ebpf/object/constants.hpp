// SPDX-License-Identifier: Apache-2.0
// Global data of an object: read-only sections become one block of constants, `const volatile` variables its options.
#pragma once

#include <map>

#include "ebpf/object/source.hpp"

namespace egpu::ebpf {

struct Constants {
    std::vector<std::byte> bytes;
    std::map<std::uint32_t, std::uint32_t> start_of_section;  ///< ELF section -> where it begins in `bytes`
    std::vector<Option> options;
};

Result<Constants> read_constants(const Source& source);

}  // namespace egpu::ebpf

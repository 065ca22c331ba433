// SPDX-License-Identifier: Apache-2.0
// A file of the public eBPF conformance suite: assembly or raw words, memory, expected result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ebpf/isa/instruction.hpp"

namespace egpu::ebpf {

struct ConformanceFile {
    std::vector<Instruction> program;
    std::vector<std::byte> memory;
    std::optional<std::uint64_t> result;  ///< none: the program must be refused
};

/// An error where a section is missing or can't be read.
Result<ConformanceFile> read_conformance_file(const std::string& path);

/// The folder of the suite: $EGPU_BPF_CONFORMANCE, else beside the source tree.
std::string conformance_folder();

}  // namespace egpu::ebpf

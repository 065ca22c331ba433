// SPDX-License-Identifier: Apache-2.0
// A file of the public eBPF conformance suite (bpf_conformance): assembly or raw words, memory, expected result.
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
    std::vector<std::byte> memory;        ///< r1 points to it, r2 is its length; empty: both are 0
    std::optional<std::uint64_t> result;  ///< none: the program must be refused
};

/// An error where a section is missing or can't be read: EGPU-T001, or the assembler's.
Result<ConformanceFile> read_conformance_file(const std::string& path);

/// Why a program says nothing about an engine, "" where it does: what it does stands outside RFC 9669 (a call through a
/// register), or it calls a helper, whose number means something else to each engine.
std::string outside_the_standard(const std::vector<Instruction>& program);

/// What r0 must be. One file of negative/ expects what no right engine gives: there the result must differ.
struct ConformanceRun {
    std::uint64_t result = 0;
    bool is_misaligned = false;  ///< a load or store at an address that is no multiple of its size
};
/// By the reference interpreter; `memory` is changed as the program changes it. Errors: the program is refused
/// (EGPU-V001) or faults (EGPU-V090).
Result<ConformanceRun> interpret_conformance(const std::vector<Instruction>& program, std::vector<std::byte> memory);

}  // namespace egpu::ebpf

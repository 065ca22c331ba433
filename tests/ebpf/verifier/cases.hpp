// SPDX-License-Identifier: Apache-2.0
// The cases of tests/data/ebpf/verifier (its README says what they hold), made into objects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ebpf/object/object.hpp"
#include "ebpf/verifier/verifier.hpp"

namespace egpu::ebpf::test {

struct Case {
    std::string file, name;
    Object object;  ///< one program, or none where `problem` says why
    std::string problem;
    VerifierOptions options;
    std::string expect;  ///< "accepted" or a code
    std::optional<std::string> message, why, fix;
    std::optional<std::uint32_t> instructions, lookups, atomics, stack, dynamic, searched, register_adds;
    std::optional<std::vector<std::string>> fields, notes;

    const Program& program() const { return object.programs.front(); }
};

/// All cases of all files, in order.
const std::vector<Case>& all_cases();

}  // namespace egpu::ebpf::test

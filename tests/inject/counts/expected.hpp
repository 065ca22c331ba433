// SPDX-License-Identifier: Apache-2.0
// What each event must have counted, worked out from what the simulated GPU says it executed. Which instructions an
// event is about is read here from the opcode's text, not from the tables that the injector uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ebpf/events/events.hpp"
#include "gpu/simulated/executor/profile.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::inject::testing {

struct Count {
    std::uint64_t threads = 0;
    /// Groups of lanes that were there together; none where an instruction's lanes differ in what the event asks for.
    std::optional<std::uint64_t> groups = 0;
};

struct ExecutedInstruction {
    const ptx::Function* function = nullptr;
    const ptx::Instruction* instruction = nullptr;
    std::string opcode;         ///< "ld.global.f32"
    bool begins_block = false;  ///< it stands after a label, or after what branches or leaves
    simulated::Executed executed;
};

/// The instructions of the functions that a profile speaks of, in the order of the text. One that the executor has no
/// count for is a failure of the test.
std::vector<ExecutedInstruction> executed_instructions(const ptx::Module& module, const simulated::Profile& profile);

/// At every event but kernel_entry and kernel_exit.
Count expected_count(const std::vector<ExecutedInstruction>& instructions, const ebpf::InjectionPoint& point);

}  // namespace egpu::inject::testing

// SPDX-License-Identifier: Apache-2.0
// What a kernel executed, counted by the executor itself: what counts of injected programs are held to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/simulated/executor/machine/context.hpp"
#include "gpu/simulated/executor/machine/kernel.hpp"
#include "gpu/simulated/executor/machine/program.hpp"

namespace egpu::simulated {

/// One PTX instruction. A group is the lanes of a warp that are at a place together.
struct Executed {
    std::uint32_t offset = 0;                         ///< where the instruction begins in the module's text
    std::uint64_t groups_there = 0, lanes_there = 0;  ///< came to it, whatever its guard says
    std::uint64_t groups = 0, lanes = 0;  ///< executed it: groups of which some lane, lanes whose guard held
    /// Of an access by generic address, the lanes whose address is in these spaces; the others are in global memory.
    std::uint64_t shared = 0, local = 0, parameter = 0;
};

/// The counts of one kernel over all launches that name this profile in their environment; launches may run at once.
class Profile {
public:
    explicit Profile(std::shared_ptr<const Kernel> kernel);
    Profile(const Profile&) = delete;
    Profile& operator=(const Profile&) = delete;

    /// By the executor: a path comes to `pc` with the lanes `there`, of which `active` execute.
    void count(const Context& context, std::uint32_t pc, Mask there, Mask active);

    /// Every PTX instruction of the kernel and of the functions that it can reach, executed or not.
    std::vector<Executed> instructions() const;

private:
    struct Counts {
        std::atomic<std::uint64_t> groups_there{0}, lanes_there{0}, groups{0}, lanes{0}, shared{0}, local{0},
            parameter{0};
    };
    std::shared_ptr<const Kernel> kernel_;
    std::vector<Counts> counts_;        ///< by pc; spaces stand at the PTX instruction's first
    std::vector<std::uint32_t> first_;  ///< by pc: where its PTX instruction begins
};

}  // namespace egpu::simulated

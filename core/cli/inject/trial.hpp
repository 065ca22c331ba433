// SPDX-License-Identifier: Apache-2.0
// A session in small, for trying programs on kernels where no session is: one object of programs, its array laid out.
#pragma once

#include <string>
#include <vector>

#include "base/sampling.hpp"
#include "cli/inject/kinds.hpp"
#include "inject/clone/clone.hpp"
#include "maps/layout/layout.hpp"

namespace egpu::cli {

class Trial {
public:
    /// Which programs of which objects run: (object, index of the program). Objects outlive the trial.
    void add(const ebpf::Object& object, std::size_t program);
    Result<inject::InstrumentedCopy> copy_of(const ptx::Module& module, const std::string& kernel,
                                             bool spare_wgmma = false) const;
    /// The programs run in some blocks or warps only.
    void sample(const Sampling& sampling) { sampling_ = sampling; }
    const std::vector<inject::ProbeProgram>& programs() const { return programs_; }

private:
    std::vector<inject::ProbeProgram> programs_;
    Sampling sampling_;
    std::vector<const ebpf::Object*> objects_;
    std::vector<std::uint32_t> bases_;  ///< of the objects' maps
    std::vector<maps::Layout> layouts_;
};

}  // namespace egpu::cli

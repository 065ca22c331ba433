// SPDX-License-Identifier: Apache-2.0
// From a kernel to its instrumented copy: a module of its own with one entry, the device functions it calls, the
// original's variables by address (DESIGN 6).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/sampling.hpp"
#include "ebpf/object/object.hpp"
#include "ebpf/specializer/specializer.hpp"
#include "inject/clone/constants.hpp"
#include "inject/codegen/codegen.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::inject {

/// A verified program that is to run in a kernel.
struct ProbeProgram {
    const ebpf::Object* object = nullptr;
    const ebpf::Program* program = nullptr;
    std::uint32_t map_base = 0;  ///< index of the object's map 0 among the session's maps
    std::uint32_t probe = 0;     ///< index among the session's probes, given back in SiteRecord
    bool sampled = false;        ///< runs where CopyRequest::sampling says; else everywhere
};

/// A site that got a number: what `egpu_site_id_t` shows.
struct SiteRecord {
    std::uint32_t site_id = 0;
    std::uint32_t kernel_id = 0;
    std::string file;  ///< "gather.cu"; "" without line information
    std::uint32_t line = 0;
    std::string opcode;    ///< "ld.global.f32"
    std::string function;  ///< device function or the kernel itself
};

struct CopyRequest {
    const ptx::Module* module = nullptr;
    std::string entry;  ///< mangled name
    std::uint32_t kernel_id = 0;
    std::vector<ProbeProgram> programs;
    const std::vector<maps::Layout>* layouts = nullptr;           ///< of the session's maps
    ebpf::SlotOfKey slot_of_key;                                  ///< by session map index
    std::function<std::uint32_t(const SiteRecord&)> new_site_id;  ///< gives a number to a site (site_id unset)
    std::uint32_t accumulator_budget = 4;
    /// Nothing at all between wgmma.fence and commit_group: for a second build, where ptxas's advice on the first one
    /// (advice_count in compile.hpp) is more than on the reassembled copy.
    bool spare_wgmma = false;
    /// The device's driver lays tensor maps out as base/tensor_map.hpp has it: the bytes of tensor copies are read
    /// from them. Else no program is told.
    bool tensor_maps_known = false;
    /// Constants that may lie in the copy's own bank do (constants.hpp), and have to be made equal to the original's
    /// before each launch; false: all are read by address.
    bool constants_in_bank = false;
    /// Of the programs that are sampled. Where one of them has a site, the copy has two bodies (bodies.hpp).
    Sampling sampling;
};

struct ProbeOutcome {
    std::uint32_t probe = 0;
    std::uint32_t sites = 0;
    std::vector<Diagnostic> notes;
};

struct InstrumentedCopy {
    std::string ptx;                   ///< the module's text; the entry keeps the original's name
    std::vector<TableEntry> table;     ///< what each word of egpu_table holds
    std::vector<BankedConstant> bank;  ///< constants that the copy has itself
    std::vector<ProbeOutcome> outcomes;
    std::uint32_t sites = 0;
    std::uint32_t accumulators = 0;
    std::uint32_t instructions_added = 0;
    std::uint32_t bodies = 1;             ///< 2: one without the programs that are sampled
    std::uint32_t warps_of_a_group = 1;   ///< that take one body together, where warps are sampled
    std::chrono::nanoseconds planning{};  ///< of the time that build_copy took: finding sites, specialising programs
};

/// EGPU-P2xx where the kernel is refused (indirect calls, textures, address of a function, ...). A kernel that no
/// program matches gives a copy with `sites` 0: nothing to load.
Result<InstrumentedCopy> build_copy(const CopyRequest& request);

/// The same module text with the same pruning and global addressing but no probe: the *reassembled* column. Constants
/// stay in the constant bank where they can: as the original was compiled.
Result<std::string> reassembled_copy(const ptx::Module& module, const std::string& entry);

}  // namespace egpu::inject

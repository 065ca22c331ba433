// SPDX-License-Identifier: Apache-2.0
// From PTX with programs to cubins that a GPU may run in place of the originals (DESIGN 6, rules 3 and 6): compiled as
// the original was; where that costs residency or local memory, compiled again with fewer registers, then without
// sums in registers; where nothing helps, refused with the figures.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/catalogue/residency.hpp"
#include "host/pipeline/assembler.hpp"
#include "inject/clone/clone.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::host {

/// What all kernels of an image have in common.
struct ImageBuild {
    std::shared_ptr<const ptx::Module> module;
    inject::CompileOptions options;
    std::uint32_t architecture = 0;  ///< number of options.architecture
};

/// What is known of a piece of code; of the original from its cubin.
struct CodeFigures {
    std::uint32_t registers = 0;
    std::uint32_t local_bytes = 0;
    std::uint32_t static_shared_bytes = 0;
};

/// How a copy is built.
struct Knobs {
    bool spare_wgmma = false;
    bool capped = false;  ///< to the original's registers
    bool accumulators = true;
    bool constants_in_bank = false;  ///< those that may be; else all are read by address
};

struct Attempt {
    Knobs knobs;
    inject::InstrumentedCopy copy;
    std::optional<inject::Compiled> compiled;
};

/// One kernel on its way. `rebuild` gives the copy for other knobs; sites keep their numbers.
struct CopyBuild {
    std::uint32_t kernel_id = 0;
    std::string entry;
    BlockBounds bounds;
    std::optional<CodeFigures> original;  ///< of the cubin that runs; nullopt: the driver compiles it
    std::function<Result<inject::InstrumentedCopy>(const Knobs&)> rebuild;

    // What comes out:
    Attempt chosen;  ///< compiled is set unless refused
    /// The same with its constants in its own bank, for launches before which that can be refreshed (constants.hpp).
    std::optional<Attempt> banked;
    std::uint32_t first_registers = 0;  ///< of the first attempt that was compiled: without a cap
    std::optional<Diagnostic> refusal;
    bool failed = false;  ///< with `refusal`: not a decision but an accident
    std::optional<inject::Compiled> reassembled;
    std::vector<std::string> notes;
    std::size_t common_notes = 0;  ///< the first so many are of the compiler, not of a form
};

/// Builds all of them, each as often as it takes.
void build_copies(Assembler& assembler, const inject::Compiler& compiler, const ImageBuild& image,
                  std::vector<CopyBuild>& builds);

/// The copy's text with a limit of registers in its head. Directives win over options, and over what launch bounds
/// allow.
std::string with_register_limit(const std::string& ptx, const std::string& entry, std::uint32_t registers);

}  // namespace egpu::host

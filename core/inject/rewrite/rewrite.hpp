// SPDX-License-Identifier: Apache-2.0
// Programs into the functions of a kernel's copy: at its entry, its exits, its memory instructions, and where a loaded
// value has arrived. All edits are insertions at statement boundaries; the original's instructions stay as they are.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "ebpf/object/object.hpp"
#include "ebpf/specializer/specializer.hpp"
#include "inject/codegen/codegen.hpp"
#include "maps/layout/layout.hpp"
#include "ptx/syntax/edit.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::inject {

/// A program attached to the kernel.
struct AttachedProgram {
    const ebpf::Object* object = nullptr;
    const ebpf::Program* program = nullptr;
    std::uint32_t map_base = 0;  ///< index of the object's map 0 among the session's maps
};

/// A site before it has a number.
struct SiteDescription {
    std::string file;
    std::uint32_t line = 0;
    std::string opcode;
    std::string function;
};

/// A place that has one number, whatever programs run there: function, instruction (null: its entry or exit), event.
using SitePlace = std::pair<const ptx::Function*, std::pair<const ptx::Instruction*, ebpf::Event>>;
using SiteNumbers = std::map<SitePlace, std::uint32_t>;

struct RewriteRequest {
    const ptx::Module* module = nullptr;
    std::vector<const ptx::Function*> functions;  ///< the entry first
    std::uint32_t kernel_id = 0;
    std::vector<AttachedProgram> programs;
    const std::vector<maps::Layout>* layouts = nullptr;
    ebpf::SlotOfKey slot_of_key;  ///< by session map index
    std::function<std::uint32_t(const SiteDescription&)> number_site;
    SiteNumbers* site_numbers = nullptr;  ///< of rewrites of the module before this one, which it adds to; may be null
    std::uint32_t accumulator_budget = 4;
    bool spare_wgmma = false;        ///< nothing between wgmma.fence and commit_group
    bool tensor_maps_known = false;  ///< tensor maps are laid out as base/tensor_map.hpp has it
    Target target;
    Table* table = nullptr;
    /// The register that holds the address of a module variable in a copy; "" where the name itself is used.
    std::function<std::string(const ptx::Function&, std::string_view symbol)> address_register;
    /// The constant variable of the copy's own that a register points into; "" for any other register.
    std::function<std::string_view(const ptx::Function&, std::string_view register_name)> banked_constant;
    /// Text for the start of a function, before everything else.
    std::function<std::string(const ptx::Function&)> function_start;
};

/// What became of one program, in the order of RewriteRequest::programs.
struct ProgramOutcome {
    std::uint32_t sites = 0;
    std::vector<Diagnostic> notes;
};

struct RewriteResult {
    std::vector<ProgramOutcome> outcomes;
    std::uint32_t sites = 0;  ///< places in the kernel at which some program runs
    std::uint32_t accumulators = 0;
    std::uint32_t instructions_added = 0;
    Target required;                      ///< the .version that the text needs
    std::chrono::nanoseconds planning{};  ///< until all firings were known
};

Result<RewriteResult> rewrite(const RewriteRequest& request, ptx::Editor& editor);

}  // namespace egpu::inject

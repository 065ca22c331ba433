// SPDX-License-Identifier: Apache-2.0
// Is this PTX the source of that code? The same compiler, given the same options, says (DESIGN 6, rule 1). And what the
// code would need without programs. Both are found out in the background, from nothing of the pipeline's, which goes on
// meanwhile.
#pragma once

#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "host/pipeline/assembler.hpp"
#include "host/pipeline/background.hpp"
#include "host/pipeline/copies.hpp"
#include "ptx/fatbin/image.hpp"

namespace egpu::host {

/// Kernel by its mangled name to the hash of its machine code. Empty where the bytes are no cubin.
std::map<std::string, ContentHash> code_of_kernels(std::span<const std::byte> cubin);

/// What proof needs of the code that runs.
struct RunningCode {
    std::string tool_version;                   ///< of the compiler that made it
    std::map<std::string, ContentHash> hashes;  ///< by mangled name
};
RunningCode running_code(const ptx::CubinMember& cubin);

struct ProofRequest {
    std::string text;
    inject::CompileOptions options;
    RunningCode code;
    std::vector<std::pair<std::uint32_t, std::string>> kernels;  ///< id, mangled name
};
/// Whether each of the kernels is proved, or why not; nothing where it was stopped.
std::vector<KernelInsight> prove(Assembler& assembler, const inject::Compiler& compiler, const ProofRequest& request,
                                 const std::stop_token& stop);

/// What the copy without programs needs.
std::vector<KernelInsight> reassemble(Assembler& assembler, const inject::Compiler& compiler, const ImageBuild& image,
                                      std::uint32_t kernel_id, const std::string& entry, const std::stop_token& stop);

}  // namespace egpu::host

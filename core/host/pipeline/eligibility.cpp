// SPDX-License-Identifier: Apache-2.0
#include "host/pipeline/eligibility.hpp"

#include <set>

#include <fmt/format.h>

namespace egpu::host {
namespace {

std::string architecture_name(std::uint32_t architecture, char suffix) {
    return suffix == 0 ? fmt::format("{}", architecture) : fmt::format("{}{}", architecture, suffix);
}

}  // namespace

ptx::Choice choose_for(const ptx::Image& image, std::uint32_t architecture, bool simulated) {
    ptx::Choice choice = ptx::choose(image, architecture);
    if (simulated)
        choice.cubin = nullptr;
    return choice;
}

std::optional<Diagnostic> source_mismatch(const ptx::Image& image, const ptx::Choice& choice) {
    if (image.relocatable) {
        auto refused =
            error("EGPU-A010", "built with -rdc: copies of relocatable code are not available in this version");
        refused.fix = "build it without -rdc=true";
        return refused;
    }
    if (choice.cubin == nullptr || choice.ptx == nullptr)
        return std::nullopt;
    const auto& cubin = *choice.cubin;
    const auto& ptx = *choice.ptx;
    if (cubin.virtual_architecture == 0) {
        auto refused = error("EGPU-A011", fmt::format("the running code for sm_{} does not say which PTX it comes from",
                                                      architecture_name(cubin.architecture, cubin.suffix)));
        refused.fix = "build it with a CUDA Toolkit of version 12 or later";
        return refused;
    }
    if (cubin.virtual_architecture != ptx.architecture || cubin.suffix != ptx.suffix) {
        auto refused =
            error("EGPU-A012", fmt::format("the PTX is for compute_{}, the running code comes from compute_{}",
                                           architecture_name(ptx.architecture, ptx.suffix),
                                           architecture_name(cubin.virtual_architecture, cubin.suffix)));
        refused.fix = fmt::format("add -gencode arch=compute_{0},code=compute_{0} to its build",
                                  architecture_name(cubin.virtual_architecture, cubin.suffix));
        return refused;
    }
    return std::nullopt;
}

std::vector<std::pair<std::string, const ptx::CubinMember*>> cubin_kernels(const ptx::Image& image,
                                                                           const ptx::Choice& choice) {
    std::vector<std::pair<std::string, const ptx::CubinMember*>> kernels;
    std::set<std::string> seen;
    for (const auto& cubin : image.cubins) {
        if (choice.cubin != nullptr && &cubin != choice.cubin)
            continue;
        for (const auto& kernel : cubin.kernels)
            if (seen.insert(kernel.name).second)
                kernels.emplace_back(kernel.name, &cubin);
    }
    return kernels;
}

std::string no_ptx_reason(const ptx::Image& image, const ptx::CubinMember& cubin) {
    std::string others;
    for (const auto& member : image.cubins)
        if (&member != &cubin)
            others += fmt::format(", sm_{}", architecture_name(member.architecture, member.suffix));
    if (image.ptx.empty())
        return fmt::format("cubin for sm_{}{} only", architecture_name(cubin.architecture, cubin.suffix), others);
    return fmt::format("cubin for sm_{}; its PTX does not fit this device",
                       architecture_name(cubin.architecture, cubin.suffix));
}

std::optional<std::uint32_t> registers_of(const ptx::CubinMember& cubin, const std::string& kernel) {
    for (const auto& entry : cubin.kernels)
        if (entry.name == kernel && entry.registers != 0)
            return entry.registers;
    return std::nullopt;
}

std::string architecture_suffix(const ptx::Module& module) {
    if (module.target.ends_with('a'))
        return "a";
    return module.target.ends_with('f') ? "f" : "";
}

}  // namespace egpu::host

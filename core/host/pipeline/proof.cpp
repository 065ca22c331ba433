// SPDX-License-Identifier: Apache-2.0
// A kernel's instructions are its section .text.NAME; constants that the compiler made for it are .nv.constant2.NAME
// (up to 12.x) or part of the instructions. Functions that are called stand behind their kernel in the same section.
#include "host/pipeline/proof.hpp"

#include <fmt/format.h>

#include "host/pipeline/eligibility.hpp"
#include "inject/clone/clone.hpp"
#include "ptx/fatbin/elf.hpp"

namespace egpu::host {
namespace {}  // namespace

std::map<std::string, ContentHash> code_of_kernels(std::span<const std::byte> cubin) {
    constexpr std::string_view kText = ".text.", kConstants = ".nv.constant2.";
    std::map<std::string, ContentHash> code;
    const auto file = ptx::read_elf(cubin);
    if (!file || file->machine != ptx::kElfMachineCuda)
        return code;
    for (const auto& section : file->sections) {
        if (!section.name.starts_with(kText))
            continue;
        const std::string name(section.name.substr(kText.size()));
        std::vector<std::byte> bytes(section.data.begin(), section.data.end());
        if (const auto* constants = file->section(std::string(kConstants) + name))
            bytes.insert(bytes.end(), constants->data.begin(), constants->data.end());
        code.emplace(name, content_hash(bytes));
    }
    return code;
}

RunningCode running_code(const ptx::CubinMember& cubin) {
    return {cubin.tool_version, code_of_kernels(cubin.bytes)};
}

std::vector<KernelInsight> prove(Assembler& assembler, const inject::Compiler& compiler, const ProofRequest& request,
                                 const std::stop_token& stop) {
    const auto all = [&](const std::string& reason) {
        std::vector<KernelInsight> insights;
        for (const auto& [id, name] : request.kernels)
            insights.emplace_back(id).proof_reason = reason;
        return insights;
    };
    if (compiler.kind != inject::Compiler::Kind::ptxas)
        return all("not proved: that takes ptxas");
    if (request.code.tool_version != compiler.version)
        return all(fmt::format("not proved: it was compiled by ptxas {}, this machine has {}",
                               request.code.tool_version.empty() ? "of an unknown version" : request.code.tool_version,
                               compiler.version));
    const auto whole =
        assembler.compile(compiler, {request.text, request.kernels.front().second, request.options}, stop);
    if (!whole)
        return stop.stop_requested() ? std::vector<KernelInsight>() : all("not proved: " + first_line(whole.error()));
    const auto code = code_of_kernels(whole->cubin);
    std::vector<KernelInsight> insights;
    for (const auto& [id, name] : request.kernels) {
        KernelInsight insight(id);
        const auto ours = code.find(name), theirs = request.code.hashes.find(name);
        const bool same = ours != code.end() && theirs != request.code.hashes.end() && ours->second == theirs->second;
        insight.proof = same ? Proof::proved : Proof::differs;
        if (!same)
            insight.proof_reason = "its PTX, compiled as recorded, gives other code than runs";
        insights.push_back(std::move(insight));
    }
    return insights;
}

std::vector<KernelInsight> reassemble(Assembler& assembler, const inject::Compiler& compiler, const ImageBuild& image,
                                      std::uint32_t kernel_id, const std::string& entry, const std::stop_token& stop) {
    KernelInsight insight(kernel_id);
    const auto text = inject::reassembled_copy(*image.module, entry);
    if (!text)
        return {};
    const auto compiled = assembler.compile(compiler, {*text, entry, image.options}, stop);
    if (!compiled)
        return {};
    insight.registers = compiled->registers;
    insight.spill_bytes = compiled->spill_bytes;
    insight.local_bytes = known_bytes(compiled->stack_bytes);
    return {std::move(insight)};
}

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
// A kernel's instructions are its section .text.NAME; constants that the compiler made for it are .nv.constant2.NAME
// (up to 12.x) or part of the instructions. Functions that are called stand behind their kernel in the same section.
#include "host/pipeline/proof.hpp"

#include <vector>

#include "ptx/fatbin/elf.hpp"

namespace egpu::host {

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

}  // namespace egpu::host

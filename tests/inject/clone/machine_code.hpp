// SPDX-License-Identifier: Apache-2.0
// The instructions of a cubin's kernel k, as far as tests read them. Layout of sm_70 and later, 16 bytes: opcode in
// bits 0 to 11; in the control field the scoreboard that the instruction sets when its result is there (bits 110 to
// 112, 7 is none) and the ones it waits for (bits 116 to 121).
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace egpu::inject::testing {

/// BRA, also on a condition that is the same for the warp (0x947, 0x547).
inline bool is_branch(std::uint32_t opcode) {
    return (opcode & 0x1ff) == 0x147;
}

struct MachineInstruction {
    std::uint32_t opcode = 0, sets = 7, waits = 0;
    std::uint32_t special = 0;  ///< CS2R: the special register
    std::int64_t distance = 0;  ///< BRA: in instructions, from the next one
};

/// Up to sm_89 a branch has its distance in bytes, in bits 32 to 63; from sm_90 on in words, the low 8 bits in bits 16
/// to 23 and the others from bit 34 on. The branch to itself at the end of every kernel tells which.
inline std::int64_t distance_of(std::uint64_t low, bool in_words) {
    const auto high = static_cast<std::int32_t>(low >> 32);
    return in_words ? ((std::int64_t{high} >> 2) * 256 + static_cast<std::int64_t>(low >> 16 & 0xff)) / 4 : high / 16;
}

inline bool is_in_words(std::uint64_t branch_to_itself) {
    return (branch_to_itself >> 16 & 0xff) == 0xfc;
}

/// The code section of kernel k.
inline std::vector<MachineInstruction> code_of(const std::vector<std::byte>& cubin) {
    std::vector<MachineInstruction> code;
    std::vector<std::uint64_t> branches;  // by instruction; 0: it is none
    const auto at = [&]<typename T>(std::size_t offset, T& value) {
        if (offset + sizeof value <= cubin.size())
            std::memcpy(&value, cubin.data() + offset, sizeof value);
    };
    Elf64_Ehdr header{};
    at(0, header);
    Elf64_Shdr names{};
    at(header.e_shoff + sizeof names * header.e_shstrndx, names);
    for (std::size_t number = 0; number < header.e_shnum; ++number) {
        Elf64_Shdr section{};
        at(header.e_shoff + sizeof section * number, section);
        char name[8] = {};
        at(names.sh_offset + section.sh_name, name);
        if (std::memcmp(name, ".text.k", 8) != 0)
            continue;
        for (std::size_t offset = 0; offset + 16 <= section.sh_size; offset += 16) {
            std::uint64_t low = 0, high = 0;
            at(section.sh_offset + offset, low);
            at(section.sh_offset + offset + 8, high);
            code.push_back({static_cast<std::uint32_t>(low & 0xfff), static_cast<std::uint32_t>(high >> 46 & 7),
                            static_cast<std::uint32_t>(high >> 52 & 63), static_cast<std::uint32_t>(high >> 8 & 0xff),
                            0});
            branches.push_back(is_branch(code.back().opcode) ? low : 0);
        }
    }
    bool in_words = false;
    for (const std::uint64_t branch : branches)
        in_words = branch == 0 ? in_words : is_in_words(branch);  // the last one decides
    for (std::size_t i = 0; i < code.size(); ++i)
        code[i].distance = branches[i] == 0 ? 0 : distance_of(branches[i], in_words);
    return code;
}

}  // namespace egpu::inject::testing

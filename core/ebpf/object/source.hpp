// SPDX-License-Identifier: Apache-2.0
// An object file opened: ELF, BTF and the two tables of .BTF.ext that egpu uses, before anything is made of them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "ebpf/object/btf.hpp"
#include "ebpf/object/elf.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::ebpf {

struct SourceLine {
    std::uint32_t instruction = 0;     ///< in its section
    std::uint32_t file = 0, text = 0;  ///< offsets of BTF strings
    std::uint32_t line = 0, column = 0;
};
/// struct bpf_core_relo of Linux' include/uapi/linux/bpf.h.
struct CoreRelocation {
    std::uint32_t instruction = 0;                 ///< in its section
    std::uint32_t type = 0, access = 0, kind = 0;  ///< type id, offset of a BTF string, enum bpf_core_relo_kind
};
/// What .BTF.ext says of one section; each ascending by instruction.
struct SectionNotes {
    std::vector<SourceLine> lines;
    std::vector<CoreRelocation> core;
};

struct Source {
    std::string path;
    ElfFile elf;
    Btf btf;
    std::map<std::string, SectionNotes, std::less<>> notes;  ///< by section name

    static Result<Source> open(std::span<const std::byte> bytes, const std::string& path);
    const SectionNotes& notes_of(std::string_view section) const;
    /// Puts file, line and the quoted source of an instruction on a diagnostic; the object's path where there is none.
    Diagnostic at(Diagnostic diagnostic, std::string_view section, std::uint32_t instruction) const;
    LineInfo resolve(const SourceLine& line) const;
};

/// Reads .BTF.ext into `notes`.
Status read_notes(Source& source, std::span<const std::byte> data);

}  // namespace egpu::ebpf

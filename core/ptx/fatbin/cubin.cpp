// SPDX-License-Identifier: Apache-2.0
// Cubins are ELF files with machine 190. NVIDIA documents neither their notes nor .nv.info; the layouts below are what
// ptxas 13.0 writes (tests/data/ptx/fatbin), and for the older flags what LLVM's BinaryFormat/ELF.h names EF_CUDA_*.
//
//  e_flags          ABI version 7 and below: bits 0..7 real, 16..23 virtual architecture, bit 11 'a'; 8 and above:
//                   bits 8..15 real, bit 3 'a' (13.0 sets it for sm_90a only where the code needs it)
//  .note.nv.cuinfo  descriptor: u16 version, u16 virtual architecture, u16 toolkit (130 = 13.0)
//  .note.nv.tkinfo  descriptor: u32 version (2), u32 offsets of: object, tool name, tool version, tool build, options;
//                   then the string table they point into
//  .nv.info[.NAME]  records of u8 format, u8 attribute, u16 value; with format 4 the value is the length of what
//  follows .nv.shared.NAME  its size is the static shared memory; from sm_90 on 1,024 bytes of it belong to the system
#include "ptx/fatbin/cubin.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_map>

#include "ptx/fatbin/elf.hpp"

namespace egpu::ptx {
namespace {

constexpr std::uint32_t kNoteCuInfo = 1000, kNoteTkInfo = 2000;
constexpr std::uint8_t kEntryFlag = 0x10;  ///< st_other of a kernel
constexpr std::uint8_t kFormatByte = 2, kFormatSized = 4;
constexpr std::uint8_t kMaximumThreads = 0x05, kRequiredThreads = 0x10, kStackBytes = 0x12, kParameterBytes = 0x19,
                       kRegisterCount = 0x2f;
constexpr std::uint64_t kSystemShared = 1024;

using SectionMap = std::unordered_map<std::string_view, const ElfSection*>;

struct Attribute {
    std::uint8_t attribute = 0;
    std::uint16_t value = 0;
    Bytes data;
};

void for_each_attribute(Bytes info, const std::function<void(const Attribute&)>& visit) {
    for (std::uint64_t at = 0; at + 4 <= info.size();) {
        Attribute attribute;
        const auto format = read_at<std::uint8_t>(info, at);
        attribute.attribute = read_at<std::uint8_t>(info, at + 1);
        attribute.value = read_at<std::uint16_t>(info, at + 2);
        at += 4;
        if (format == kFormatSized) {
            const auto data = part_of(info, at, attribute.value);
            if (!data)
                return;
            attribute.data = *data;
            at += attribute.value;
        } else if (format == kFormatByte) {
            attribute.value &= 0xff;
        } else if (format == 0 || format > kFormatSized) {
            return;  // no format that this reader knows: what follows can't be told apart
        }
        visit(attribute);
    }
}

void for_each_note(Bytes section, const std::function<void(std::uint32_t type, Bytes descriptor)>& visit) {
    const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
    for (std::uint64_t at = 0; at + 12 <= section.size();) {
        const std::uint64_t name = padded(read_at<std::uint32_t>(section, at));
        const std::uint64_t size = read_at<std::uint32_t>(section, at + 4);
        const auto descriptor = part_of(section, at + 12 + name, size);
        if (!descriptor)
            return;
        visit(read_at<std::uint32_t>(section, at + 8), *descriptor);
        at += 12 + name + padded(size);
    }
}

/// "Cuda compilation tools, release 13.0, V13.0.88" -> "13.0"
std::string release_of(std::string_view version) {
    constexpr std::string_view kRelease = "release ";
    const std::size_t begin = version.find(kRelease);
    if (begin == std::string_view::npos)
        return std::string(version);
    version.remove_prefix(begin + kRelease.size());
    return std::string(version.substr(0, version.find(',')));
}

std::string trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(' ');
    return begin == std::string_view::npos ? std::string()
                                           : std::string(text.substr(begin, text.find_last_not_of(' ') + 1 - begin));
}

/// ptxas and nvlink write one note each; ptxas' is the one that says how the code was made.
void read_tool(CubinMember& member, Bytes descriptor) {
    constexpr std::uint64_t kStrings = 24;
    const auto strings = descriptor.size() > kStrings ? descriptor.subspan(kStrings) : Bytes();
    const auto text = [&](std::uint64_t field) { return text_at(strings, read_at<std::uint32_t>(descriptor, field)); };
    member.linked = member.linked || text(8) == "nvlink";
    if (!member.tool_version.empty() && text(8) != "ptxas")
        return;
    member.tool_version = release_of(text(12));
    member.tool_options = trimmed(text(20));
}

void read_notes(CubinMember& member, const SectionMap& sections) {
    if (const auto found = sections.find(".note.nv.cuinfo"); found != sections.end())
        for_each_note(found->second->data, [&](std::uint32_t type, Bytes descriptor) {
            if (type == kNoteCuInfo && descriptor.size() >= 4)
                member.virtual_architecture = read_at<std::uint16_t>(descriptor, 2);
        });
    if (const auto found = sections.find(".note.nv.tkinfo"); found != sections.end())
        for_each_note(found->second->data, [&](std::uint32_t type, Bytes descriptor) {
            if (type == kNoteTkInfo)
                read_tool(member, descriptor);
        });
}

/// 'a' of "-arch sm_90a".
char suffix_of_options(std::string_view options) {
    constexpr std::string_view kArch = "-arch sm_";
    const std::size_t begin = options.find(kArch);
    if (begin == std::string_view::npos)
        return 0;
    const std::size_t end = options.find_first_not_of("0123456789", begin + kArch.size());
    return end != std::string_view::npos && (options[end] == 'a' || options[end] == 'f') ? options[end] : '\0';
}

/// Symbol index to registers and to bytes of stack, of the attributes that hold for the whole cubin.
struct Usage {
    std::unordered_map<std::uint32_t, std::uint32_t> registers, stack;
};

Usage usage_of(const SectionMap& sections) {
    Usage usage;
    const auto found = sections.find(".nv.info");
    if (found == sections.end())
        return usage;
    for_each_attribute(found->second->data, [&](const Attribute& attribute) {
        const auto symbol = read_at<std::uint32_t>(attribute.data, 0);
        const auto value = read_at<std::uint32_t>(attribute.data, 4);
        if (attribute.attribute == kRegisterCount)
            usage.registers[symbol] = value;
        else if (attribute.attribute == kStackBytes)
            usage.stack[symbol] = value;
    });
    return usage;
}

void read_kernel_attributes(CubinKernel& kernel, Bytes info) {
    for_each_attribute(info, [&](const Attribute& attribute) {
        if (attribute.attribute == kParameterBytes)
            kernel.parameter_bytes = attribute.value;
        if (attribute.attribute != kMaximumThreads && attribute.attribute != kRequiredThreads)
            return;
        kernel.block_is_required = attribute.attribute == kRequiredThreads;
        for (std::size_t i = 0; i < kernel.block.size(); ++i)
            kernel.block[i] = read_at<std::uint32_t>(attribute.data, 4 * i);
    });
}

CubinKernel kernel_of(const ElfFile& file, std::uint32_t index, const SectionMap& sections, const Usage& usage,
                      bool has_system_shared) {
    const ElfSymbol& symbol = file.symbols[index];
    CubinKernel kernel;
    kernel.name = std::string(symbol.name);
    if (const auto found = usage.registers.find(index); found != usage.registers.end())
        kernel.registers = found->second;
    else if (symbol.section < file.sections.size())
        kernel.registers = file.sections[symbol.section].info >> 24;  // cubins of older toolkits
    if (const auto found = usage.stack.find(index); found != usage.stack.end())
        kernel.stack_bytes = found->second;
    if (const auto found = sections.find(".nv.shared." + kernel.name); found != sections.end()) {
        const std::uint64_t system = has_system_shared ? std::min(kSystemShared, found->second->size) : 0;
        kernel.static_shared_bytes = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(found->second->size - system, std::numeric_limits<std::uint32_t>::max()));
    }
    if (const auto found = sections.find(".nv.info." + kernel.name); found != sections.end())
        read_kernel_attributes(kernel, found->second->data);
    return kernel;
}

}  // namespace

bool is_cubin(Bytes bytes) {
    return is_elf(bytes) && read_at<std::uint16_t>(bytes, 0x12) == kElfMachineCuda;
}

Result<Cubin> read_cubin(Bytes bytes) {
    const auto file = read_elf(bytes);
    if (!file)
        return file.errors();
    if (file->machine != kElfMachineCuda)
        return error("EGPU-P103", "an ELF file that holds no GPU code where a cubin was expected");
    SectionMap sections;
    for (const ElfSection& section : file->sections)
        sections.emplace(section.name, &section);
    Cubin cubin;
    cubin.relocatable = file->type == kElfRelocatable;
    CubinMember& member = cubin.member;
    const bool new_flags = file->abi_version >= 8;
    member.architecture = new_flags ? file->flags >> 8 & 0xff : file->flags & 0xff;
    member.virtual_architecture = new_flags ? 0 : file->flags >> 16 & 0xff;
    read_notes(member, sections);
    member.suffix = suffix_of_options(member.tool_options);
    if (member.suffix == 0 && (file->flags & (new_flags ? 0x8U : 0x800U)) != 0)
        member.suffix = 'a';
    const Usage usage = usage_of(sections);
    const bool system_shared = member.architecture >= 90 && !cubin.relocatable;  // the linker adds it
    for (std::uint32_t i = 0; i < file->symbols.size(); ++i) {
        const ElfSymbol& symbol = file->symbols[i];
        if (symbol.type == kElfSymbolFunction && (symbol.other & kEntryFlag) != 0 && !symbol.name.empty())
            member.kernels.push_back(kernel_of(*file, i, sections, usage, system_shared));
    }
    return cubin;
}

}  // namespace egpu::ptx

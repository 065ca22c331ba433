// SPDX-License-Identifier: Apache-2.0
#include "host/session/program_file.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace egpu::host {
namespace {

struct ElfFacts {
    bool is_elf = false;
    bool x86_64 = true;
    bool dynamic = false;
    bool device_code = false;      ///< .nvFatBinSegment: registers kernels with a CUDA runtime
    bool imports_runtime = false;  ///< ... of a shared libcudart
};

/// True where the dynamic symbols ask another library for __cudaRegisterFatBinary.
bool imports_register_function(Elf* elf, Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Data* data = ::elf_getdata(section, nullptr);
    if (data == nullptr || header.sh_entsize == 0)
        return false;
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; i < count; ++i) {
        GElf_Sym symbol;
        if (::gelf_getsym(data, i, &symbol) == nullptr)
            return false;
        const char* name = ::elf_strptr(elf, header.sh_link, symbol.st_name);
        if (name != nullptr && symbol.st_shndx == SHN_UNDEF && std::strcmp(name, "__cudaRegisterFatBinary") == 0)
            return true;
    }
    return false;
}

void read_sections(Elf* elf, ElfFacts& facts) {
    std::size_t names = 0;
    if (::elf_getshdrstrndx(elf, &names) != 0)
        return;
    for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (::gelf_getshdr(section, &header) == nullptr)
            continue;
        const char* name = ::elf_strptr(elf, names, header.sh_name);
        if (name != nullptr && std::string_view(name) == ".nvFatBinSegment")
            facts.device_code = true;
        if (header.sh_type == SHT_DYNAMIC)
            facts.dynamic = true;
        if (header.sh_type == SHT_DYNSYM && imports_register_function(elf, section, header))
            facts.imports_runtime = true;
    }
}

std::optional<ElfFacts> read_facts(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return std::nullopt;
    ElfFacts facts;
    ::elf_version(EV_CURRENT);
    if (Elf* elf = ::elf_begin(fd, ELF_C_READ, nullptr)) {
        GElf_Ehdr header;
        if (::elf_kind(elf) == ELF_K_ELF && ::gelf_getehdr(elf, &header) != nullptr) {
            facts.is_elf = true;
            facts.x86_64 = header.e_machine == EM_X86_64 && header.e_ident[EI_CLASS] == ELFCLASS64;
            read_sections(elf, facts);
        }
        ::elf_end(elf);
    }
    ::close(fd);
    return facts;
}

}  // namespace

std::string program_path(const std::string& command) {
    if (command.find('/') != std::string::npos)
        return command;
    const char* path = std::getenv("PATH");
    std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
    while (true) {
        const auto end = rest.find(':');
        const std::string folder(rest.substr(0, end));
        const std::string candidate = (folder.empty() ? "." : folder) + "/" + command;
        struct stat info {};
        if (::access(candidate.c_str(), X_OK) == 0 && ::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode))
            return candidate;
        if (end == std::string_view::npos)
            return {};
        rest.remove_prefix(end + 1);
    }
}

Status check_program(const std::string& path, bool simulated) {
    const auto facts = read_facts(path);
    if (!facts || !facts->is_elf)
        return ok();
    if (!facts->x86_64)
        return error("EGPU-X041",
                     fmt::format("{} is not an x86-64 program: egpu's agent can't be loaded into it", path));
    if (!facts->dynamic)
        return error("EGPU-X042", fmt::format("{} is statically linked: nothing can be preloaded into it", path),
                     "link it dynamically (without -static)");
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) != 0 && ::geteuid() != 0)
        return error("EGPU-X042", fmt::format("{} is set-uid: the loader ignores preloaded libraries for it", path));
    if (simulated && facts->device_code && !facts->imports_runtime)
        return error("EGPU-X040",
                     fmt::format("{} holds the CUDA runtime itself (static cudart, nvcc's default), which accepts no "
                                 "driver but NVIDIA's: it can't run on the simulated GPU",
                                 path),
                     "link it with: nvcc -cudart shared");
    return ok();
}

}  // namespace egpu::host

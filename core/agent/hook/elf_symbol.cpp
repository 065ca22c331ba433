// SPDX-License-Identifier: Apache-2.0
// Walks DT_GNU_HASH (the format is described in binutils' bfd/elflink.c and glibc's elf/dl-lookup.c).
#include "agent/hook/elf_symbol.hpp"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace egpu::agent {

namespace {

// The tables of one loaded object, as its dynamic section names them.
struct Tables {
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    const std::uint32_t* hash = nullptr;
    const ElfW(Half) * versions = nullptr;
};

struct Search {
    const char* name;
    void* found;
};

constexpr ElfW(Half) kHiddenVersion = 0x8000;

bool ends_with(const char* text, const char* end) {
    const std::size_t length = std::strlen(text), wanted = std::strlen(end);
    return length >= wanted && std::strcmp(text + length - wanted, end) == 0;
}

Tables tables_of(const dl_phdr_info& object, const ElfW(Dyn) * entry) {
    Tables tables;
    // glibc relocates these addresses in place for every object but the vDSO.
    const auto address = [&](ElfW(Addr) value) { return value < object.dlpi_addr ? value + object.dlpi_addr : value; };
    for (; entry->d_tag != DT_NULL; ++entry) {
        const ElfW(Addr) at = address(entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB)
            tables.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
        else if (entry->d_tag == DT_STRTAB)
            tables.strings = reinterpret_cast<const char*>(at);
        else if (entry->d_tag == DT_GNU_HASH)
            tables.hash = reinterpret_cast<const std::uint32_t*>(at);
        else if (entry->d_tag == DT_VERSYM)
            tables.versions = reinterpret_cast<const ElfW(Half)*>(at);
    }
    return tables;
}

std::uint32_t gnu_hash(const char* name) {
    std::uint32_t hash = 5381;
    for (; *name != '\0'; ++name)
        hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
}

// The symbol's index, 0 for none. Of several versions the default one.
std::uint32_t index_of(const Tables& tables, const char* name) {
    const std::uint32_t buckets = tables.hash[0], first = tables.hash[1], bloom_words = tables.hash[2];
    const std::uint32_t* bucket = tables.hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
    const std::uint32_t* chain = bucket + buckets;
    const std::uint32_t hash = gnu_hash(name);
    std::uint32_t index = buckets == 0 ? 0 : bucket[hash % buckets];
    if (index < first)
        return 0;
    for (;; ++index) {
        const std::uint32_t other = chain[index - first];
        const bool is_default = tables.versions == nullptr || (tables.versions[index] & kHiddenVersion) == 0;
        const ElfW(Sym)& symbol = tables.symbols[index];
        if ((other | 1) == (hash | 1) && is_default && symbol.st_shndx != SHN_UNDEF &&
            std::strcmp(tables.strings + symbol.st_name, name) == 0)
            return index;
        if ((other & 1) != 0)
            return 0;
    }
}

int look_into(dl_phdr_info* object, std::size_t, void* argument) {
    auto* search = static_cast<Search*>(argument);
    if (object->dlpi_name == nullptr ||
        (!ends_with(object->dlpi_name, "/libc.so.6") && !ends_with(object->dlpi_name, "/libdl.so.2")))
        return 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        if (segment.p_type != PT_DYNAMIC)
            continue;
        const Tables tables =
            tables_of(*object, reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + segment.p_vaddr));
        if (tables.symbols == nullptr || tables.strings == nullptr || tables.hash == nullptr)
            continue;
        const std::uint32_t index = index_of(tables, search->name);
        if (index != 0)
            search->found = reinterpret_cast<void*>(object->dlpi_addr + tables.symbols[index].st_value);
    }
    return search->found != nullptr ? 1 : 0;
}

}  // namespace

void* c_library_function(const char* name) {
    Search search{name, nullptr};
    dl_iterate_phdr(look_into, &search);
    return search.found;
}

}  // namespace egpu::agent

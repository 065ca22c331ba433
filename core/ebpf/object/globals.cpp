// SPDX-License-Identifier: Apache-2.0
// Names as libbpf gives them (internal_map_name in src/libbpf.c of libbpf 1.x), so that a skeleton's and ours agree:
//   .bss of counter.bpf.o       counter.bss
//   .data.limits                .data.limits
#include "ebpf/object/globals.hpp"

#include <elf.h>

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "ebpf/object/shape.hpp"

namespace egpu::ebpf {
namespace {

constexpr std::uint64_t kSectionBytes = std::uint64_t{1} << 20;  // of one value of a map
constexpr std::size_t kVariableLimit = 4096;                     // of a section

std::string map_name(const std::string& path, std::string_view section) {
    constexpr std::size_t kNameBytes = 15, kSuffixBytes = 7;  // BPF_OBJ_NAME_LEN without its NUL; ".rodata"
    if (section.find('.', 1) != std::string_view::npos)
        return std::string(section.substr(0, kNameLimit));
    std::string name = path.substr(path.rfind('/') + 1);
    name = name.substr(0, std::min(name.find('.'), kNameBytes - kSuffixBytes)) + std::string(section);
    for (char& c : name)
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.'))
            c = '_';
    return name;
}

/// Where each variable stands. BTF knows it of static ones only: those that others could see have a symbol.
std::vector<Variable> variables_of(const Source& source, std::uint32_t section) {
    std::unordered_map<std::string_view, std::uint64_t> places;
    for (const auto& symbol : source.elf.symbols())
        if (symbol.section == section && symbol.type == STT_OBJECT && symbol.binding != STB_LOCAL)
            places.emplace(symbol.name, symbol.value);
    std::vector<Variable> variables;
    const auto name = source.elf.sections()[section].name;
    for (std::uint32_t id = 1; id < source.btf.count(); ++id) {
        const btf_type* list = source.btf.type(id);
        if (list == nullptr || Btf::kind(list) != BTF_KIND_DATASEC || source.btf.name(list) != name)
            continue;
        for (const auto& row : Btf::rows<btf_var_secinfo>(list)) {
            const btf_type* variable = source.btf.type(row.type);
            if (variable == nullptr || Btf::kind(variable) != BTF_KIND_VAR || variables.size() > kVariableLimit)
                continue;
            const bool is_static = reinterpret_cast<const btf_var*>(variable + 1)->linkage == BTF_VAR_STATIC;
            const auto place = is_static ? places.end() : places.find(source.btf.name(variable));
            variables.push_back({std::string(source.btf.name(variable)), row.type, variable->type,
                                 place == places.end() ? row.offset : static_cast<std::uint32_t>(place->second),
                                 row.size});
        }
    }
    std::ranges::stable_sort(variables, {}, &Variable::offset);
    return variables;
}

/// Clang calls what it makes of a struct "name.0", "name.1", ...
std::string_view whole_name(std::string_view name) {
    const auto end = name.find_last_not_of("0123456789");
    return end != std::string_view::npos && end != 0 && name[end] == '.' ? name.substr(0, end) : name;
}

Result<TypeShape> shape_of(const Source& source, std::uint32_t section) {
    const auto variables = variables_of(source, section);
    const std::uint64_t room = source.elf.sections()[section].bytes;
    if (variables.size() > kVariableLimit)
        return error("EGPU-B025", fmt::format("a section has more than {} global variables", kVariableLimit),
                     "keep them in an array");
    for (const auto& variable : variables) {
        const auto bytes = source.btf.bytes_of(variable.type);
        // Of one whose values are 0 and another, clang keeps which of both; of a struct, maybe some members.
        if (bytes && variable.held < *bytes)
            return error("EGPU-B025",
                         variable.held == 1 ? fmt::format("clang made a 1-byte flag of '{}'", variable.name)
                                            : fmt::format("clang kept {} of {} bytes of '{}'", variable.held, *bytes,
                                                          whole_name(variable.name)),
                         "declare it volatile, or not static");
        if (!bytes || variable.offset > room || *bytes > room - variable.offset)
            return error("EGPU-B025", fmt::format("'{}' is outside its section", variable.name),
                         "compile it again with clang -target bpf -g -O2");
    }
    return describe(source.btf, variables);
}

/// Of a section with a variable that is set to an address.
Diagnostic holds_address(const Source& source, std::uint32_t section) {
    const auto at = source.elf.relocations(section).front().offset;
    const auto variables = variables_of(source, section);
    const auto behind = std::ranges::upper_bound(variables, at, {}, &Variable::offset);
    if (behind == variables.begin())
        return error("EGPU-B025", "a global variable holds an address", "keep numbers in it, not pointers");
    const auto& variable = *std::prev(behind);
    if (source.btf.tag_of(variable.id, "egpu.help:"))
        return error("EGPU-B025", fmt::format("option '{}' is a pointer", variable.name),
                     "an option is a number, an enum or a bool");
    return error("EGPU-B025", fmt::format("global variable '{}' holds an address", variable.name),
                 "keep numbers in it, not pointers");
}

Result<MapDefinition> definition_of(const Source& source, std::uint32_t index, const std::string& name) {
    const auto& section = source.elf.sections()[index];
    const auto refused = [&](std::string what, std::string hint) {
        auto wrong =
            error("EGPU-B025", fmt::format("global variables of section '{}' {}", name, what), std::move(hint));
        wrong.where.file = source.path;
        return wrong;
    };
    if (section.bytes == 0 || section.bytes > kSectionBytes)
        return refused(fmt::format("have {} bytes", section.bytes), "1 MiB fits; keep more in a map");
    if (!source.elf.relocations(index).empty()) {
        auto wrong = holds_address(source, index);
        wrong.where.file = source.path;
        return wrong;
    }
    MapDefinition map;
    map.name = name;
    map.type = MapType::array;
    map.key_bytes = 4;
    map.max_entries = 1;
    map.value_bytes = static_cast<std::uint32_t>(section.bytes);
    map.key.bytes = 4;
    map.key.fields.push_back({"", 0, 4, 1, false, Role::plain, {}, {}});
    auto value = shape_of(source, index);
    if (!value) {
        auto wrong = value.error();
        if (wrong.code != "EGPU-B025")
            wrong.message = fmt::format("global variables of section '{}': {}", name, wrong.message);
        wrong.where.file = source.path;
        return wrong;
    }
    map.value = *std::move(value);
    map.value.bytes = map.value_bytes;
    if (std::ranges::any_of(section.data, [](std::byte byte) { return byte != std::byte{0}; }))
        map.initial.assign(section.data.begin(), section.data.end());
    return map;
}

}  // namespace

bool is_writable_data(const ElfSection& section) {
    const auto under = [&](std::string_view name) {
        return section.name == name || (section.name.starts_with(name) && section.name[name.size()] == '.');
    };
    return under(".data") || under(".bss") || section.type == SHT_NOBITS;
}

std::vector<MapSource> read_globals(const Source& source) {
    std::vector<MapSource> maps;
    for (std::uint32_t i = 1; i < source.elf.sections().size(); ++i) {
        if (!is_writable_data(source.elf.sections()[i]))
            continue;
        if (maps.size() == kMostVariableSections)
            break;  // the address of a variable in a further one is refused: no map has it
        const auto name = map_name(source.path, source.elf.sections()[i].name);
        maps.push_back({name, i, 0, definition_of(source, i, name), true});
    }
    return maps;
}

}  // namespace egpu::ebpf

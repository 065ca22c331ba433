// SPDX-License-Identifier: Apache-2.0
#include "ebpf/object/constants.hpp"

#include <elf.h>

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

namespace egpu::ebpf {
namespace {

/// Constants of a program: kept in each copy of it, so small.
constexpr std::size_t kConstantsLimit = std::size_t{1} << 20;
constexpr std::size_t kOptionLimit = 256;

bool is_constant_data(const ElfSection& section) {
    return section.type == SHT_PROGBITS && (section.name == ".rodata" || section.name.starts_with(".rodata."));
}

/// The scalar type of a variable that is both const and volatile; nullptr for all others.
const btf_type* option_type(const Btf& btf, std::uint32_t id, std::string& name) {
    bool is_const = false, is_volatile = false;
    for (int depth = 0; depth < 32; ++depth) {
        const btf_type* type = btf.type(id);
        if (type == nullptr)
            return nullptr;
        const auto kind = Btf::kind(type);
        is_const |= kind == BTF_KIND_CONST;
        is_volatile |= kind == BTF_KIND_VOLATILE;
        if (name.empty())
            name = btf.name(type);  // the outermost typedef's, else the plain type's
        if (kind == BTF_KIND_INT || kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64)
            return is_const && is_volatile ? type : nullptr;
        if (kind != BTF_KIND_CONST && kind != BTF_KIND_VOLATILE && kind != BTF_KIND_TYPEDEF &&
            kind != BTF_KIND_TYPE_TAG)
            return nullptr;
        id = type->type;
    }
    return nullptr;
}

std::optional<Option> read_option(const Source& source, std::uint32_t id, const btf_type* variable) {
    Option option;
    const btf_type* type = option_type(source.btf, variable->type, option.type);
    if (type == nullptr || (type->size != 1 && type->size != 2 && type->size != 4 && type->size != 8))
        return std::nullopt;
    option.name = source.btf.name(variable);
    option.bytes = type->size;
    if (Btf::kind(type) == BTF_KIND_INT) {
        const auto encoding = BTF_INT_ENCODING(*reinterpret_cast<const std::uint32_t*>(type + 1));
        option.is_signed = (encoding & BTF_INT_SIGNED) != 0;
        if ((encoding & BTF_INT_BOOL) != 0)
            option.type = "bool";
    }
    option.help = source.btf.tag_of(id, "egpu.help:").value_or("");
    return option;
}

Status read_options(const Source& source, Constants& constants) {
    std::unordered_map<std::string_view, const ElfSymbol*> symbols;
    for (const auto& symbol : source.elf.symbols())
        if (symbol.type == STT_OBJECT && symbol.binding == STB_GLOBAL)
            symbols.emplace(symbol.name, &symbol);
    for (std::uint32_t id = 1; id < source.btf.count(); ++id) {
        const btf_type* variable = source.btf.type(id);
        if (variable == nullptr || Btf::kind(variable) != BTF_KIND_VAR ||
            reinterpret_cast<const btf_var*>(variable + 1)->linkage != BTF_VAR_GLOBAL_ALLOCATED)
            continue;
        auto option = read_option(source, id, variable);
        const auto symbol = option ? symbols.find(option->name) : symbols.end();
        if (symbol == symbols.end())
            continue;
        const auto start = constants.start_of_section.find(symbol->second->section);
        if (start == constants.start_of_section.end())
            continue;
        const auto room = source.elf.sections()[start->first].data.size();
        if (symbol->second->value > room || option->bytes > room - symbol->second->value)
            return error("EGPU-B001", fmt::format("option '{}' is outside its section", option->name));
        if (constants.options.size() == kOptionLimit)
            return error("EGPU-B006", fmt::format("the object has more than {} options", kOptionLimit));
        option->offset = start->second + static_cast<std::uint32_t>(symbol->second->value);
        constants.options.push_back(*std::move(option));
    }
    return ok();
}

}  // namespace

Result<Constants> read_constants(const Source& source) {
    Constants out;
    for (std::size_t i = 1; i < source.elf.sections().size(); ++i) {
        const auto& section = source.elf.sections()[i];
        if (!is_constant_data(section))
            continue;
        const std::size_t start = (out.bytes.size() + 15) / 16 * 16;  // as aligned as any variable of eBPF's C asks
        if (start + section.data.size() > kConstantsLimit)
            return error("EGPU-B006", fmt::format("the object's constants have more than {} bytes", kConstantsLimit));
        out.bytes.resize(start);
        out.bytes.insert(out.bytes.end(), section.data.begin(), section.data.end());
        out.start_of_section.emplace(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(start));
    }
    if (auto status = read_options(source, out); !status)
        return status.errors();
    return out;
}

}  // namespace egpu::ebpf

// SPDX-License-Identifier: Apache-2.0
// Relocation kinds, their values and the instructions they patch: enum bpf_core_relo_kind in Linux'
// include/uapi/linux/bpf.h and Documentation/bpf/llvm_reloc.rst ("CO-RE Relocations").
#include "ebpf/object/core.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/version.hpp"

namespace egpu::ebpf {
namespace {

enum Kind : std::uint32_t {
    kByteOffset = 0,
    kByteSize = 1,
    kFieldExists = 2,
    kSigned = 3,
    kLeftShift = 4,
    kRightShift = 5,
    kTypeExists = 8,
    kTypeSize = 9,
};
constexpr std::size_t kPathLimit = 8;
/// Refusals of a section that are told apart; one is enough to refuse a program.
constexpr std::size_t kRefusalLimit = 64;

/// A field as the object's own header describes it.
struct LocalField {
    ContextKind context = ContextKind::kernel;
    std::string structure, name;  ///< "egpu_mem_ctx", "grid_dim" or "grid_dim.x"; "" for the whole
    std::uint32_t offset = 0, bytes = 0;
    bool is_signed = false;
    std::string full() const { return structure + "." + name; }
};
/// The same in this egpu.
struct TargetField {
    std::uint32_t offset = 0, bytes = 0;
};

Diagnostic malformed(std::string_view what) {
    return error("EGPU-B042", fmt::format("a CO-RE relocation is damaged: {}", what),
                 "compile it again with clang -target bpf -g -O2");
}

/// "0:9:1": an index of the whole, then members.
std::optional<std::vector<std::uint32_t>> parse_path(std::string_view text) {
    std::vector<std::uint32_t> path;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (path.size() < kPathLimit) {
        std::uint32_t index = 0;
        const auto [stop, code] = std::from_chars(at, end, index);
        if (code != std::errc{})
            return std::nullopt;
        path.push_back(index);
        if (stop == end)
            return path;
        if (*stop != ':')
            return std::nullopt;
        at = stop + 1;
    }
    return std::nullopt;
}

bool is_signed_scalar(const btf_type* type) {
    return Btf::kind(type) == BTF_KIND_INT &&
           (BTF_INT_ENCODING(*reinterpret_cast<const std::uint32_t*>(type + 1)) & BTF_INT_SIGNED) != 0;
}

Result<LocalField> resolve(const Source& source, const CoreRelocation& relocation) {
    const btf_type* type = source.btf.strip(relocation.type);
    const auto path = parse_path(source.btf.text(relocation.access));
    if (type == nullptr || !path)
        return malformed("it names no type or no field");
    LocalField field;
    // "name___flavour" is another description of struct name (libbpf's rule).
    const auto name = source.btf.name(type);
    field.structure = name.substr(0, name.find("___"));
    if (Btf::kind(type) != BTF_KIND_STRUCT ||
        (field.structure != "egpu_kernel_ctx" && field.structure != "egpu_mem_ctx"))
        return error(
            "EGPU-B040",
            fmt::format("'{}' is not a context of egpu, and a GPU has no other structs to relocate", field.structure),
            "take struct egpu_mem_ctx *; what the Linux kernel has can't be read on a GPU");
    field.context = field.structure == "egpu_kernel_ctx" ? ContextKind::kernel : ContextKind::mem;
    if (path->front() != 0)
        return error("EGPU-B040", fmt::format("'{}' is used as an array", field.structure),
                     "a program is given one context");
    std::uint32_t id = relocation.type;
    for (std::size_t i = 1; i < path->size(); ++i) {
        const auto index = (*path)[i];
        if (type == nullptr || Btf::kind(type) != BTF_KIND_STRUCT || index >= Btf::elements(type))
            return malformed("its path leaves the struct");
        const auto& member = Btf::rows<btf_member>(type)[index];
        const auto [bit, bit_field] = Btf::place_of(type, member);
        if (bit_field != 0 || bit % 8 != 0)
            return error("EGPU-B040", "a bit field of a context is accessed",
                         "contexts have no bit fields: use egpu.bpf.h");
        field.offset += bit / 8;
        field.name += (field.name.empty() ? "" : ".") + std::string(source.btf.text(member.name_off));
        field.name.resize(std::min(field.name.size(), kNameLimit));
        id = member.type;
        type = source.btf.strip(id);
    }
    const auto bytes = source.btf.bytes_of(id);
    if (type == nullptr || !bytes)
        return malformed("its field has no size");
    field.bytes = *bytes;
    field.is_signed = is_signed_scalar(type);
    return field;
}

/// By name; a struct such as grid_dim is where its first member is.
std::optional<TargetField> find_target(const LocalField& field) {
    if (field.name.empty())
        return TargetField{0, context_bytes(field.context)};
    if (const auto* exact = field_named(field.context, field.name))
        return TargetField{exact->offset, exact->bytes};
    std::optional<TargetField> out;
    const std::string prefix = field.name + ".";
    for (const auto& row : context_fields()) {
        if (!row.name.starts_with(prefix) || field_named(field.context, row.name) == nullptr)
            continue;
        if (!out)
            out = TargetField{row.offset, 0};
        out->bytes = row.offset + row.bytes - out->offset;
    }
    return out;
}

Diagnostic unknown_field(const LocalField& field) {
    auto diagnostic =
        error("EGPU-B041", fmt::format("egpu {} has no field '{}' in {}", version(), field.name, field.structure));
    std::vector<std::string> names;
    for (const auto& row : context_fields())
        if (field_named(field.context, row.name) != nullptr)
            names.emplace_back(row.name);
    if (const auto meant = nearest(field.name, names); !meant.empty())
        diagnostic.hints.push_back(fmt::format("did you mean '{}'?", meant));
    diagnostic.hints.push_back(
        "the object was made for another egpu; bpf_core_field_exists() lets a program do without a field");
    return diagnostic;
}

struct Patch {
    std::uint32_t before = 0, after = 0;  ///< value in the object, value here
};

std::optional<Patch> value_of(Kind kind, const LocalField& local, const std::optional<TargetField>& target) {
    if (kind == kFieldExists || kind == kTypeExists)
        return Patch{1, target ? 1u : 0u};
    if (!target)
        return std::nullopt;
    const auto shift = [](std::uint32_t bytes) { return bytes > 8 ? 0 : 64 - 8 * bytes; };
    switch (kind) {
        case kByteOffset:
            return Patch{local.offset, target->offset};
        case kByteSize:
        case kTypeSize:
            return Patch{local.bytes, target->bytes};
        case kSigned:
            return Patch{local.is_signed ? 1u : 0u, 0};  // no field of a context is signed
        case kLeftShift:
        case kRightShift:
            return Patch{shift(local.bytes), shift(target->bytes)};
        default:
            return std::nullopt;
    }
}

/// A load of the whole field follows the field's size; fields are unsigned, so a wider load gives the same number.
bool adapt_size(Instruction& instruction, const LocalField& local, const TargetField& target) {
    if (local.bytes == target.bytes)
        return true;
    if (class_of(instruction) != kClassLdx || mode_of(instruction) != kModeMem ||
        access_bytes(instruction) != local.bytes)
        return false;
    constexpr std::uint8_t sizes[] = {0x10, 0x08, 0x00, 0x18};  // of 1, 2, 4, 8 bytes
    for (std::size_t i = 0; i < 4; ++i)
        if (target.bytes == std::uint32_t{1} << i) {
            instruction.opcode = static_cast<std::uint8_t>((instruction.opcode & ~0x18) | sizes[i]);
            return true;
        }
    return false;
}

Status apply(std::vector<Instruction>& code, std::uint32_t at, Kind kind, const Patch& patch, const LocalField& local,
             const std::optional<TargetField>& target) {
    auto& instruction = code[at];
    const auto before = static_cast<std::int32_t>(patch.before), after = static_cast<std::int32_t>(patch.after);
    switch (class_of(instruction)) {
        case kClassAlu:
        case kClassAlu64:
            if (uses_register(instruction) || instruction.immediate != before)
                return malformed("its instruction doesn't hold the value");
            instruction.immediate = after;
            return ok();
        case kClassLd:
            if (instruction.opcode != kLoadImmediate64 || at + 1 >= code.size() || instruction.immediate != before)
                return malformed("its instruction doesn't hold the value");
            instruction.immediate = after;
            code[at + 1].immediate = 0;
            return ok();
        case kClassLdx:
        case kClassSt:
        case kClassStx:
            if (kind != kByteOffset || instruction.offset != before)
                return malformed("its instruction doesn't hold the value");
            if (!target || !adapt_size(instruction, local, *target))
                return error("EGPU-B043",
                             fmt::format("field '{}' has {} bytes in the object, {} in egpu {}", local.name,
                                         local.bytes, target ? target->bytes : 0, version()),
                             "compile the program again with this egpu's header");
            instruction.offset = static_cast<std::int16_t>(after);  // contexts are far smaller than 32 KiB
            return ok();
        default:
            return malformed("its instruction takes no value");
    }
}

/// An access that the program guards by bpf_core_field_exists(): only a mistake reaches it, and the verifier says so.
void poison(std::vector<Instruction>& code, std::uint32_t at) {
    const Instruction call{.opcode = kCall, .immediate = kMissingFieldCall};
    if (code[at].opcode == kLoadImmediate64 && at + 1 < code.size())
        code[at + 1] = call;
    code[at] = call;
}

Status relocate(const Source& source, const CoreRelocation& relocation, const std::set<std::string>& guarded,
                std::vector<Instruction>& code) {
    const auto kind = static_cast<Kind>(relocation.kind);
    const bool known = relocation.kind <= kRightShift || kind == kTypeExists || kind == kTypeSize;
    if (relocation.instruction >= code.size())
        return malformed("it is outside its section");
    const auto local = resolve(source, relocation);
    if (!local)
        return local.errors();
    if (!known)
        return error(
            "EGPU-B040",
            fmt::format("a CO-RE relocation of kind {} is not offered in programs for the GPU", relocation.kind),
            "fields of a context, their sizes and their existence can be asked for");
    const auto target = find_target(*local);
    const auto patch = value_of(kind, *local, target);
    if (patch)
        return apply(code, relocation.instruction, kind, *patch, *local, target);
    if (!guarded.contains(local->full()))
        return unknown_field(*local);
    poison(code, relocation.instruction);
    return ok();
}

}  // namespace

std::set<std::string> guarded_fields(const Source& source) {
    std::set<std::string> out;
    for (const auto& [section, notes] : source.notes)
        for (const auto& relocation : notes.core)
            if (relocation.kind == kFieldExists)
                if (const auto field = resolve(source, relocation))
                    out.insert(field->full());
    return out;
}

PatchedCode patch_section(const Source& source, std::size_t section, const std::set<std::string>& guarded) {
    PatchedCode out;
    const auto& elf_section = source.elf.sections()[section];
    out.instructions.resize(elf_section.data.size() / sizeof(Instruction));
    if (!out.instructions.empty())
        std::memcpy(out.instructions.data(), elf_section.data.data(), out.instructions.size() * sizeof(Instruction));
    for (const auto& relocation : source.notes_of(elf_section.name).core) {
        if (out.refusals.size() >= kRefusalLimit) {
            out.refusals.emplace(relocation.instruction, malformed("too many of its section are"));
            continue;
        }
        if (auto status = relocate(source, relocation, guarded, out.instructions); !status)
            out.refusals.emplace(relocation.instruction,
                                 source.at(status.error(), elf_section.name, relocation.instruction));
    }
    return out;
}

}  // namespace egpu::ebpf

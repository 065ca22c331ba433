// SPDX-License-Identifier: Apache-2.0
#include "ebpf/object/shape.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace egpu::ebpf {
namespace {

constexpr std::size_t kFieldLimit = 256;
constexpr std::size_t kEnumeratorLimit = 1024;  // of one key or value
constexpr std::size_t kMemberLimit = 4096;      // visited, with those that hold nothing
constexpr int kDepthLimit = 16;

struct RoleRow {
    std::string_view name;
    Role role;
};
constexpr std::array kRoles{
    RoleRow{"egpu_kernel_id_t", Role::kernel_id}, RoleRow{"egpu_site_id_t", Role::site_id},
    RoleRow{"egpu_sm_id_t", Role::sm_id},         RoleRow{"egpu_launch_id_t", Role::launch_id},
    RoleRow{"egpu_address_t", Role::address},     RoleRow{"egpu_count_t", Role::count},
    RoleRow{"egpu_bytes_t", Role::bytes},         RoleRow{"egpu_cycles_t", Role::cycles},
    RoleRow{"egpu_ns_t", Role::nanoseconds},
};
constexpr std::string_view kHistogramPrefix = "egpu_";
constexpr std::array<std::string_view, 3> kHistograms{"egpu_log2_cycles", "egpu_log2_ns", "egpu_log2_bytes"};

/// "EGPU_SPACE_GLOBAL" -> "global", "EGPU_LOAD" -> "load"; other names stay as they are.
std::string enumerator_name(std::string_view name) {
    constexpr std::string_view space = "EGPU_SPACE_", common = "EGPU_";
    const auto prefix = name.starts_with(space) ? space : name.starts_with(common) ? common : std::string_view{};
    std::string out(name.substr(prefix.size()));
    if (!prefix.empty())
        for (char& c : out)
            if (c >= 'A' && c <= 'Z')
                c = static_cast<char>(c - 'A' + 'a');
    return out;
}

std::vector<std::pair<std::int64_t, std::string>> enumerators(const Btf& btf, const btf_type* type, std::size_t& room) {
    std::vector<std::pair<std::int64_t, std::string>> out;
    if (Btf::elements(type) > room)
        return out;  // shown as numbers
    room -= Btf::elements(type);
    if (Btf::kind(type) == BTF_KIND_ENUM)
        for (const auto& row : Btf::rows<btf_enum>(type))
            out.emplace_back(row.val, enumerator_name(btf.text(row.name_off)));
    else
        for (const auto& row : Btf::rows<btf_enum64>(type))
            out.emplace_back(static_cast<std::int64_t>((std::uint64_t{row.val_hi32} << 32) | row.val_lo32),
                             enumerator_name(btf.text(row.name_off)));
    return out;
}

class Flattener {
public:
    explicit Flattener(const Btf& btf) : btf_(btf) {}

    Status add(const std::string& name, std::uint32_t id, std::uint32_t offset, int depth);
    std::vector<TypeField> take() { return std::move(fields_); }
    /// Role of the typedefs passed on the way from `id` to its plain type.
    Role role_of(std::uint32_t id) const;

private:
    Status add_struct(const std::string& name, const btf_type* type, std::uint32_t offset, int depth);
    Status add_array(const std::string& name, const btf_type* type, std::uint32_t offset, int depth);
    Status add_scalar(const std::string& name, std::uint32_t id, std::uint32_t offset, std::uint32_t elements);
    static Diagnostic refused(const std::string& name, std::string_view what) {
        return error("EGPU-B024", fmt::format("'{}' {}", name.empty() ? "the type" : name, what),
                     "keys and values are made of integers, enums, arrays and structs of them");
    }

    const Btf& btf_;
    std::vector<TypeField> fields_;
    std::size_t enumerators_left_ = kEnumeratorLimit, members_left_ = kMemberLimit;
};

Role Flattener::role_of(std::uint32_t id) const {
    for (int depth = 0; depth < kDepthLimit; ++depth) {
        const btf_type* type = btf_.type(id);
        if (type == nullptr)
            break;
        const auto kind = Btf::kind(type);
        if (kind == BTF_KIND_TYPEDEF)
            for (const auto& row : kRoles)
                if (row.name == btf_.name(type))
                    return row.role;
        if (kind != BTF_KIND_TYPEDEF && kind != BTF_KIND_CONST && kind != BTF_KIND_VOLATILE &&
            kind != BTF_KIND_TYPE_TAG)
            break;
        id = type->type;
    }
    return Role::plain;
}

Status Flattener::add(const std::string& name, std::uint32_t id, std::uint32_t offset, int depth) {
    if (depth > kDepthLimit || members_left_ == 0)
        return refused(name, "is nested too deeply, or has too many members");
    --members_left_;
    const btf_type* type = btf_.strip(id);
    if (type == nullptr)
        return refused(name, "has no type");
    switch (Btf::kind(type)) {
        case BTF_KIND_STRUCT:
            return add_struct(name, type, offset, depth);
        case BTF_KIND_ARRAY:
            return add_array(name, type, offset, depth);
        case BTF_KIND_INT:
        case BTF_KIND_ENUM:
        case BTF_KIND_ENUM64:
        case BTF_KIND_PTR:
            return add_scalar(name, id, offset, 1);
        case BTF_KIND_UNION:
            return refused(name, "is a union, which has no description");
        case BTF_KIND_FLOAT:
            return refused(name, "is a floating-point number, which eBPF programs can't compute with");
        default:
            return refused(name, "is no integer, enum, array or struct");
    }
}

Status Flattener::add_struct(const std::string& name, const btf_type* type, std::uint32_t offset, int depth) {
    const auto struct_name = btf_.name(type);
    const bool histogram = std::ranges::find(kHistograms, struct_name) != kHistograms.end();
    for (const auto& member : Btf::rows<btf_member>(type)) {
        const auto [bit, bit_field] = Btf::place_of(type, member);
        const auto member_name = btf_.text(member.name_off);
        if (bit_field != 0 || bit % 8 != 0)
            return refused(std::string(member_name), "is a bit field, which has no description");
        const auto bytes = btf_.bytes_of(member.type);
        if (!bytes || bit / 8 > type->size || *bytes > type->size - bit / 8)
            return refused(std::string(member_name), "is outside its struct");
        // A histogram within a struct is known by its own name, not by that of its only member.
        std::string full = name.empty() || member_name.empty() ? name + std::string(member_name)
                           : histogram                         ? name
                                                               : fmt::format("{}.{}", name, member_name);
        full.resize(std::min(full.size(), kNameLimit));
        const std::size_t first = fields_.size();
        if (auto status = add(full, member.type, offset + bit / 8, depth + 1); !status)
            return status;
        if (histogram)
            for (std::size_t i = first; i < fields_.size(); ++i)
                fields_[i].histogram = struct_name.substr(kHistogramPrefix.size());
    }
    return ok();
}

/// Arrays of scalars are one field; arrays of structs are flattened, element by element.
Status Flattener::add_array(const std::string& name, const btf_type* type, std::uint32_t offset, int depth) {
    std::uint32_t count = 1, element = 0;
    const btf_type* inner = type;
    for (int level = 0; inner != nullptr && Btf::kind(inner) == BTF_KIND_ARRAY; ++level) {
        const auto& array = *reinterpret_cast<const btf_array*>(inner + 1);
        const std::uint64_t product = std::uint64_t{count} * array.nelems;
        if (level > kDepthLimit || product > UINT32_MAX || product == 0)
            return refused(name, "has no elements, or too many");
        count = static_cast<std::uint32_t>(product);
        element = array.type;
        inner = btf_.strip(element);
    }
    if (inner == nullptr || Btf::kind(inner) != BTF_KIND_STRUCT)
        return inner == nullptr || Btf::kind(inner) == BTF_KIND_UNION || Btf::kind(inner) == BTF_KIND_FLOAT
                   ? refused(name, "is an array of what has no description")
                   : add_scalar(name, element, offset, count);
    if (count > kFieldLimit)
        return refused(name, fmt::format("is an array of more than {} structs", kFieldLimit));
    for (std::uint32_t i = 0; i < count; ++i)
        if (auto status = add(fmt::format("{}[{}]", name, i), element, offset + i * inner->size, depth + 1); !status)
            return status;
    return ok();
}

Status Flattener::add_scalar(const std::string& name, std::uint32_t id, std::uint32_t offset, std::uint32_t elements) {
    const btf_type* type = btf_.strip(id);
    const auto bytes = btf_.bytes_of(id);
    if (fields_.size() >= kFieldLimit)
        return refused(name, fmt::format("is one of more than {} fields", kFieldLimit));
    if (!bytes || (*bytes != 1 && *bytes != 2 && *bytes != 4 && *bytes != 8))
        return refused(name, "is neither 1, 2, 4 nor 8 bytes long");
    TypeField field;
    field.name = name;
    field.offset = offset;
    field.bytes = *bytes;
    field.elements = elements;
    field.role = role_of(id);
    const auto kind = Btf::kind(type);
    if (kind == BTF_KIND_INT)
        field.is_signed = (BTF_INT_ENCODING(*reinterpret_cast<const std::uint32_t*>(type + 1)) & BTF_INT_SIGNED) != 0;
    if (kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64) {
        field.enumerators = enumerators(btf_, type, enumerators_left_);
        for (const auto& [value, unused] : field.enumerators)
            field.is_signed |= value < 0;
    }
    fields_.push_back(std::move(field));
    return ok();
}

}  // namespace

Result<TypeShape> describe(const Btf& btf, std::uint32_t id) {
    TypeShape shape;
    const auto bytes = btf.bytes_of(id);
    if (!bytes)
        return error("EGPU-B024", "the type has no size",
                     "keys and values are made of integers, enums, arrays and structs of them");
    shape.bytes = *bytes;
    const btf_type* outer = btf.type(id);
    if (const btf_type* plain = btf.strip(id); outer != nullptr && plain != nullptr)
        shape.name = btf.name(Btf::kind(outer) == BTF_KIND_TYPEDEF ? outer : plain);
    Flattener flattener(btf);
    if (auto status = flattener.add("", id, 0, 0); !status)
        return status.errors();
    shape.fields = flattener.take();
    return shape;
}

Result<TypeShape> describe(const Btf& btf, std::span<const Variable> variables) {
    TypeShape shape;
    Flattener flattener(btf);
    for (const auto& variable : variables)
        if (auto status = flattener.add(variable.name, variable.type, variable.offset, 0); !status)
            return status.errors();
    shape.fields = flattener.take();
    return shape;
}

}  // namespace egpu::ebpf

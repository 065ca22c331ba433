// SPDX-License-Identifier: Apache-2.0
// Maps by BTF: a struct whose members' types carry the definition (libbpf's __uint, __type; Linux
// Documentation/bpf/libbpf/program_types.rst and bpf_helpers.h).
#include "ebpf/object/maps.hpp"

#include <elf.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "ebpf/object/shape.hpp"

namespace egpu::ebpf {
namespace {

constexpr std::size_t kMapLimit = 256;
constexpr std::uint32_t kKeyLimit = 512;           // bytes; the Linux kernel's MAX_BPF_STACK bounds keys there
constexpr std::uint32_t kValueLimit = 1u << 20;    // bytes of one value
constexpr std::uint32_t kEntryLimit = 1u << 26;    // what a segment's reader accepts (segment/create/geometry.cpp)
constexpr std::uint32_t kNoPreallocate = 1u << 0;  // BPF_F_NO_PREALLOC: how Linux allocates, nothing to a GPU
constexpr std::uint32_t kProgramArray = 3;         // BPF_MAP_TYPE_PROG_ARRAY
constexpr std::uint32_t kPerfEventArray = 4;       // BPF_MAP_TYPE_PERF_EVENT_ARRAY
constexpr std::uint32_t kMapped = 1u << 28;        // EGPU_F_MAPPED
constexpr std::uint32_t kLinux = 1u << 29;         // EGPU_F_LINUX

/// The members of a definition, before they are judged.
struct RawMap {
    std::uint32_t type = 0, max_entries = 0, flags = 0, key_bytes = 0, value_bytes = 0;
    std::uint32_t key_type = 0, value_type = 0;  // BTF ids, 0: none
};

class Reader {
public:
    Reader(const Source& source, std::string_view map) : source_(source), map_(map) {}

    Result<MapDefinition> read(std::uint32_t type);

private:
    Diagnostic refused(std::string_view code, std::string_view what, std::string hint = {}) const {
        auto diagnostic = error(code, fmt::format("map '{}' {}", map_, what), std::move(hint));
        diagnostic.where.file = source_.path;
        return diagnostic;
    }
    std::optional<std::uint32_t> number(std::uint32_t type) const;
    std::optional<std::uint32_t> pointed(std::uint32_t type) const;
    Status take(RawMap& raw, std::string_view member, std::uint32_t type) const;
    Status check_type(const RawMap& raw) const;
    Status take_bpftime_type(RawMap& raw) const;
    Status check_sizes(const RawMap& raw, const MapDefinition& map) const;
    Result<Placement> placement(const RawMap& raw) const;
    Result<TypeShape> shape(std::string_view what, std::uint32_t type, std::uint32_t bytes) const;

    const Source& source_;
    std::string_view map_;
};

/// __uint(name, N) is `int (*name)[N]`.
std::optional<std::uint32_t> Reader::number(std::uint32_t type) const {
    const auto array_id = pointed(type);
    const btf_type* array = array_id ? source_.btf.strip(*array_id) : nullptr;
    if (array == nullptr || Btf::kind(array) != BTF_KIND_ARRAY)
        return std::nullopt;
    return reinterpret_cast<const btf_array*>(array + 1)->nelems;
}

/// __type(name, T) is `T *name`.
std::optional<std::uint32_t> Reader::pointed(std::uint32_t type) const {
    const btf_type* pointer = source_.btf.strip(type);
    if (pointer == nullptr || Btf::kind(pointer) != BTF_KIND_PTR)
        return std::nullopt;
    return pointer->type;
}

Status Reader::take(RawMap& raw, std::string_view member, std::uint32_t type) const {
    struct Number {
        std::string_view name;
        std::uint32_t RawMap::*to;
    };
    static constexpr Number numbers[] = {{"type", &RawMap::type},
                                         {"max_entries", &RawMap::max_entries},
                                         {"map_flags", &RawMap::flags},
                                         {"key_size", &RawMap::key_bytes},
                                         {"value_size", &RawMap::value_bytes}};
    for (const auto& row : numbers) {
        if (row.name != member)
            continue;
        const auto value = number(type);
        if (!value)
            return refused("EGPU-B020", fmt::format("has a '{}' that is not a number", member),
                           "write __uint(name, number)");
        raw.*row.to = *value;
        return ok();
    }
    if (member == "key" || member == "value") {
        const auto target = pointed(type);
        if (!target || *target == 0)
            return refused("EGPU-B020", fmt::format("has a '{}' that is not a type", member),
                           "write __type(name, type)");
        (member == "key" ? raw.key_type : raw.value_type) = *target;
        return ok();
    }
    if (member == "pinning" || member == "numa_node" || member == "map_extra")
        if (const auto value = number(type); value && *value == 0)
            return ok();
    return refused("EGPU-B020", fmt::format("has a '{}', which maps of a GPU don't have", member),
                   "a map has type, max_entries, key, value and map_flags");
}

Status Reader::check_type(const RawMap& raw) const {
    switch (static_cast<MapType>(raw.type)) {
        case MapType::hash:
        case MapType::array:
        case MapType::percpu_hash:
        case MapType::percpu_array:
        case MapType::lru_hash:
        case MapType::ringbuf:
            return ok();
    }
    if (raw.type == kProgramArray)
        return refused("EGPU-B021", "is BPF_MAP_TYPE_PROG_ARRAY, and a GPU has no tail calls",
                       "call a static function instead, or give each program an event of its own with SEC(...)");
    if (raw.type == kPerfEventArray)
        return refused("EGPU-B021", "is BPF_MAP_TYPE_PERF_EVENT_ARRAY, and no event leaves a GPU one by one",
                       fmt::format("make it a BPF_MAP_TYPE_RINGBUF with max_entries, its bytes, and without key and "
                                   "value; send with bpf_ringbuf_output(&{}, &event, sizeof(event), 0)",
                                   map_));
    return refused("EGPU-B021", fmt::format("has type {}, which a GPU can't have", raw.type),
                   "use BPF_MAP_TYPE_HASH, ARRAY, PERCPU_HASH, PERCPU_ARRAY or RINGBUF");
}

/// Types of bpftime's maps for a GPU, where a map of ours means the same to all who read and write it.
Status Reader::take_bpftime_type(RawMap& raw) const {
    constexpr std::uint32_t kHash = 1501, kPerThread = 1502, kArray = 1503, kShared = 1504;
    constexpr std::uint32_t kPerThreadOfHost = 1512, kArrayOfHost = 1513, kRing = 1527;
    switch (raw.type) {
        case kHash:
            raw.type = static_cast<std::uint32_t>(MapType::hash);
            return ok();
        case kShared:
            raw.flags |= kLinux;
            [[fallthrough]];
        case kArray:
        case kArrayOfHost:  // in the host's memory there, where the GPU's can't be shared; here readers get copies
            raw.type = static_cast<std::uint32_t>(MapType::array);
            return ok();
        case kPerThread:
        case kPerThreadOfHost:
            return refused("EGPU-B021", fmt::format("has type {}, bpftime's array with a value per thread", raw.type),
                           "BPF_MAP_TYPE_PERCPU_ARRAY has one per SM, summed when read; for one per thread use "
                           "BPF_MAP_TYPE_ARRAY with the thread's number as index");
        case kRing:
            return refused("EGPU-B021", fmt::format("has type {}, bpftime's ring of records per thread", raw.type),
                           "BPF_MAP_TYPE_RINGBUF is one for all threads: send with bpf_ringbuf_output");
        default:
            return ok();
    }
}

Result<Placement> Reader::placement(const RawMap& raw) const {
    if ((raw.flags & kMapped) != 0 && (raw.flags & kLinux) != 0)
        return refused("EGPU-B023", "is both EGPU_F_MAPPED and EGPU_F_LINUX", "choose where it lives");
    if ((raw.flags & kLinux) != 0)
        return Placement::linux_kernel;  // the remaining flags are the Linux kernel's to judge
    const std::uint32_t unknown = raw.flags & ~(kMapped | kNoPreallocate);
    if (unknown != 0)
        return refused("EGPU-B023", fmt::format("has map_flags {:#x}, which a GPU doesn't know", unknown),
                       "EGPU_F_MAPPED, EGPU_F_LINUX and BPF_F_NO_PREALLOC are known");
    return (raw.flags & kMapped) != 0 ? Placement::mapped : Placement::device;
}

Status Reader::check_sizes(const RawMap& raw, const MapDefinition& map) const {
    if (map.is_ring()) {
        if (map.key_bytes != 0)
            return refused("EGPU-B022", "is a ring buffer with a key", "leave the key out");
        if (map.value_bytes > kLargestRecord)
            return refused("EGPU-B022", fmt::format("has records of {} bytes", map.value_bytes),
                           fmt::format("a record has at most {} bytes", kLargestRecord));
        return is_ring_size(map.max_entries)
                   ? ok()
                   : refused("EGPU-B022", fmt::format("has {} bytes", map.max_entries),
                             fmt::format("a ring buffer's max_entries is a power of two, {} to {}: its bytes",
                                         kSmallestRing, kLargestRing));
    }
    if (map.max_entries == 0)
        return refused("EGPU-B022", "has no max_entries", "add __uint(max_entries, number)");
    if (map.max_entries > kEntryLimit)
        return refused("EGPU-B022", fmt::format("has {} entries", map.max_entries),
                       fmt::format("max_entries is at most {}", kEntryLimit));
    if (map.key_bytes == 0 || map.key_bytes > kKeyLimit)
        return refused("EGPU-B022", fmt::format("has keys of {} bytes", map.key_bytes),
                       fmt::format("a key has 1 to {} bytes: add __type(key, type)", kKeyLimit));
    if (map.is_array() && map.key_bytes != 4)
        return refused("EGPU-B022", fmt::format("is an array with keys of {} bytes", map.key_bytes),
                       "an array's key is a __u32");
    if (map.value_bytes == 0 || map.value_bytes > kValueLimit)
        return refused("EGPU-B022", fmt::format("has values of {} bytes", map.value_bytes),
                       fmt::format("a value has 1 to {} bytes: add __type(value, type)", kValueLimit));
    if ((raw.key_bytes != 0 && raw.key_bytes != map.key_bytes) ||
        (raw.value_bytes != 0 && raw.value_bytes != map.value_bytes))
        return refused("EGPU-B022", "has a key_size or value_size that differs from its type",
                       "leave out key_size and value_size");
    return ok();
}

/// Of a type, or of a bare size: then one number, or bytes.
Result<TypeShape> Reader::shape(std::string_view what, std::uint32_t type, std::uint32_t bytes) const {
    if (type != 0) {
        auto described = describe(source_.btf, type);
        if (described)
            return described;
        auto wrong = described.error();
        wrong.message = fmt::format("map '{}', {}: {}", map_, what, wrong.message);
        wrong.where.file = source_.path;
        return wrong;
    }
    TypeShape shape;
    shape.bytes = bytes;
    const bool number = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    if (bytes != 0)
        shape.fields.push_back({"", 0, number ? bytes : 1, number ? 1 : bytes, false, Role::plain, {}, {}});
    return shape;
}

Result<MapDefinition> Reader::read(std::uint32_t type) {
    const btf_type* definition = source_.btf.strip(type);
    if (definition == nullptr || Btf::kind(definition) != BTF_KIND_STRUCT)
        return refused("EGPU-B020", "is not a struct", "define it with __uint and __type, as egpu.bpf.h shows");
    RawMap raw;
    for (const auto& member : Btf::rows<btf_member>(definition))
        if (auto status = take(raw, source_.btf.text(member.name_off), member.type); !status)
            return status.errors();
    if (auto status = take_bpftime_type(raw); !status)
        return status.errors();
    if (auto status = check_type(raw); !status)
        return status.errors();
    MapDefinition map;
    map.name = map_;
    map.type = static_cast<MapType>(raw.type);
    map.max_entries = raw.max_entries;
    auto key = shape("key", raw.key_type, raw.key_bytes);
    auto value = shape("value", raw.value_type, raw.value_bytes);
    const auto where = placement(raw);
    if (!key || !value || !where)
        return !key ? key.errors() : !value ? value.errors() : where.errors();
    map.placement = *where;
    map.key = *std::move(key);
    map.value = *std::move(value);
    map.key_bytes = map.key.bytes;
    map.value_bytes = map.value.bytes;
    if (map.is_ring())  // its records are no entries
        map.record = std::exchange(map.value, {});
    if (auto status = check_sizes(raw, map); !status)
        return status.errors();
    return map;
}

/// Variables of section .maps, by the type that BTF gives them.
std::unordered_map<std::string_view, std::uint32_t> map_types(const Btf& btf) {
    std::unordered_map<std::string_view, std::uint32_t> out;
    for (std::uint32_t id = 1; id < btf.count(); ++id) {
        const btf_type* section = btf.type(id);
        if (section == nullptr || Btf::kind(section) != BTF_KIND_DATASEC || btf.name(section) != ".maps")
            continue;
        for (const auto& row : Btf::rows<btf_var_secinfo>(section)) {
            const btf_type* variable = btf.type(row.type);
            if (variable != nullptr && Btf::kind(variable) == BTF_KIND_VAR)
                out.emplace(btf.name(variable), variable->type);
        }
    }
    return out;
}

}  // namespace

Result<std::vector<MapSource>> read_maps(const Source& source) {
    std::vector<MapSource> maps;
    if (source.elf.section_named("maps") != 0)
        return error("EGPU-B020", "the object defines maps in section \"maps\", the form before BTF",
                     "define them in SEC(\".maps\"), as egpu.bpf.h shows");
    const auto section = source.elf.section_named(".maps");
    if (section == 0)
        return maps;
    const auto types = map_types(source.btf);
    for (const auto& symbol : source.elf.symbols()) {
        if (symbol.section != section || symbol.type != STT_OBJECT || symbol.name.empty())
            continue;
        if (maps.size() == kMapLimit)
            return error("EGPU-B020", fmt::format("the object has more than {} maps", kMapLimit));
        const auto name = symbol.name.substr(0, kNameLimit);
        const auto type = types.find(name);
        maps.push_back({std::string(name), static_cast<std::uint32_t>(section), symbol.value,
                        type == types.end()
                            ? error("EGPU-B020", fmt::format("map '{}' has no type in BTF", name), "compile with -g")
                            : Reader(source, name).read(type->second)});
    }
    std::ranges::stable_sort(maps, {}, &MapSource::offset);  // as they stand in the source
    return maps;
}

const char* to_words(MapType type) {
    switch (type) {
        case MapType::hash:
            return "hash";
        case MapType::array:
            return "array";
        case MapType::percpu_hash:
            return "per-SM hash";
        case MapType::percpu_array:
            return "per-SM array";
        case MapType::lru_hash:
            return "LRU hash";
        case MapType::ringbuf:
            return "ring buffer";
    }
    return "unknown";
}

}  // namespace egpu::ebpf

// SPDX-License-Identifier: Apache-2.0
// An eBPF object file, read and relocated for the GPU: programs, maps, what BTF says of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ebpf/events/events.hpp"
#include "ebpf/isa/instruction.hpp"

namespace egpu::ebpf {

/// What a typedef's name says of a number (TARGETS E3.2).
enum class Role { plain, kernel_id, site_id, sm_id, launch_id, address, count, bytes, cycles, nanoseconds };

/// One scalar in a key or value, structs flattened ("slot" of a histogram is one field with 64 elements).
struct TypeField {
    std::string name;  ///< "requested_bytes"; "" for a bare scalar
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;  ///< of one element
    std::uint32_t elements = 1;
    bool is_signed = false;
    Role role = Role::plain;
    std::vector<std::pair<std::int64_t, std::string>>
        enumerators;        ///< of an enum: value, "global" (EGPU_SPACE_ stripped, lower case)
    std::string histogram;  ///< "log2_cycles", "log2_ns", "log2_bytes" for slots of egpu_log2_*; else ""
};
struct TypeShape {
    std::string name;  ///< "traffic_key" or typedef name
    std::uint32_t bytes = 0;
    std::vector<TypeField> fields;
};

enum class MapType : std::uint32_t {
    hash = 1,
    array = 2,
    percpu_hash = 5,
    percpu_array = 6,
    lru_hash = 9,
    ringbuf = 27
};
/// "hash", "per-SM array", "ring buffer": as tables show it.
const char* to_words(MapType type);
enum class Placement { device, mapped, linux_kernel };

/// Bytes of a ring buffer, and of a record in one: what fits a chunk of the smallest one (maps/layout/ring_buffer.hpp).
inline constexpr std::uint32_t kSmallestRing = 4096, kLargestRing = 1u << 30, kLargestRecord = 504;
/// A ring buffer's max_entries: its bytes, a power of two.
constexpr bool is_ring_size(std::uint64_t bytes) {
    return bytes >= kSmallestRing && bytes <= kLargestRing && (bytes & (bytes - 1)) == 0;
}

struct MapDefinition {
    std::string name;
    MapType type = MapType::array;
    std::uint32_t key_bytes = 0, value_bytes = 0, max_entries = 0;
    Placement placement = Placement::device;
    TypeShape key, value;
    TypeShape record;  ///< of a ring buffer: what its value's type says of a record; value_bytes of it
    std::uint32_t source_line = 0;
    /// Of a hash: a program looks up keys that are known only when it runs, so that the GPU makes the entries
    /// (maps/layout/hash_table.hpp). Found out by the verifier, set by who loads the object, for all its programs.
    bool keys_at_run_time = false;
    /// Of the ring that bpf_printk's records go to: the texts that programs print, by their place in Object::constants.
    std::map<std::uint32_t, std::string> formats;
    std::vector<std::byte> initial;  ///< what the element of global variables holds at first; empty: zeroes
    bool per_sm() const { return type == MapType::percpu_hash || type == MapType::percpu_array; }
    bool is_ring() const { return type == MapType::ringbuf; }
    bool is_array() const { return type == MapType::array || type == MapType::percpu_array; }
};

/// Where an instruction came from (.BTF.ext line_info).
struct LineInfo {
    std::uint32_t instruction = 0;  ///< first instruction it holds for
    std::string file;
    std::uint32_t line = 0, column = 0;
    std::string text;  ///< the source line
};

/// `const volatile` global (EGPU_OPTION).
struct Option {
    std::string name, type, help;
    std::uint32_t offset = 0, bytes = 0;  ///< in the constant data
    bool is_signed = false;
};

struct Program {
    std::string name;     ///< "count_traffic"
    std::string section;  ///< "gpu/mem"; of a program for bpftime, what it means here
    InjectionPoint point;
    bool has_context = true;  ///< false: its argument is none of our contexts, and no field may be read from it
    std::vector<Instruction> instructions;  ///< relocated; local functions it calls are appended behind it
    std::vector<LineInfo> lines;            ///< ascending
    const LineInfo* line_of(std::uint32_t instruction) const;
};

struct Object {
    std::string path;
    std::string license;
    std::vector<MapDefinition> maps;
    std::vector<Program> programs;            ///< GPU programs only
    std::vector<std::string> linux_programs;  ///< names of programs for the Linux kernel in the same object
    std::vector<Option> options;
    /// Read-only global data: loads from it are constants. Addressed as map `constants_map` (kPseudoMapValue).
    std::vector<std::byte> constants;
    static constexpr std::uint32_t kConstantsMap = 0x7fffffff;
    /// Which map takes the records of bpf_printk; nothing where no program prints.
    std::optional<std::uint32_t> print_map;
    std::vector<Diagnostic> warnings;  ///< the compiler's, where its source was compiled for this; set by who loads it
};

/// A text among an object's constants, to its NUL or of `most` bytes; "" outside them.
std::string_view text_at(const Object& object, std::uint64_t place, std::uint64_t most = ~std::uint64_t{0});

/// Reads an object (ELF bytes). Errors EGPU-B0xx: not ELF, not BPF, no BTF, unsupported map type, CO-RE against an
/// unknown context field (names the field and egpu's version), unknown relocation. Global variables that programs write
/// to are maps of one element each, named as libbpf names them ("counter.bss").
Result<Object> read_object(std::span<const std::byte> elf, const std::string& path);

/// Sets an option by name from text ("8", "true", "0x10"); EGPU-B03x with "did you mean".
Status set_option(Object& object, std::string_view name, std::string_view value);

/// The clang that compile_source runs: $EGPU_CLANG, else the first on PATH.
Result<std::string> find_clang();

/// Compiles a .bpf.c with clang (found on PATH or $EGPU_CLANG) to ELF bytes; the compiler's errors (EGPU-B061) on
/// failure, else its warnings (EGPU-B063) to `warnings`.
Result<std::vector<std::byte>> compile_source(const std::string& path, const std::string& include_folder,
                                              std::vector<Diagnostic>* warnings = nullptr);

}  // namespace egpu::ebpf

// SPDX-License-Identifier: Apache-2.0
// A specialised program at one site, as PTX text (DESIGN 4: straight to PTX, no address in the text).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ebpf/specializer/specializer.hpp"
#include "inject/codegen/table.hpp"
#include "maps/layout/layout.hpp"

namespace egpu::inject {

/// The architecture that a copy is compiled for, as its `.target` says.
struct Target {
    std::uint32_t sm = 75;                       ///< 60 and up; below is refused
    std::uint32_t ptx_major = 6, ptx_minor = 4;  ///< `.version` of the module
};

/// A parameter of the kernel, for egpu_arg.
struct KernelParameter {
    std::string name;  ///< as in the entry's parameter list
    std::uint32_t bytes = 0;
};

/// How the kernel's own registers supply the context at one site.
struct SiteBinding {
    ebpf::Granularity granularity = ebpf::Granularity::thread;
    ebpf::Event event = ebpf::Event::kernel_entry;
    std::uint32_t kernel_id = 0, site_id = 0;
    std::string guard;  ///< "%p1" where the instruction is predicated; fires for lanes where it is true. Once a grid:
                        ///< true in its one thread (grids.hpp)
    bool guard_negated = false;

    // Memory events only.
    std::optional<ebpf::Space> space;  ///< nullopt is impossible here; generic stays generic
    ebpf::Access access = ebpf::Access::load;
    std::uint32_t bytes_per_lane = 0;
    /// Asynchronous copies: where a lane's bytes are known only at run time, the register that says them. Of 1 bit:
    /// lanes where it is true (`bytes_negated`: false) move none, the others bytes_per_lane.
    std::string bytes_register;
    std::uint32_t bytes_register_bits = 32;
    bool bytes_negated = false;
    std::string address_base;  ///< "%rd4", a symbol, or "" for an absolute address
    std::int64_t address_offset = 0;
    std::uint32_t address_bits = 64;  ///< 32 for %r registers of shared or local addresses
    std::vector<std::string> values;  ///< registers moved by the instruction ("%f1", ...), for egpu_value
    std::string value_type;           ///< PTX type of each, "f32"
    std::uint32_t value_register_bits =
        0;                ///< declared width of `values` where wider than the type ("ld.u32 %rd1"); 0: not
    std::string latency;  ///< load_return and atomic_return: 64-bit register that holds the cycles; "" elsewhere

    // egpu_arg.
    std::vector<KernelParameter> arguments;  ///< of the entry, in order
    bool in_device_function = false;         ///< no kernel parameters there: egpu_arg is refused
};

/// What one of something adds to an element.
struct Share {
    ebpf::StaticElement element;  ///< `map` counts in the session's maps: AccumulatorUse's plus map_base
    std::uint32_t factor = 1;
    bool operator==(const Share&) const = default;
};

/// A count kept in a 64-bit register per thread until the exit. One of it adds its shares to their elements: that of
/// a program's own sum is the element itself; a loop that always loads 8 bytes in 2 accesses has shares 8 and 2.
struct Accumulator {
    std::vector<Share> shares;
    std::string register_name;         ///< "%egpu_acc0"
    bool counts_instructions = false;  ///< else a program's sum, which can be any number

    /// True where a program that adds to the element may add to the register.
    bool is_sum_of(const ebpf::StaticElement& element) const {
        return !counts_instructions && shares.size() == 1 && shares.front() == Share{element, 1};
    }
};

/// What all sites of one function share while text is generated.
struct FunctionContext {
    Target target;
    Table* table = nullptr;                              ///< of the copy
    const std::vector<maps::Layout>* layouts = nullptr;  ///< by map index of the *session* (see map_base)
    std::vector<Accumulator> accumulators;               ///< chosen by inject/rewrite; none in device functions
    std::uint32_t next_label = 0;                        ///< makes "$egpu_N" unique in the module
    Target required;                                     ///< raised by codegen: the .version the text needs
    /// For programs that no verifier has seen: accesses to the stack and to values that may be misaligned, which would
    /// stop a GPU, go byte by byte.
    bool any_alignment = false;

    void require_version(std::uint32_t major, std::uint32_t minor);
};

struct EmittedProbe {
    std::string text;                ///< statements in a scope of their own, for insertion at a statement boundary
    std::uint32_t instructions = 0;  ///< PTX instructions in it
};

/// The text of one firing. A program that reads the address of a load_return or atomic_return must find it still in its
/// register. Errors EGPU-P22x: target below sm_60, block granularity, ctx->device, latency where none is measured,
/// arguments of a device function, values of a type that fits no register, misaligned accesses. `map_base` is added to
/// the program's map indices to name maps of the session (several objects in one session). Names made all begin with
/// "%egpu_" or "$egpu_".
Result<EmittedProbe> emit_probe(const ebpf::SpecializedProgram& program, const SiteBinding& site,
                                std::uint32_t map_base, FunctionContext& function);

/// `.reg .b64 %egpu_accN;` for each accumulator, and their zeroing: at a function's start.
std::string emit_accumulator_start(const FunctionContext& function);
/// Adds every accumulator to its elements: before an exit. Predicated on nothing: the caller's lanes are those that
/// leave; they sum up among themselves first (activemask and redux.sync or shfl.sync, so nothing may stand between this
/// text's statements). With `keep_running` (back-edge flush) each thread adds for itself, and accumulators are zeroed.
std::string emit_accumulator_flush(FunctionContext& function, bool keep_running);
/// Adds a number to a 64-bit register, in the lanes where `guard` ("@%p1 ", "@!%p1 "; "": all) holds. `carry_is_free`:
/// nothing between here and the next addition that gives a carry reads CC.CF (PTX ISA 9.7.2).
EmittedProbe emit_register_add(const std::string& guard, const std::string& register_name, std::uint32_t amount,
                               bool carry_is_free);
/// Adds `amounts`, of different elements, for every lane that is here.
EmittedProbe emit_lane_adds(FunctionContext& function, const std::vector<Share>& amounts);

}  // namespace egpu::inject

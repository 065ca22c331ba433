// SPDX-License-Identifier: Apache-2.0
// Decoded code. One instruction acts on the 32 lanes of a warp: registers are rows of 32 values, an operand says where
// its row is, and the handler is a loop over the active lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/simulated/executor/machine/image_form.hpp"
#include "gpu/simulated/executor/machine/matrix.hpp"
#include "gpu/simulated/executor/machine/type.hpp"

namespace egpu::simulated {

/// One bit a lane.
using Mask = std::uint32_t;
inline constexpr unsigned kLanes = 32;
inline constexpr Mask kAllLanes = ~Mask{0};

/// Which memory a row is in. Each warp keeps one pointer for each.
enum class RowBase : std::uint32_t {
    frame = 0,      ///< registers of the function activation
    warp = 1,       ///< special registers that differ between warps (%tid, %laneid, ...)
    block = 2,      ///< special registers that are the same for a block (%ctaid, %ntid, ...)
    constants = 3,  ///< immediates and addresses, repeated in all lanes
};

/// Where a row is: base and byte offset. A predicate's row is one Mask; values up to 32 bits have rows of 32 x 4
/// bytes, wider ones of 32 x 8 bytes.
class Place {
public:
    constexpr Place() = default;
    constexpr Place(RowBase base, std::uint32_t offset) : bits_(static_cast<std::uint32_t>(base) << 30 | offset) {}
    constexpr std::uint32_t base() const { return bits_ >> 30; }
    constexpr std::uint32_t offset() const { return bits_ & kMaximum; }
    constexpr bool operator==(const Place&) const = default;
    static constexpr std::uint32_t kMaximum = (1U << 30) - 1;

private:
    std::uint32_t bits_ = 0;
};

struct Context;
struct Instruction;
/// Acts on the lanes of the mask. False: look at Context::fault.
using Handler = bool (*)(Context&, const Instruction&, Mask);
/// Turns the address operand into host pointers, one a lane, checked for bounds and alignment.
using Resolver = bool (*)(Context&, const Instruction&, Mask, std::byte** pointers);
/// Combines the element at `value` into the one at `destination`.
using Element = void (*)(std::byte* destination, const std::byte* value);
struct Exchange;
/// The two halves of a warp-collective instruction (shfl, vote, ...): each path of the warp that takes part gathers
/// its lanes' values; when all lanes named have come, each path gets its results.
using Gather = void (*)(Context&, const Instruction&, Mask, Exchange&);
using Scatter = void (*)(Context&, const Instruction&, Mask, const Exchange&);

/// What the scheduler has to do for an instruction; `none` for those that only have a handler.
enum class Control : std::uint8_t {
    none,
    branch,
    branch_indexed,
    call,
    call_indirect,
    call_builtin,
    ret,
    exit,
    trap,
    collective,
    barrier,
    cluster_barrier,  ///< barrier.cluster.arrive (variant 0), .wait (1)
    wait,             ///< mbarrier.test_wait (variant 0), .try_wait (1): the handler looks, the destination says
    yield,            ///< nanosleep: let others run
};

/// bar.sync, barrier.arrive, bar.red ...
enum class BarrierAction : std::uint8_t { sync, arrive, reduce_popc, reduce_and, reduce_or };
enum class Builtin : std::uint8_t { none, vprintf, malloc, free, assertfail };

inline constexpr std::uint32_t kReturn = ~std::uint32_t{0};  ///< "reconverges where the function returns"
inline constexpr std::uint32_t kNowhere = kReturn - 1;

/// Costs in cycles of %clock: a fixed table, not a model (see cost.hpp).
struct Instruction {
    Handler handler = nullptr;
    Place destination;
    Place sources[4];
    Place second_destination;  ///< p|q, d|p
    Place guard;
    bool guarded = false;
    bool guard_negated = false;
    bool source_negated = false;  ///< !p as the predicate operand
    bool has_second = false;
    Control control = Control::none;
    std::uint8_t vector = 1;
    std::uint8_t variant = 0;       ///< for handlers: comparison, action, lookup table of lop3 ...
    bool aligned = true;            ///< barriers: all lanes must come together
    bool writes = false;            ///< memory: stores
    bool fences = false;            ///< memory: acquire or release
    bool implicit_members = false;  ///< collectives without a member mask: the active lanes
    bool whole_warp = false;        ///< collectives of all 32 lanes at one place (.aligned): the handler acts for all
    bool spins = false;             ///< what waiting loops are made of: cas, exch, volatile and relaxed loads
    bool injected = false;          ///< egpu's own, put into a copy: it names what begins with "egpu_"
    std::uint16_t cost = 0;
    std::uint32_t list = 0;        ///< first of `vector` places in Program::places; calls: index in Program::calls
    std::uint32_t target = 0;      ///< branch: pc; memory: index of the address cache
    std::uint32_t reconverge = 0;  ///< divergent branch: pc where the paths meet
    std::uint32_t access_bytes = 0;
    std::uint32_t line = 0;  ///< of the PTX text
    std::uint32_t source_file = 0, source_line = 0;
    std::int64_t offset = 0;
    union {
        Resolver resolve = nullptr;  ///< memory
        Gather gather;               ///< collectives
        Element element;             ///< reductions over memory
    };
    Scatter scatter = nullptr;
};

/// An argument, a result or a formal parameter: a register, or bytes of the function's local memory (.param variables
/// of device functions and of calls are kept there).
struct Passed {
    bool in_memory = true;
    Type type = Type::none;  ///< of a register
    Place place;
    std::uint32_t offset = 0, bytes = 0;  ///< relative to the frame's local memory
};

struct CallSite {
    std::uint32_t function = kNowhere;  ///< index in Program::functions; kNowhere: indirect or builtin
    Place target;                       ///< indirect: row of function addresses
    Builtin builtin = Builtin::none;
    std::vector<Passed> arguments;
    std::vector<Passed> results;
    std::string callee;  ///< name, for messages
};

struct FunctionCode {
    std::string name;
    std::uint32_t entry = kNowhere;  ///< pc; kNowhere: could not be decoded, `problem` says why
    std::uint32_t frame_bytes = 0;
    std::uint32_t local_bytes = 0;  ///< including .param variables of calls and formal parameters
    std::vector<Passed> parameters, returns;
    std::string problem;
};

/// The code of one kernel and of all functions it can reach.
struct Program {
    std::string kernel;
    std::string module;
    std::vector<Instruction> code;
    /// By pc: where in the module's text the PTX instruction stands that begins there; kNowhere inside of one.
    std::vector<std::uint32_t> origins;
    std::vector<Place> places;
    std::vector<CallSite> calls;
    std::vector<MatrixForm> matrices;                ///< of wmma and mma: Instruction::target
    std::vector<ImageForm> images;                   ///< of textures and surfaces: Instruction::target
    std::vector<std::uint32_t> branch_targets;       ///< of brx.idx: `list` is the first, `offset` the count
    std::vector<FunctionCode> functions;             ///< 0: the kernel
    std::vector<std::uint32_t> function_of_address;  ///< module function index -> index in functions or kNowhere
    std::uint64_t function_base = 0;                 ///< address of the module's function 0
    std::vector<std::byte> constants;                ///< rows
    std::vector<std::string> files;                  ///< of .file, by index
    std::uint32_t memory_slots = 0;
    std::uint32_t static_shared_bytes = 0;
    std::uint32_t parameter_bytes = 0;
};

}  // namespace egpu::simulated

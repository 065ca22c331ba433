// SPDX-License-Identifier: Apache-2.0
// Calls: frames, arguments and results, indirect targets.
#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "base/names.hpp"
#include "gpu/simulated/executor/block.hpp"
#include "gpu/simulated/executor/machine/special.hpp"
#include "gpu/simulated/executor/warp.hpp"

namespace egpu::simulated {
namespace {

constexpr std::uint32_t kDeepestCall = 1024;
constexpr std::uint64_t kMostFrameBytes = 256 << 20;  ///< registers of all activations in a warp
constexpr std::align_val_t kRowAlignment{64};

void free_rows(std::byte* rows) {
    ::operator delete[](rows, kRowAlignment);
}

}  // namespace

/// A frame with zeroed registers: what is read before it is written is at least the same in every run.
std::uint32_t Warp::new_frame(std::uint32_t function, std::uint64_t local_base) {
    const std::uint32_t bytes = context_.program->functions[function].frame_bytes;
    std::uint32_t found = kNowhere;
    for (std::uint32_t i = 0; i < frames_.size(); ++i) {
        if (!frames_[i].used && (found == kNowhere || frames_[i].capacity >= bytes)) {
            found = i;
            if (frames_[i].capacity >= bytes) {
                break;
            }
        }
    }
    if (found == kNowhere) {
        found = static_cast<std::uint32_t>(frames_.size());
        frames_.emplace_back();
    }
    Frame& frame = frames_[found];
    if (frame.capacity < bytes) {
        frame.rows = {static_cast<std::byte*>(::operator new[](bytes, kRowAlignment)), free_rows};
        frame_bytes_ += bytes - frame.capacity;
        frame.capacity = bytes;
    }
    std::memset(frame.rows.get(), 0, bytes);
    frame.function = function;
    frame.local_base = local_base;
    frame.used = true;
    return found;
}

/// Makes each lane's local memory at least this large; what is there moves along.
bool Warp::reserve_local(std::uint64_t bytes) {
    const std::uint64_t old_stride = context_.local_stride;
    if (bytes <= old_stride && old_stride != 0) {
        return true;
    }
    if (bytes > block_.launch().environment->stack_limit) {
        return false;
    }
    const std::uint64_t stride =
        std::max<std::uint64_t>((bytes + 15) & ~std::uint64_t{15}, std::max<std::uint64_t>(old_stride * 2, 16));
    std::vector<std::byte> grown(stride * kLanes);
    for (unsigned lane = 0; lane < kLanes && old_stride != 0; ++lane) {
        std::memcpy(grown.data() + lane * stride, local_.data() + lane * old_stride, old_stride);
    }
    local_.swap(grown);
    context_.local = local_.data();
    context_.local_stride = stride;
    return true;
}

/// Hands values over, lane by lane. False where the two lists don't fit each other.
bool Warp::pass(const std::vector<Passed>& from, std::uint32_t from_frame, const std::vector<Passed>& to,
                std::uint32_t to_frame, Mask lanes) {
    // A caller may ignore results; a callee's parameters must all be given.
    const std::size_t count = std::min(from.size(), to.size());
    std::byte* const saved = context_.base[0];
    bool fits = true;
    for (std::size_t i = 0; i < count && fits; ++i) {
        const Passed& a = from[i];
        const Passed& b = to[i];
        if (a.in_memory && b.in_memory) {
            const std::uint32_t bytes = std::min(a.bytes, b.bytes);
            for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
                std::byte* const lane =
                    context_.local + static_cast<unsigned>(std::countr_zero(rest)) * context_.local_stride;
                std::memmove(lane + frames_[to_frame].local_base + b.offset,
                             lane + frames_[from_frame].local_base + a.offset, bytes);
            }
            continue;
        }
        // A register's row, or bytes in memory, on either side: through 64 bits.
        const auto size_of = [](const Passed& passed) {
            return passed.in_memory ? passed.bytes : bytes_of(passed.type);
        };
        if (size_of(a) > 8 || size_of(b) > 8) {
            fits = false;
            break;
        }
        for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(rest));
            std::uint64_t value = 0;
            std::byte* const memory = context_.local + lane * context_.local_stride;
            context_.base[0] = frames_[from_frame].rows.get();
            if (a.in_memory) {
                std::memcpy(&value, memory + frames_[from_frame].local_base + a.offset, a.bytes);
            } else if (a.type == Type::pred) {
                value = mask_at(context_, a.place) >> lane & 1;
            } else {
                value = bits_of(a.type) == 64 ? row_at<const std::uint64_t>(context_, a.place)[lane]
                                              : row_at<const std::uint32_t>(context_, a.place)[lane];
            }
            context_.base[0] = frames_[to_frame].rows.get();
            if (b.in_memory) {
                std::memcpy(memory + frames_[to_frame].local_base + b.offset, &value, b.bytes);
            } else if (b.type == Type::pred) {
                Mask& mask = mask_at(context_, b.place);
                mask = (mask & ~(Mask{1} << lane)) | static_cast<Mask>(value & 1) << lane;
            } else if (bits_of(b.type) == 64) {
                row_at<std::uint64_t>(context_, b.place)[lane] = value;
            } else {
                row_at<std::uint32_t>(context_, b.place)[lane] = static_cast<std::uint32_t>(value);
            }
        }
    }
    context_.base[0] = saved;
    return fits;
}

/// Below the call node: a path at the entry of the function, for these lanes.
bool Warp::call_function(std::uint32_t node, const Instruction& instruction, std::uint32_t function, Mask lanes) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const FunctionCode& code = context_.program->functions[function];
    if (code.entry == kNowhere) {
        return fault_at(instruction, FaultKind::illegal_instruction, lane,
                        fmt::format("an indirect call of '{}': {}", demangle(code.name), code.problem));
    }
    const Node& call_node = nodes_[node];
    const Frame& caller = frames_[call_node.frame];
    const std::uint64_t local_base = caller.local_base + context_.program->functions[caller.function].local_bytes;
    if (call_node.depth >= kDeepestCall || frame_bytes_ + code.frame_bytes > kMostFrameBytes ||
        !reserve_local(local_base + code.local_bytes)) {
        return fault_at(instruction, FaultKind::call_depth, lane,
                        fmt::format("the call of '{}' is {} deep and needs {} bytes of stack; the limits are {} and {}",
                                    demangle(code.name), call_node.depth + 1, local_base + code.local_bytes,
                                    kDeepestCall, block_.launch().environment->stack_limit));
    }
    const CallSite& site = context_.program->calls[instruction.list];
    const std::uint32_t frame = new_frame(function, local_base);
    const std::uint32_t child = new_node();
    Node& parent = nodes_[node];
    Node& path = nodes_[child];
    parent.callee_frame = frame;
    path.kind = Node::Kind::path;
    path.parent = node;
    path.pc = code.entry;
    path.meets = kReturn;
    path.mask = lanes;
    path.frame = frame;
    path.depth = parent.depth + 1;
    if (site.arguments.size() != code.parameters.size() ||
        !pass(site.arguments, parent.frame, code.parameters, frame, lanes)) {
        return fault_at(instruction, FaultKind::illegal_instruction, lane,
                        fmt::format("the arguments of the call don't fit the parameters of '{}'", demangle(code.name)));
    }
    return true;
}

/// One call node for each function that lanes call. Lanes that the guard leaves out, or that call another function,
/// wait at a meeting behind the call.
bool Warp::call(std::uint32_t path, const Instruction& instruction, Mask active) {
    const Program& program = *context_.program;
    const CallSite& site = program.calls[instruction.list];
    std::vector<std::pair<std::uint32_t, Mask>> targets;
    if (instruction.control == Control::call) {
        targets.emplace_back(site.function, active);
    } else {
        const auto* const addresses = row_at<const std::uint64_t>(context_, site.target);
        for (Mask rest = active; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(rest));
            const std::uint64_t index = (addresses[lane] - program.function_base) / 16;
            if (addresses[lane] < program.function_base || addresses[lane] % 16 != 0 ||
                index >= program.function_of_address.size() || program.function_of_address[index] == kNowhere) {
                return fault_at(
                    instruction, FaultKind::illegal_instruction, lane,
                    fmt::format("an indirect call of {:#x}, which is the address of no function of this module",
                                addresses[lane]));
            }
            const std::uint32_t function = program.function_of_address[index];
            const auto known =
                std::find_if(targets.begin(), targets.end(), [&](const auto& t) { return t.first == function; });
            if (known != targets.end()) {
                known->second |= Mask{1} << lane;
            } else {
                targets.emplace_back(function, Mask{1} << lane);
            }
        }
    }
    const std::uint32_t after = nodes_[path].pc + 1;
    const Mask mask = nodes_[path].mask;
    std::vector<std::uint32_t> call_nodes;
    if (targets.size() == 1 && active == mask) {
        nodes_[path].kind = Node::Kind::call;
        nodes_[path].pc = after;
        nodes_[path].arrived = 0;
        call_nodes.push_back(path);
    } else {
        nodes_[path].kind = Node::Kind::meeting;
        nodes_[path].pc = after;
        nodes_[path].arrived = mask & ~active;
        for (const auto& [function, lanes] : targets) {
            const std::uint32_t node = new_node();
            Node& call_node = nodes_[node];
            call_node.kind = Node::Kind::call;
            call_node.parent = path;
            call_node.pc = after;
            call_node.meets = after;
            call_node.mask = lanes;
            call_node.frame = nodes_[path].frame;
            call_node.depth = nodes_[path].depth;
            call_nodes.push_back(node);
        }
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
        nodes_[call_nodes[i]].call_site = instruction.list;
        if (!call_function(call_nodes[i], instruction, targets[i].first, targets[i].second)) {
            return false;
        }
    }
    return true;
}

}  // namespace egpu::simulated

// SPDX-License-Identifier: Apache-2.0
// Which function decodes which opcode.
#include <fmt/format.h>

#include <array>

#include "gpu/simulated/executor/decoder/function_decoder.hpp"
#include "gpu/simulated/executor/decoder/opcodes.hpp"
#include "gpu/simulated/executor/machine/cost.hpp"

namespace egpu::simulated {

/// The opcodes that are not element-wise.
struct FunctionDecoder::Entry {
    std::string_view root;
    void (*decode)(FunctionDecoder&);
};

std::span<const FunctionDecoder::Entry> FunctionDecoder::entries() {
    using D = FunctionDecoder;
    static constexpr Entry kEntries[] = {
        {"mov", [](D& d) { d.decode_move(); }},
        {"ld", [](D& d) { d.decode_load_store(false); }},
        {"ldu", [](D& d) { d.decode_load_store(false); }},
        {"st", [](D& d) { d.current_->has("async") ? d.decode_async_store(false) : d.decode_load_store(true); }},
        {"atom", [](D& d) { d.decode_atomic(false); }},
        {"red", [](D& d) { d.current_->has("async") ? d.decode_async_store(true) : d.decode_atomic(true); }},
        {"cp", [](D& d) { d.decode_async_copy(); }},
        {"mbarrier", [](D& d) { d.decode_mbarrier(); }},
        {"mapa", [](D& d) { d.decode_map_address(); }},
        {"getctarank", [](D& d) { d.decode_map_address(); }},
        {"mma", [](D& d) { d.decode_mma(); }},
        {"wmma", [](D& d) { d.decode_wmma(); }},
        {"ldmatrix", [](D& d) { d.decode_row_matrices(true); }},
        {"stmatrix", [](D& d) { d.decode_row_matrices(false); }},
        {"movmatrix", [](D& d) { d.decode_transpose(); }},
        {"tex", [](D& d) { d.decode_fetch(); }},
        {"tld4", [](D& d) { d.decode_fetch(); }},
        {"txq", [](D& d) { d.decode_image_query(false); }},
        {"suld", [](D& d) { d.decode_surface_access(false); }},
        {"sust", [](D& d) { d.decode_surface_access(true); }},
        {"sured", [](D& d) { d.decode_surface_reduction(); }},
        {"suq", [](D& d) { d.decode_image_query(true); }},
        {"cvta", [](D& d) { d.decode_cvta(); }},
        {"isspacep", [](D& d) { d.decode_is_space(); }},
        {"set", [](D& d) { d.decode_set(); }},
        {"bra", [](D& d) { d.decode_branch(); }},
        {"brx", [](D& d) { d.decode_branch_indexed(); }},
        {"call", [](D& d) { d.decode_call(); }},
        {"ret", [](D& d) { d.decode_leave(Control::ret); }},
        {"exit", [](D& d) { d.decode_leave(Control::exit); }},
        {"trap", [](D& d) { d.decode_leave(Control::trap); }},
        {"brkpt", [](D& d) { d.decode_leave(Control::trap); }},
        {"bar", [](D& d) { d.decode_barrier(); }},
        {"barrier", [](D& d) { d.decode_barrier(); }},
        {"shfl", [](D& d) { d.decode_collective(); }},
        {"vote", [](D& d) { d.decode_collective(); }},
        {"match", [](D& d) { d.decode_collective(); }},
        {"redux", [](D& d) { d.decode_collective(); }},
        {"elect", [](D& d) { d.decode_collective(); }},
        {"activemask", [](D& d) { d.decode_collective(); }},
        {"membar", [](D& d) { d.decode_fence(); }},
        {"fence", [](D& d) { d.decode_fence(); }},
        {"nanosleep", [](D& d) { d.decode_sleep(); }},
        {"prefetch", [](D& d) { d.decode_prefetch(); }},
        {"prefetchu", [](D& d) { d.decode_prefetch(); }},
        {"applypriority", [](D& d) { d.decode_prefetch(); }},
        {"discard", [](D& d) { d.decode_prefetch(); }},
        {"createpolicy", [](D& d) { d.decode_create_policy(); }},
        {"griddepcontrol", [](D& d) { d.decode_grid_dependency(); }},
        {"setmaxnreg", [](D& d) { d.decode_register_count(); }},
        {"pmevent", [](D& d) { d.decode_simple(Control::none, cost::kArithmetic); }},
    };
    return kEntries;
}

void FunctionDecoder::decode_instruction(const ptx::Instruction& instruction) {
    guard_ = {};
    guard_negated_ = false;
    if (instruction.guard) {
        const Symbol* const found = symbol(instruction.guard->predicate);
        if (found == nullptr || found->kind != Symbol::Kind::reg || found->type != Type::pred) {
            malformed(fmt::format("the guard '{}' is no predicate register", instruction.guard->predicate));
            return;
        }
        guard_ = found->place;
        guard_negated_ = instruction.guard->negated;
    }
    if (instruction.parts.empty()) {
        malformed("an instruction without an opcode");
        return;
    }
    for (const Entry& entry : entries()) {
        if (entry.root == instruction.parts.front()) {
            entry.decode(*this);
            return;
        }
    }
    bool found = false;
    const Form form = select(instruction.parts, found);
    if (!found) {
        missing(fmt::format("'{}'", instruction.opcode));
    } else if (!form.problem.empty()) {
        missing(fmt::format("'{}' ({})", instruction.opcode, form.problem));
    } else {
        decode_form(form);
    }
}

std::vector<std::string_view> FunctionDecoder::opcodes() {
    std::vector<std::string_view> roots = element_wise_opcodes();
    for (const Entry& entry : entries()) {
        roots.push_back(entry.root);
    }
    return roots;
}

std::vector<std::string_view> supported_opcodes() {
    return FunctionDecoder::opcodes();
}

}  // namespace egpu::simulated

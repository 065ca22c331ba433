// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/flow/flow.hpp"

#include <algorithm>
#include <array>

#include "ebpf/events/events.hpp"
#include "ebpf/helpers/helpers.hpp"
#include "ebpf/verifier/flow/graph.hpp"

namespace egpu::ebpf {
namespace {

constexpr std::uint16_t bit(unsigned index) {
    return static_cast<std::uint16_t>(1u << index);
}
constexpr std::uint16_t kArguments = 0b111110, kCallClobbers = 0b111111;

using Use = RegisterUse;

Use use_of_call(const Instruction& i) {
    Use use{kArguments, kCallClobbers};
    const Helper* called = called_helper(i);
    if (called == nullptr)
        return use;
    use.reads = 0;
    for (unsigned n = 0; n < called->arguments.size(); ++n)
        if (called->arguments[n] != ArgumentKind::none)
            use.reads = static_cast<std::uint16_t>(use.reads | bit(n + 1));
    return use;
}

Use use_of_memory(const Instruction& i) {
    const std::uint16_t destination = bit(i.destination), source = bit(i.source);
    if (class_of(i) == kClassLdx)
        return {source, destination};
    if (class_of(i) == kClassSt)
        return {destination, 0};
    Use use{static_cast<std::uint16_t>(destination | source), 0};
    if (mode_of(i) != kModeAtomic)
        return use;
    if (i.immediate == kCompareExchange)
        return {static_cast<std::uint16_t>(use.reads | bit(0)), bit(0)};
    if (i.immediate & kFetch)
        use.writes = source;
    return use;
}

}  // namespace

RegisterUse use_of(const Instruction& i, bool in_main) {
    const std::uint16_t destination = bit(i.destination);
    const std::uint16_t operand = uses_register(i) ? bit(i.source) : std::uint16_t{0};
    if (is_alu(i)) {
        const std::uint16_t source = operation_of(i) == kEnd ? std::uint16_t{0} : operand;
        return {static_cast<std::uint16_t>(source | (operation_of(i) == kMov ? 0 : destination)), destination};
    }
    if (i.opcode == kCall)
        return use_of_call(i);
    if (i.opcode == kExit)
        return {in_main ? std::uint16_t{0} : bit(0), 0};
    if (is_goto(i))
        return {};
    if (is_jump_class(i))
        return {static_cast<std::uint16_t>(destination | operand), 0};
    if (class_of(i) == kClassLd)
        return {0, destination};
    return use_of_memory(i);
}

namespace {

/// Backward: a register is live where it is read before it is written.
void find_live(std::span<const Instruction> program, const Graph& graph, Flow& flow) {
    std::vector<std::uint32_t> work;
    std::vector<std::uint8_t> queued(program.size(), 1);
    for (std::uint32_t at = 0; at < program.size(); ++at)
        work.push_back(at);
    while (!work.empty()) {
        const std::uint32_t at = work.back();
        work.pop_back();
        queued[at] = 0;
        std::uint16_t after = 0;
        for (const std::uint32_t next : graph.successors(at))
            after = static_cast<std::uint16_t>(after | flow.live[next]);
        const Use use = use_of(program[at], flow.function[at] == 0);
        const auto live = static_cast<std::uint16_t>((after & ~use.writes) | use.reads);
        if (live == flow.live[at])
            continue;
        flow.live[at] = live;
        for (const std::uint32_t before : graph.predecessors(at)) {
            if (queued[before])
                continue;
            queued[before] = 1;
            work.push_back(before);
        }
    }
}

/// Fields of a context that a load would read, were its base the context. One read by a moved pointer is missed, and a
/// load of something else counted: what is known of a field may be forgotten at any time, so both do no harm.
std::uint64_t fields_of(const Instruction& i) {
    std::uint64_t fields = 0;
    if (class_of(i) != kClassLdx)
        return 0;
    const std::span<const ContextField> all = context_fields();
    for (std::size_t n = 0; n < all.size(); ++n)
        if (all[n].offset == static_cast<std::uint32_t>(i.offset) && all[n].bytes == access_bytes(i))
            fields |= std::uint64_t{1} << n;
    return fields;
}

void find_live_fields(std::span<const Instruction> program, const Graph& graph, Flow& flow) {
    std::vector<std::uint32_t> work;
    for (std::uint32_t at = 0; at < program.size(); ++at) {
        flow.live_fields[at] = fields_of(program[at]);
        if (flow.live_fields[at] != 0)
            work.push_back(at);
    }
    while (!work.empty()) {
        const std::uint32_t at = work.back();
        work.pop_back();
        for (const std::uint32_t before : graph.predecessors(at)) {
            const std::uint64_t live = flow.live_fields[before] | flow.live_fields[at];
            if (live == flow.live_fields[before])
                continue;
            flow.live_fields[before] = live;
            work.push_back(before);
        }
    }
}

/// Lookups and atomic operations name an element of a map.
bool names_element(const Instruction& i) {
    if (class_of(i) == kClassStx)
        return mode_of(i) == kModeAtomic;
    const Helper* called = called_helper(i);
    return called != nullptr && called->returns == ReturnKind::map_value_or_null;
}

/// Instructions between a jump back and its target: every loop lies in such stretches.
std::vector<std::uint8_t> in_loops(std::span<const Instruction> program) {
    std::vector<std::int32_t> change(program.size() + 1);
    for (std::uint32_t at = 0; at < program.size(); ++at) {
        const Instruction& i = program[at];
        if ((is_goto(i) || is_conditional_jump(i)) && target_of(i, at) <= at) {
            ++change[target_of(i, at)];
            --change[at + 1];
        }
    }
    std::vector<std::uint8_t> in_loop(program.size());
    std::int32_t open = 0;
    for (std::size_t at = 0; at < program.size(); ++at)
        in_loop[at] = (open += change[at]) > 0;
    return in_loop;
}

/// Marks functions along calls until none is new: from caller to called, or the other way.
void spread_along_calls(std::span<const Instruction> program, const Flow& flow, bool to_called,
                        std::vector<std::uint8_t>& marked) {
    for (bool changed = true; changed;) {
        changed = false;
        for (std::uint32_t at = 0; at < program.size(); ++at) {
            if (!is_local_call(program[at]))
                continue;
            const std::uint32_t caller = flow.function[at], called = target_of(program[at], at);
            auto& from = marked[to_called ? caller : called];
            auto& to = marked[to_called ? called : caller];
            changed = changed || (from && !to);
            to = to || from;
        }
    }
}

void find_names_again(std::span<const Instruction> program, const Graph& graph, Flow& flow) {
    const std::vector<std::uint8_t>& in_loop = flow.in_loop;
    std::vector<std::uint8_t> repeated(program.size()), holds(program.size());  // by a function's first instruction
    for (std::uint32_t at = 0; at < program.size(); ++at)
        if (in_loop[at] && is_local_call(program[at]))
            repeated[target_of(program[at], at)] = 1;
    spread_along_calls(program, flow, true, repeated);
    std::vector<std::uint32_t> work;
    const auto mark = [&](std::uint32_t at) {
        if (!flow.names_again[at])
            work.push_back(at);
        flow.names_again[at] = 1;
    };
    for (std::uint32_t at = 0; at < program.size(); ++at)
        if (names_element(program[at]) && (in_loop[at] || repeated[flow.function[at]])) {
            mark(at);
            holds[flow.function[at]] = 1;
        }
    spread_along_calls(program, flow, false, holds);
    for (std::uint32_t at = 0; at < program.size(); ++at)
        if (is_local_call(program[at]) && holds[target_of(program[at], at)])
            mark(at);
    while (!work.empty()) {
        const std::uint32_t at = work.back();
        work.pop_back();
        for (const std::uint32_t before : graph.predecessors(at))
            mark(before);
    }
}

void find_functions(std::span<const Instruction> program, Flow& flow) {
    flow.functions = {0};
    for (std::uint32_t at = 0; at < program.size(); ++at) {
        const Instruction& i = program[at];
        if (is_local_call(i)) {
            flow.functions.push_back(target_of(i, at));
            flow.is_meeting[target_of(i, at)] = 1;
            flow.is_meeting[at + 1] = 1;  // a call is never the last (check_encoding)
        } else if (is_goto(i) || is_conditional_jump(i)) {
            const std::uint32_t target = target_of(i, at);
            flow.is_meeting[target] = 1;
            if (target <= at)
                flow.back_edge[target] = at;
        }
        if (program[at].opcode == kLoadImmediate64)
            ++at;
    }
    std::sort(flow.functions.begin(), flow.functions.end());
    flow.functions.erase(std::unique(flow.functions.begin(), flow.functions.end()), flow.functions.end());
    std::size_t function = 0;
    for (std::uint32_t at = 0; at < program.size(); ++at) {
        if (function + 1 < flow.functions.size() && flow.functions[function + 1] == at)
            ++function;
        flow.function[at] = flow.functions[function];
    }
}

}  // namespace

bool is_local_call(const Instruction& instruction) {
    return instruction.opcode == kCall && instruction.source == kPseudoCall;
}

std::uint32_t target_of(const Instruction& instruction, std::uint32_t at) {
    const std::int64_t distance = is_local_call(instruction) ? instruction.immediate : jump_distance(instruction);
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(at) + 1 + distance);
}

Flow analyse_flow(std::span<const Instruction> program) {
    Flow flow;
    flow.is_meeting.resize(program.size());
    flow.back_edge.resize(program.size(), Flow::kFunctionEnd);
    flow.live.resize(program.size());
    flow.live_fields.resize(program.size());
    flow.in_loop = in_loops(program);
    flow.names_again.resize(program.size());
    flow.function.resize(program.size());
    find_functions(program, flow);
    const Graph graph(program);
    find_live(program, graph, flow);
    find_live_fields(program, graph, flow);
    find_names_again(program, graph, flow);
    flow.join = graph.joins();
    return flow;
}

}  // namespace egpu::ebpf

// SPDX-License-Identifier: Apache-2.0
#include "expected.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "base/names.hpp"

namespace egpu::inject::testing {
namespace {

using ebpf::Event, ebpf::Space;

std::string opcode_of(const ptx::Instruction& instruction) {
    std::string opcode;
    for (const auto part : instruction.parts)
        opcode += (opcode.empty() ? "" : ".") + std::string(part);
    return opcode;
}

bool begins_with(const std::string& opcode, std::initializer_list<const char*> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const std::string prefix) { return opcode == prefix || opcode.starts_with(prefix + "."); });
}

bool has(const ptx::Instruction& instruction, std::string_view prefix) {
    return std::any_of(instruction.parts.begin(), instruction.parts.end(),
                       [&](auto part) { return part == prefix || part.starts_with(std::string(prefix) + "::"); });
}

/// Ends a basic block.
bool leaves_line(const std::string& opcode) {
    return begins_with(opcode, {"bra", "brx", "ret", "exit", "trap"});
}

class Collector {
public:
    explicit Collector(const simulated::Profile& profile) {
        for (const auto& one : profile.instructions())
            counts_[one.offset] = one;
    }

    void walk(const ptx::Function& function, const ptx::Scope& scope) {
        for (const auto& statement : scope.statements) {
            if (const auto* inner = std::get_if<std::unique_ptr<ptx::Scope>>(&statement)) {
                walk(function, **inner);
            } else if (std::get_if<ptx::Label>(&statement) != nullptr) {
                begins_ = true;
            } else if (const auto* instruction = std::get_if<ptx::Instruction>(&statement)) {
                add(function, *instruction);
            }
        }
    }
    /// Functions that the kernel does not reach have no counts at all.
    void add_function(const ptx::Function& function) {
        begins_ = true;
        const auto before = all_.size();
        missing_.clear();
        walk(function, *function.body);
        if (all_.size() > before)
            for (const auto& opcode : missing_)
                ADD_FAILURE() << "the simulated GPU does not count '" << opcode << "' of " << function.name;
    }
    std::vector<ExecutedInstruction> take() { return std::move(all_); }

private:
    void add(const ptx::Function& function, const ptx::Instruction& instruction) {
        const std::string opcode = opcode_of(instruction);
        const auto found = counts_.find(instruction.range.begin);
        if (found == counts_.end())
            missing_.push_back(opcode);
        else
            all_.push_back({&function, &instruction, opcode, begins_, found->second});
        begins_ = leaves_line(opcode);
    }

    std::map<std::uint32_t, simulated::Executed> counts_;
    std::vector<ExecutedInstruction> all_;
    std::vector<std::string> missing_;
    bool begins_ = true;
};

bool is_memory(const ExecutedInstruction& one, std::initializer_list<const char*> prefixes) {
    return begins_with(one.opcode, prefixes) && !has(*one.instruction, "param");
}
bool is_load(const ExecutedInstruction& one) {
    return is_memory(one, {"ld", "ldu", "ldmatrix", "wmma.load", "tex", "tld4", "suld"});
}
bool is_store(const ExecutedInstruction& one) {
    return is_memory(one, {"st", "stmatrix", "wmma.store", "sust"});
}
bool is_atomic(const ExecutedInstruction& one) {
    return is_memory(one, {"atom", "red", "sured"});
}
/// Named by an object and coordinates: no address to wait for, and none of the spaces.
bool is_image(const ExecutedInstruction& one) {
    return begins_with(one.opcode, {"tex", "tld4", "suld", "sust", "sured"});
}
bool is_copy(const std::string& opcode) {
    return begins_with(opcode, {"cp.async", "cp.reduce.async"}) &&
           !begins_with(opcode,
                        {"cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all", "cp.async.mbarrier",
                         "cp.async.bulk.commit_group", "cp.async.bulk.wait_group", "cp.async.bulk.prefetch"});
}

bool is_of(Event event, const ExecutedInstruction& one) {
    switch (event) {
        case Event::load:
            return is_load(one);
        case Event::load_return:
            return is_load(one) && !is_image(one);
        case Event::store:
            return is_store(one);
        case Event::atomic:
            return is_atomic(one);
        case Event::mem:
            return is_load(one) || is_store(one) || is_atomic(one);
        case Event::atomic_return:
            return is_memory(one, {"atom"});
        case Event::async_copy:
            return is_copy(one.opcode);
        case Event::barrier:
            return begins_with(one.opcode, {"bar", "barrier"}) && !begins_with(one.opcode, {"bar.warp"});
        case Event::branch:
            return begins_with(one.opcode, {"bra", "brx"});
        case Event::call:
            return begins_with(one.opcode, {"call"});
        case Event::mma:
            return begins_with(one.opcode, {"mma", "wmma.mma", "wgmma.mma_async", "tcgen05.mma"});
        case Event::basic_block:
            return one.begins_block;
        default:
            return false;
    }
}

/// The space that the opcode names; asynchronous copies are about their side in global memory.
Space written_space(const ExecutedInstruction& one) {
    if (is_copy(one.opcode))
        return Space::global;
    static constexpr std::array<std::pair<const char*, Space>, 4> kNames = {
        {{"global", Space::global}, {"shared", Space::shared}, {"local", Space::local}, {"const", Space::constant}}};
    for (const auto& [name, space] : kNames)
        if (has(*one.instruction, name))
            return space;
    return Space::generic;
}

/// Of a generic access, the lanes whose address is in a space.
std::uint64_t lanes_in(const simulated::Executed& executed, Space space) {
    switch (space) {
        case Space::shared:
            return executed.shared;
        case Space::local:
            return executed.local;
        case Space::global:
            return executed.lanes - executed.shared - executed.local - executed.parameter;
        default:
            return 0;
    }
}

void add(Count& count, std::uint64_t threads, std::optional<std::uint64_t> groups) {
    count.threads += threads;
    count.groups = count.groups && groups ? std::optional(*count.groups + *groups) : std::nullopt;
}

}  // namespace

std::vector<ExecutedInstruction> executed_instructions(const ptx::Module& module, const simulated::Profile& profile) {
    Collector collector(profile);
    for (const auto& function : module.functions)
        if (function.body != nullptr)
            collector.add_function(function);
    return collector.take();
}

Count expected_count(const std::vector<ExecutedInstruction>& instructions, const ebpf::InjectionPoint& point) {
    Count count;
    for (const auto& one : instructions) {
        const auto& executed = one.executed;
        if (point.event == Event::instruction) {
            if (glob_matches(point.opcode_pattern, one.opcode))
                add(count, executed.lanes, executed.groups);
        } else if (!is_of(point.event, one) || (point.space && is_image(one))) {
            continue;
        } else if (point.event == Event::branch || point.event == Event::basic_block) {
            add(count, executed.lanes_there, executed.groups_there);
        } else if (!point.space || *point.space == written_space(one)) {
            add(count, executed.lanes, executed.groups);
        } else if (written_space(one) == Space::generic) {
            const auto lanes = lanes_in(executed, *point.space);
            add(count, lanes,
                lanes == 0                ? std::optional<std::uint64_t>(0)
                : lanes == executed.lanes ? std::optional(executed.groups)
                                          : std::nullopt);
        }
    }
    return count;
}

}  // namespace egpu::inject::testing

// SPDX-License-Identifier: Apache-2.0
// Any bytes as a PTX module: for each kernel a refusal, or a copy that is PTX again, holds one kernel and keeps its
// sites' instructions.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "inject/clone/clone.hpp"
#include "inject/match/match.hpp"
#include "ptx/syntax/parser.hpp"

using namespace egpu;

static void require(bool holds, const char* what) {
    if (holds)
        return;
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

static std::size_t kernels_in(const ptx::Module& module) {
    std::size_t count = 0;
    for (const auto& function : module.functions)
        count += function.is_entry && function.body != nullptr ? 1 : 0;
    return count;
}

/// A program that does nothing, at an injection point: sites are found, numbered and bound, and nothing is written.
struct EmptyProgram {
    ebpf::Object object;
    explicit EmptyProgram(const char* section) {
        ebpf::Program program;
        program.name = "empty";
        program.section = section;
        const auto point = ebpf::parse_section(section);
        require(bool(point), "the fuzzer's own sections are right");
        program.point = *point;
        ebpf::Instruction move, leave;
        move.opcode = ebpf::kClassAlu64 | static_cast<std::uint8_t>(ebpf::kMov);
        leave.opcode = ebpf::kExit;
        program.instructions = {move, leave};
        object.programs.push_back(program);
    }
};

static void check_kernel(const ptx::Module& module, const ptx::Function& entry) {
    const auto functions = inject::reachable_functions(module, entry);
    if (functions) {
        require(!functions->empty() && functions->front() == &entry, "the entry comes first");
        for (const char* section : {"gpu/mem", "gpu/load.global", "gpu.warp/load_return", "gpu/atomic.shared",
                                    "gpu/atomic_return", "gpu/async_copy"}) {
            const auto point = ebpf::parse_section(section);
            for (const auto& site : inject::find_sites(module, *functions, *point).sites)
                require(site.instruction != nullptr && site.anchor == site.instruction, "a memory site has a place");
        }
    }
    const std::string name(entry.name);
    const auto plain = inject::reassembled_copy(module, name);
    if (plain) {
        const auto again = ptx::parse(*plain, "copy");
        require(bool(again), "a copy is PTX");
        require(kernels_in(*again) == 1, "a copy has one kernel");
    }
    static const EmptyProgram programs[] = {EmptyProgram("gpu/mem"),
                                            EmptyProgram("gpu/kernel_entry"),
                                            EmptyProgram("gpu.warp/load_return.global"),
                                            EmptyProgram("gpu/atomic_return"),
                                            EmptyProgram("gpu.warp/async_copy"),
                                            EmptyProgram("gpu/instruction/*"),
                                            EmptyProgram("gpu.warp/basic_block"),
                                            EmptyProgram("gpu/branch")};
    const std::vector<maps::Layout> layouts;
    inject::CopyRequest request;
    request.module = &module;
    request.entry = name;
    request.layouts = &layouts;
    for (const auto& program : programs)
        request.programs.push_back({&program.object, &program.object.programs[0], 0, 0});
    request.slot_of_key = [](std::uint32_t, std::span<const std::byte>) { return std::nullopt; };
    const auto copy = inject::build_copy(request);
    require(bool(copy) == bool(plain), "a program that does nothing changes nothing");
    request.constants_in_bank = true;
    const auto banked = inject::build_copy(request);
    require(bool(banked) == bool(plain), "where constants lie refuses nothing");
    if (!banked)
        return;
    const auto again = ptx::parse(banked->ptx, "copy");
    require(bool(again), "a copy with a bank is PTX");
    for (const auto& constant : banked->bank) {
        const auto* variable = again->variable(constant.symbol);
        require(variable != nullptr && variable->bytes() == constant.bytes, "the copy has its constants");
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto module = ptx::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
    if (!module)
        return 0;
    std::size_t left = 8;
    for (const auto& function : module->functions)
        if (function.is_entry && function.body != nullptr && left-- > 0)
            check_kernel(*module, function);
        else if (left == 0)
            break;
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "inject/standalone/standalone.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "maps/storage/storage.hpp"

namespace egpu::inject {

using namespace ebpf;

namespace {

constexpr std::uint32_t kResultBytes = 8;

MapDefinition array_of_one(std::string name, std::uint32_t value_bytes) {
    MapDefinition map;
    map.name = std::move(name);
    map.type = MapType::array;
    map.key_bytes = 4;
    map.value_bytes = value_bytes;
    map.max_entries = 1;
    return map;
}

/// What stands before the body. The addresses come from lookups, as in any program; their NULL tests are left out,
/// since element 0 exists.
std::vector<Instruction> frame(std::uint32_t memory_bytes) {
    const std::string text = fmt::format(
        "stw [%r10-4], 0\n"
        "mov %r2, %r10\nadd %r2, -4\nlddw %r1, {}\ncall 1\nmov %r9, %r0\n"
        "mov %r2, %r10\nadd %r2, -4\nlddw %r1, {}\ncall 1\nmov %r1, %r0\nmov %r2, {}\n{}"
        "call local body\nstxdw [%r9+0], %r0\nmov %r0, 0\nexit\nbody:\nexit\n",
        kResultMap, kMemoryMap, memory_bytes, memory_bytes == 0 ? "mov %r1, 0\n" : "");
    auto code = *assemble(text);
    code.pop_back();  // the body stands where the label was
    for (auto& i : code)
        if (i.opcode == kLoadImmediate64)
            i.source = kPseudoMap;
    return code;
}

Result<SpecializedProgram> specialized(const Object& object) {
    const auto slot_of_key = [](std::uint32_t, std::span<const std::byte> key) -> std::optional<std::uint32_t> {
        std::uint32_t index = 0;
        std::memcpy(&index, key.data(), sizeof index);
        return index == 0 ? std::optional(index) : std::nullopt;
    };
    return specialize(object, object.programs.front(), {}, slot_of_key);
}

}  // namespace

Target version_for(std::uint32_t sm) {
    if (sm > 100)
        return {sm, 9, 0};
    if (sm == 100)
        return {sm, 8, 6};
    if (sm > 80)
        return {sm, 7, 8};
    if (sm == 80)
        return {sm, 7, 0};
    if (sm >= 75)
        return {sm, 6, 3};
    return {sm, sm >= 70 ? 6u : 5u, 0};
}

Object memory_function(const std::vector<Instruction>& body, std::uint32_t memory_bytes) {
    Object object;
    object.maps = {array_of_one("memory", std::max(memory_bytes, kResultBytes)), array_of_one("result", kResultBytes)};
    Program program;
    program.name = "body";
    program.section = "gpu/kernel_entry";
    program.point.event = Event::kernel_entry;
    program.instructions = frame(memory_bytes);
    program.instructions.insert(program.instructions.end(), body.begin(), body.end());
    object.programs.push_back(std::move(program));
    return object;
}

Result<StandaloneKernel> standalone_kernel(const std::vector<Instruction>& body, std::uint32_t memory_bytes,
                                           std::uint32_t sm, bool any_alignment) {
    if (auto encoded = check_encoding(body); !encoded)
        return encoded.errors();
    const Object object = memory_function(body, memory_bytes);
    const auto program = specialized(object);
    if (!program)
        return program.errors();
    StandaloneKernel kernel;
    for (const auto& map : object.maps)
        kernel.maps.push_back(maps::layout_of(map, 1));
    Table table;
    FunctionContext function;
    function.target = function.required = version_for(sm);
    function.table = &table;
    function.layouts = &kernel.maps;
    function.any_alignment = any_alignment;
    const auto probe = emit_probe(*program, {}, 0, function);
    if (!probe)
        return probe.errors();
    kernel.table = table.entries();
    kernel.ptx =
        fmt::format(".version {}.{}\n.target sm_{}\n.address_size 64\n{}.visible .entry {}()\n{{\n{}\tret;\n}}\n",
                    function.required.ptx_major, function.required.ptx_minor, sm, table.declaration(),
                    StandaloneKernel::kEntry, probe->text);
    return kernel;
}

}  // namespace egpu::inject

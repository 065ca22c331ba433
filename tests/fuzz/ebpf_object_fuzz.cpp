// SPDX-License-Identifier: Apache-2.0
// Any bytes as an eBPF object: refused, or read into something that keeps the promises of ebpf/object and that the
// reference engine runs or faults on.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "ebpf/interpreter/interpreter.hpp"

using namespace egpu;
using namespace egpu::ebpf;

static void require(bool holds, const char* what) {
    if (holds)
        return;
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

static void check_shape(const TypeShape& shape, std::uint32_t bytes) {
    require(shape.bytes == bytes, "a shape is as large as its key or value");
    for (const auto& field : shape.fields)
        require(std::uint64_t{field.offset} + std::uint64_t{field.bytes} * field.elements <= bytes,
                "a field is inside its shape");
}

static void check_program(const Object& object, const Program& program) {
    require(bool(check_encoding(program.instructions)), "programs are well formed");
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
        const auto& instruction = program.instructions[i];
        const bool wide = instruction.opcode == kLoadImmediate64;
        require(!to_text(instruction, wide ? &program.instructions[i + 1] : nullptr).empty(),
                "instructions have a text");
        if (wide && instruction.source == kPseudoMap)
            require(static_cast<std::uint32_t>(instruction.immediate) < object.maps.size(), "a map load names a map");
        if (wide && instruction.source == kPseudoMapValue) {
            const auto map = static_cast<std::uint32_t>(instruction.immediate);
            const auto at = static_cast<std::uint32_t>(program.instructions[i + 1].immediate);
            if (map == Object::kConstantsMap) {
                require(at <= object.constants.size(), "an address is inside the constants");
            } else {
                require(map < object.maps.size() && object.maps[map].is_array(), "other addresses are of arrays");
                require(at <= object.maps[map].value_bytes, "an address is inside an element");
            }
        }
        i += wide ? 1 : 0;
    }
    std::uint32_t before = 0;
    for (const auto& line : program.lines) {
        require(line.instruction >= before && line.instruction < program.instructions.size(), "lines ascend");
        before = line.instruction;
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto object = read_object(std::as_bytes(std::span(data, size)), "fuzz.o");
    if (!object) {
        for (const auto& wrong : object.errors())
            require(!to_text(wrong).empty() && !wrong.code.empty(), "a refusal has a code and a text");
        return 0;
    }
    for (const auto& map : object->maps) {
        check_shape(map.key, map.key_bytes);
        check_shape(map.value, map.value_bytes);
    }
    for (const auto& option : object->options) {
        require(std::uint64_t{option.offset} + option.bytes <= object->constants.size(),
                "an option is inside the constants");
        require(bool(set_option(*object, option.name, "1")), "every option takes 1");
    }
    for (const auto& program : object->programs) {
        check_program(*object, program);
        std::vector<ReferenceMap> maps(object->maps.size());
        Execution execution;
        execution.context.resize(context_bytes(ContextKind::mem));
        execution.maps = &maps;
        execution.step_limit = 2000;
        const auto result = interpret(*object, program.instructions, execution);
        require(bool(result) || !result.error().message.empty(), "a fault has a message");
    }
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// PTX text of anyone: parsed or refused, and what was parsed keeps its promises (ranges, losslessness, edits).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ptx/opcodes/memory.hpp"
#include "ptx/syntax/edit.hpp"
#include "ptx/syntax/parser.hpp"

namespace {

using namespace egpu::ptx;

void require(bool condition, const char* what) {
    if (condition)
        return;
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

bool inside(Range inner, Range outer) {
    return inner.begin >= outer.begin && inner.begin <= inner.end && inner.end <= outer.end;
}

void check(const Operand& operand, Range instruction) {
    require(inside(operand.range, instruction), "an operand lies in its instruction");
    for (const Operand& part : operand.parts)
        check(part, operand.range);
}

void check(const Instruction& instruction, Range scope, const Module& module) {
    require(inside(instruction.range, scope), "an instruction lies in its scope");
    require(!instruction.parts.empty(), "an instruction has an opcode");
    require(module.slice(instruction.range).ends_with(';'), "an instruction ends with its semicolon");
    for (const Operand& operand : instruction.operands)
        check(operand, instruction.range);
    const auto access = memory_access(instruction, true);
    require(!(access && touches_memory_in_an_unknown_way(instruction)), "an access is described or unknown");
    if (!access)
        return;
    for (const int operand : {access->address_operand, access->value_operand, access->bytes_operand})
        require(operand < static_cast<int>(instruction.operands.size()), "an access's operands are the instruction's");
    if (access->address_operand >= 0)
        require(
            instruction.operands.at(static_cast<std::size_t>(access->address_operand)).kind == Operand::Kind::address,
            "the address operand is an address");
}

std::size_t check(const Scope& scope, const Module& module, Editor& editor) {
    std::size_t instructions = 0;
    std::uint32_t position = scope.open.end;
    require(module.slice(scope.open) == "{" && module.slice(scope.close) == "}", "braces of a scope");
    for (const Statement& statement : scope.statements) {
        Range range;
        if (const auto* inner = std::get_if<std::unique_ptr<Scope>>(&statement)) {
            range = (*inner)->range;
            instructions += check(**inner, module, editor);
        } else if (const auto* instruction = std::get_if<Instruction>(&statement)) {
            range = instruction->range;
            check(*instruction, scope.range, module);
            editor.insert_before(range, "/**/");
            editor.insert_after(range, "//\n");
            ++instructions;
        } else if (const auto* variable = std::get_if<Variable>(&statement)) {
            range = variable->range;
            (void)variable->bytes();
        } else if (const auto* label = std::get_if<Label>(&statement)) {
            range = label->range;
        } else {
            range = std::get<Directive>(statement).range;
        }
        require(range.begin >= position && range.end > range.begin && range.end <= scope.close.begin,
                "statements stand in order");
        position = range.end;
    }
    return instructions;
}

std::size_t check(const Module& module, Editor& editor) {
    std::size_t instructions = 0;
    for (const Function& function : module.functions)
        if (function.body != nullptr)
            instructions += check(*function.body, module, editor);
    return instructions;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto module = parse(text, "fuzz");
    if (!module) {
        require(module.error().code.starts_with("EGPU-P"), "an error has a code");
        return 0;
    }
    require(text.starts_with(*module->text) && Editor(*module).apply() == *module->text, "nothing is lost");
    Editor editor(*module);
    const std::size_t instructions = check(*module, editor);
    const auto edited = parse(editor.apply(), "edited");
    require(edited.has_value(), "an edited module parses");
    Editor unused(*edited);
    require(check(*edited, unused) == instructions, "comments change no instruction");
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "dump.hpp"

#include <fmt/format.h>

namespace egpu::test {
namespace {

using namespace ptx;

std::string dump_all(const std::vector<Operand>& operands, std::string_view separator) {
    std::string out;
    for (const Operand& operand : operands)
        out += (out.empty() ? "" : std::string(separator)) + test::dump(operand);
    return out;
}

const char* space_name(Space space) {
    static constexpr const char* kNames[] = {"reg",   "param",   "local",   "shared",  "global",
                                             "const", "texture", "sampler", "surface", "none"};
    return kNames[static_cast<std::size_t>(space)];
}

std::string dump_variable(const Variable& variable) {
    std::string out = fmt::format("{} {} {}", space_name(variable.space), variable.type, variable.name);
    if (!variable.linkage.empty())
        out += fmt::format(" linkage={}", variable.linkage);
    if (variable.vector != 1)
        out += fmt::format(" vector={}", variable.vector);
    if (variable.alignment != 0)
        out += fmt::format(" align={}", variable.alignment);
    if (variable.pointer_alignment != 0)
        out += fmt::format(" pointer_align={}", variable.pointer_alignment);
    if (variable.count != 0)
        out += fmt::format(" count={}", variable.count);
    for (const std::uint64_t dimension : variable.dimensions)
        out += fmt::format(" [{}]", dimension);
    for (const std::string_view attribute : variable.attributes)
        out += fmt::format(" +{}", attribute);
    out += fmt::format(" bytes={}", variable.bytes());
    if (variable.initializer)
        out += " = " + test::dump(*variable.initializer);
    return out;
}

std::string one_line(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += c == '\n' ? ' ' : c == '\t' ? ' ' : c;
    return out;
}

std::string dump_directive(const Directive& directive) {
    const std::string label = directive.label.empty() ? "" : fmt::format(" label={}", directive.label);
    return fmt::format("directive {}{}: {}", directive.name, label, one_line(directive.text));
}

std::string dump_instruction(const Instruction& instruction) {
    std::string out = "instruction ";
    if (instruction.guard)
        out += fmt::format("@{}{} ", instruction.guard->negated ? "!" : "", instruction.guard->predicate);
    for (const std::string_view part : instruction.parts)
        out += fmt::format("{}{}", part.data() == instruction.parts.front().data() ? "" : "|", part);
    if (!instruction.operands.empty())
        out += "  " + dump_all(instruction.operands, "  ");
    if (instruction.source.line != 0)
        out += fmt::format("  <{}:{}:{}>", instruction.source.file, instruction.source.line, instruction.source.column);
    return out;
}

void dump_scope(std::string& out, const Scope& scope, std::size_t indent) {
    const std::string margin(indent, ' ');
    out += margin + "{\n";
    for (const Statement& statement : scope.statements) {
        if (const auto* inner = std::get_if<std::unique_ptr<Scope>>(&statement))
            dump_scope(out, **inner, indent + 2);
        else if (const auto* instruction = std::get_if<Instruction>(&statement))
            out += fmt::format("{}  {}\n", margin, dump_instruction(*instruction));
        else if (const auto* label = std::get_if<Label>(&statement))
            out += fmt::format("{}  label {}\n", margin, label->name);
        else if (const auto* variable = std::get_if<Variable>(&statement))
            out += fmt::format("{}  variable {}\n", margin, dump_variable(*variable));
        else if (const auto* directive = std::get_if<Directive>(&statement))
            out += fmt::format("{}  {}\n", margin, dump_directive(*directive));
    }
    out += margin + "}\n";
}

void dump_function(std::string& out, const Function& function) {
    out += fmt::format("{} {}{}{}\n", function.is_entry ? "entry" : "func", function.name,
                       function.linkage.empty() ? "" : " linkage=", function.linkage);
    for (const Variable& variable : function.returns)
        out += fmt::format("  return {}\n", dump_variable(variable));
    for (const Variable& variable : function.parameters)
        out += fmt::format("  parameter {}\n", dump_variable(variable));
    for (const Directive& directive : function.directives)
        out += fmt::format("  {}\n", dump_directive(directive));
    if (function.body != nullptr)
        dump_scope(out, *function.body, 2);
}

}  // namespace

std::string dump(const Operand& operand) {
    std::string out = operand.negated ? "not " : "";
    switch (operand.kind) {
        case Operand::Kind::identifier:
            out += std::string(operand.text);
            return operand.base.empty() ? out : fmt::format("{}<{}{:+}>", out, operand.base, operand.integer);
        case Operand::Kind::integer:
            return fmt::format("{}#{}", out, operand.integer);
        case Operand::Kind::floating:
            return fmt::format("{}f{}:{:x}", out, operand.floating_bits, static_cast<std::uint64_t>(operand.integer));
        case Operand::Kind::vector:
            return out + "{" + dump_all(operand.parts, " ") + "}";
        case Operand::Kind::list:
            return out + "(" + dump_all(operand.parts, " ") + ")";
        case Operand::Kind::pair:
            return out + dump_all(operand.parts, "|");
        case Operand::Kind::address:
            return fmt::format("{}[{}{:+}{}{}]", out, operand.base, operand.integer, operand.parts.empty() ? "" : " ",
                               dump_all(operand.parts, " "));
        case Operand::Kind::other:
            break;
    }
    out += fmt::format("other`{}`", operand.text);
    return operand.base.empty() ? out : fmt::format("{}<{}{:+}>", out, operand.base, operand.integer);
}

std::string dump(const Module& module) {
    std::string out = fmt::format("version {}.{} target {}", module.version_major, module.version_minor, module.target);
    for (const std::string_view option : module.target_options)
        out += fmt::format(",{}", option);
    out += fmt::format(" address_size {}\n", module.address_size);
    for (const File& file : module.files)
        out += fmt::format("file {} {}\n", file.index, file.name);
    for (const Variable& variable : module.variables)
        out += fmt::format("variable {}\n", dump_variable(variable));
    for (const Function& function : module.functions)
        dump_function(out, function);
    for (const Alias& alias : module.aliases)
        out += fmt::format("alias {} {}\n", alias.name, alias.target);
    for (const Directive& directive : module.directives)
        out += fmt::format("{}\n", dump_directive(directive));
    return out;
}

std::vector<const Instruction*> instructions_of(const Module& module) {
    std::vector<const Instruction*> all;
    for (const Function& function : module.functions)
        if (function.body != nullptr)
            for_each_statement(*function.body, [&](const Statement& statement) {
                if (const auto* instruction = std::get_if<Instruction>(&statement))
                    all.push_back(instruction);
            });
    return all;
}

}  // namespace egpu::test

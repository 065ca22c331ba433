// SPDX-License-Identifier: Apache-2.0
// Statements of a function in order: declarations, labels, instructions.
#include "gpu/simulated/executor/decoder/function_decoder.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"
#include "gpu/simulated/executor/decoder/flow.hpp"
#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/machine/special.hpp"

namespace egpu::simulated {
namespace {

constexpr unsigned kDeepestScope = 200;
constexpr std::uint64_t kLargestFrame = std::uint64_t{1} << 24;  ///< bytes of registers of a warp
constexpr std::uint64_t kLargestLocal = 512 << 10;               ///< bytes a thread: the limit of CUDA
constexpr std::uint32_t kUnplaced = ~std::uint32_t{0};

std::uint64_t alignment_of(const ptx::Variable& variable) {
    if (variable.alignment != 0) {
        return std::min<std::uint64_t>(variable.alignment, 256);
    }
    const auto type = parse_type(variable.type);
    return type ? std::max<std::uint64_t>(bytes_of(*type) * variable.vector, 1) : 8;
}

}  // namespace

void FunctionDecoder::fail(std::string_view code, std::string message, std::string hint) {
    if (failed()) {
        return;
    }
    problem_ = error(code, std::move(message), std::move(hint));
    problem_->where.file = builder_.symbols().name;
    problem_->where.line =
        builder_.symbols().line_of(current_ != nullptr ? current_->range.begin : function_.range.begin);
}

void FunctionDecoder::missing(std::string what) {
    const std::uint32_t line = builder_.symbols().line_of(current_ != nullptr ? current_->range.begin : 0);
    fail("EGPU-P202",
         fmt::format("{} '{}' uses {} (PTX line {}), which the simulated GPU has not got",
                     is_kernel_ ? "kernel" : "function", demangle(function_.name), what, line),
         "other kernels of the module run; this one needs a GPU");
}

void FunctionDecoder::malformed(std::string message) {
    fail("EGPU-P203",
         fmt::format("in {} '{}': {}", is_kernel_ ? "kernel" : "function", demangle(function_.name), message));
}

bool FunctionDecoder::want(std::size_t least, std::size_t most) {
    const std::size_t count = current_->operands.size();
    if (count < least || count > most) {
        malformed(fmt::format("'{}' with {} operands", current_->opcode, count));
        return false;
    }
    return true;
}

Instruction FunctionDecoder::begin() const {
    Instruction instruction;
    instruction.line = builder_.symbols().line_of(current_->range.begin);
    instruction.source_file = current_->source.file;
    instruction.source_line = current_->source.line;
    instruction.guarded = current_->guard.has_value();
    instruction.guard = guard_;
    instruction.guard_negated = guard_negated_;
    instruction.cost = cost::kArithmetic;
    return instruction;
}

std::uint32_t FunctionDecoder::emit(const Instruction& instruction) {
    auto& code = builder_.program().code;
    code.push_back(instruction);
    return static_cast<std::uint32_t>(code.size() - 1);
}

void FunctionDecoder::declare_register(const ptx::Variable& variable) {
    const auto type = parse_type(variable.type);
    if (!type || variable.vector != 1 || !variable.dimensions.empty()) {
        missing(fmt::format("registers '.reg .{}{}'", variable.vector != 1 ? fmt::format("v{} .", variable.vector) : "",
                            variable.type));
        return;
    }
    if (variable.count > 0) {
        names_.add_range(variable.name, variable.count, *type);
        return;
    }
    Symbol symbol;
    symbol.type = *type;
    symbol.place = layout_.row(*type);
    names_.add(variable.name, symbol);
}

void FunctionDecoder::declare(const ptx::Variable& variable) {
    Symbol symbol;
    symbol.bytes = variable.bytes();
    symbol.declaration = &variable;
    switch (variable.space) {
        case ptx::Space::reg:
            declare_register(variable);
            return;
        case ptx::Space::local:
        case ptx::Space::param:
            symbol.kind = Symbol::Kind::frame;
            if (symbol.bytes > kLargestLocal) {
                malformed(fmt::format("'{}' has {} bytes of local memory", variable.name, symbol.bytes));
                return;
            }
            symbol.offset = layout_.local(symbol.bytes, alignment_of(variable));
            break;
        case ptx::Space::shared:
            symbol.kind = Symbol::Kind::variable;
            break;
        default:
            // .global and .const within a function belong to the module: the loader has given them an address.
            symbol.kind = Symbol::Kind::variable;
            break;
    }
    names_.add(variable.name, symbol);
}

/// Parameters of a kernel have offsets in the parameter buffer; those of a device function are in local memory or are
/// registers.
void FunctionDecoder::declare_parameters(FunctionCode& code) {
    std::uint64_t offset = 0;
    const auto add = [&](const ptx::Variable& variable, std::vector<Passed>& list) {
        if (is_kernel_) {
            Symbol symbol;
            symbol.kind = Symbol::Kind::parameter;
            const std::uint64_t alignment = alignment_of(variable);
            offset = (offset + alignment - 1) & ~(alignment - 1);
            symbol.offset = offset;
            symbol.bytes = variable.bytes();
            offset += symbol.bytes;
            symbol.declaration = &variable;
            names_.add(variable.name, symbol);
            return;
        }
        declare(variable);
        const Symbol* const found = failed() ? nullptr : symbol(variable.name);
        if (found == nullptr) {
            return;
        }
        Passed passed;
        passed.in_memory = found->kind == Symbol::Kind::frame;
        passed.type = found->type;
        passed.place = found->place;
        passed.offset = static_cast<std::uint32_t>(found->offset);
        passed.bytes = static_cast<std::uint32_t>(found->bytes);
        list.push_back(passed);
    };
    for (const ptx::Variable& variable : function_.returns) {
        add(variable, code.returns);
    }
    for (const ptx::Variable& variable : function_.parameters) {
        add(variable, code.parameters);
    }
}

/// Labels can be used before they are placed.
void FunctionDecoder::predeclare(const ptx::Scope& scope) {
    for (const ptx::Statement& statement : scope.statements) {
        Symbol symbol;
        if (const auto* const label = std::get_if<ptx::Label>(&statement)) {
            symbol.kind = Symbol::Kind::label;
            symbol.number = static_cast<std::uint32_t>(labels_.size());
            labels_.push_back(kUnplaced);
            names_.add(label->name, symbol);
        } else if (const auto* const directive = std::get_if<ptx::Directive>(&statement)) {
            if (!directive->label.empty()) {
                symbol.kind = directive->name == "branchtargets" ? Symbol::Kind::targets : Symbol::Kind::other;
                symbol.directive = directive;
                names_.add(directive->label, symbol);
            }
        }
    }
}

void FunctionDecoder::walk(const ptx::Scope& scope, unsigned depth) {
    if (depth > kDeepestScope) {
        malformed("scopes nested too deeply");
        return;
    }
    names_.open();
    predeclare(scope);
    for (const ptx::Statement& statement : scope.statements) {
        if (failed()) {
            break;
        }
        if (const auto* const instruction = std::get_if<ptx::Instruction>(&statement)) {
            current_ = instruction;
            const std::size_t begin = builder_.program().code.size();
            decode_instruction(*instruction);
            note_origin(begin);
        } else if (const auto* const label = std::get_if<ptx::Label>(&statement)) {
            labels_[symbol(label->name)->number] = static_cast<std::uint32_t>(builder_.program().code.size());
        } else if (const auto* const variable = std::get_if<ptx::Variable>(&statement)) {
            declare(*variable);
        } else if (const auto* const inner = std::get_if<std::unique_ptr<ptx::Scope>>(&statement)) {
            walk(**inner, depth + 1);
        }
    }
    names_.close();
}

/// What was decoded since `begin` is the current instruction.
void FunctionDecoder::note_origin(std::size_t begin) {
    Program& program = builder_.program();
    program.origins.resize(program.code.size(), kNowhere);
    if (begin == program.code.size()) {
        return;
    }
    program.origins[begin] = current_->range.begin;
    const bool injected = builder_.symbols().tree->slice(current_->range).find("egpu_") != std::string_view::npos;
    for (std::size_t pc = begin; pc < program.code.size(); ++pc) {
        program.code[pc].injected = injected;
    }
}

void FunctionDecoder::finish_branches() {
    Program& program = builder_.program();
    const auto place = [&](std::uint32_t& target) {
        if (target >= labels_.size() || labels_[target] == kUnplaced) {
            malformed("a branch to a label that is not there");
        } else {
            target = labels_[target];
        }
    };
    for (const std::uint32_t at : branches_) {
        place(program.code[at].target);
    }
    for (const auto& [first, count] : tables_) {
        for (std::uint32_t i = 0; i < count; ++i) {
            place(program.branch_targets[first + i]);
        }
    }
}

std::optional<Diagnostic> FunctionDecoder::decode(FunctionCode& code) {
    Program& program = builder_.program();
    const auto first = static_cast<std::uint32_t>(program.code.size());
    code.entry = first;
    names_.open();
    declare_parameters(code);
    if (!failed()) {
        walk(*function_.body, 0);
    }
    names_.close();
    if (!failed()) {
        // The end of the body returns; so does a label that stands last.
        Instruction last;
        last.control = Control::ret;
        last.cost = cost::kControl;
        last.line = builder_.symbols().line_of(function_.body->close.begin);
        emit(last);
        program.origins.resize(program.code.size(), kNowhere);
        finish_branches();
    }
    if (!failed() && (layout_.frame_bytes() > kLargestFrame || layout_.local_bytes() > kLargestLocal)) {
        malformed("more registers or local memory than a thread can have");
    }
    if (failed()) {
        program.code.resize(first);
        program.origins.resize(first);
        code.entry = kNowhere;
        return problem_;
    }
    set_reconvergence(program, first, static_cast<std::uint32_t>(program.code.size()));
    code.frame_bytes = static_cast<std::uint32_t>(std::max<std::uint64_t>(layout_.frame_bytes(), kRow32));
    code.local_bytes = static_cast<std::uint32_t>((layout_.local_bytes() + 15) & ~std::uint64_t{15});
    return std::nullopt;
}

}  // namespace egpu::simulated

// SPDX-License-Identifier: Apache-2.0
// A kernel and everything it reaches.
#include "gpu/simulated/executor/decoder/decode.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/names.hpp"
#include "gpu/simulated/executor/decoder/builder.hpp"
#include "gpu/simulated/executor/decoder/function_decoder.hpp"

namespace egpu::simulated {
namespace {

/// ".maxntid 256, 1, 1" -> 256 x 1 x 1.
Dimensions dimensions_in(std::string_view text) {
    std::uint32_t values[3] = {1, 1, 1};
    unsigned count = 0;
    for (std::size_t at = text.find_first_of("0123456789"); at != std::string_view::npos && count < 3;
         at = text.find_first_of("0123456789", at)) {
        const char* const end = text.data() + text.size();
        const char* const stop = std::from_chars(text.data() + at, end, values[count++]).ptr;
        at = std::max(static_cast<std::size_t>(stop - text.data()), at + 1);
    }
    return count == 0 ? Dimensions{0, 0, 0} : Dimensions{values[0], values[1], values[2]};
}

std::vector<ParameterInfo> parameters_of(const ptx::Function& entry) {
    std::vector<ParameterInfo> result;
    std::uint32_t offset = 0;
    for (const ptx::Variable& variable : entry.parameters) {
        const auto type = parse_type(variable.type);
        const std::uint32_t natural = type ? std::max(bytes_of(*type) * variable.vector, 1U) : 8;
        const std::uint32_t alignment = variable.alignment != 0 ? std::min(variable.alignment, 256U) : natural;
        const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(variable.bytes(), 1 << 20));
        offset = (offset + alignment - 1) & ~(alignment - 1);
        result.push_back({offset, bytes, alignment});
        offset += bytes;
    }
    return result;
}

/// Local bytes of a function and the deepest chain of known calls below it; cycles are cut (they need the stack limit).
class LocalBytes {
public:
    LocalBytes(const Program& program, const std::vector<std::vector<std::uint32_t>>& callees)
        : program_(program),
          callees_(callees),
          known_(program.functions.size(), 0),
          state_(program.functions.size(), 0) {}

    std::uint64_t of_kernel() {
        std::vector<std::uint32_t> stack{0};
        while (!stack.empty()) {
            const std::uint32_t function = stack.back();
            if (state_[function] == 0) {
                state_[function] = 1;
                for (const std::uint32_t callee : callees_[function]) {
                    if (state_[callee] == 0) {
                        stack.push_back(callee);
                    }
                }
                continue;
            }
            stack.pop_back();
            if (state_[function] == 1) {
                state_[function] = 2;
                std::uint64_t deepest = 0;
                for (const std::uint32_t callee : callees_[function]) {
                    deepest = std::max(deepest, known_[callee]);
                }
                known_[function] = deepest + program_.functions[function].local_bytes;
            }
        }
        return known_[0];
    }

private:
    const Program& program_;
    const std::vector<std::vector<std::uint32_t>> callees_;
    std::vector<std::uint64_t> known_;
    std::vector<int> state_;
};

/// Decodes the kernel (function 0) and what it reaches; fills Builder's program.
class Reach {
public:
    Reach(Builder& builder, const ptx::Function& entry)
        : builder_(builder), symbols_(builder.symbols()), entry_(entry) {}

    std::optional<Diagnostic> run(std::uint32_t module_index) {
        builder_.function(module_index);
        for (;;) {
            const auto next = builder_.next_function();
            if (next) {
                if (auto problem = decode(next->first, next->second)) {
                    return problem;
                }
            } else if (!add_functions_with_addresses()) {
                return std::nullopt;
            }
        }
    }
    std::uint32_t registers() const { return registers_; }
    /// For each function, those that it calls by name.
    std::vector<std::vector<std::uint32_t>> callees() {
        const Program& program = builder_.program();
        std::vector<std::vector<std::uint32_t>> result(program.functions.size());
        for (std::size_t call = 0; call < program.calls.size(); ++call) {
            if (program.calls[call].function != kNowhere) {
                result[function_of_call_[call]].push_back(program.calls[call].function);
            }
        }
        return result;
    }

private:
    /// Functions that an indirect call may reach: all whose address is taken. A problem in one of them matters only
    /// when it is called.
    bool add_functions_with_addresses() {
        if (!builder_.uses_indirect_calls || optional_) {
            return false;
        }
        optional_ = true;
        builder_.address_taken.resize(symbols_.functions.size());
        for (std::uint32_t i = 0; i < symbols_.functions.size(); ++i) {
            const bool taken =
                builder_.address_taken[i] || (i < symbols_.address_taken.size() && symbols_.address_taken[i]);
            if (taken && symbols_.functions[i]->body != nullptr && !symbols_.functions[i]->is_entry) {
                builder_.function(i);
            }
        }
        return true;
    }

    std::optional<Diagnostic> decode(std::uint32_t at, std::uint32_t module_index) {
        FunctionCode code;
        code.name = symbols_.functions[module_index]->name;
        FunctionDecoder decoder(builder_, *symbols_.functions[module_index], at == 0);
        auto problem = decoder.decode(code);
        function_of_call_.resize(builder_.program().calls.size(), at);
        if (problem && !optional_) {
            if (at != 0) {
                problem->message = fmt::format("kernel '{}' calls {}", demangle(entry_.name), problem->message);
            }
            return problem;
        }
        code.problem = problem ? problem->message : std::string();
        registers_ = std::max(registers_, decoder.registers());
        builder_.program().functions[at] = std::move(code);
        return std::nullopt;
    }

    Builder& builder_;
    const ModuleSymbols& symbols_;
    const ptx::Function& entry_;
    std::vector<std::uint32_t> function_of_call_;
    std::uint32_t registers_ = 0;
    bool optional_ = false;
};

void set_launch_bounds(Kernel& kernel, const ptx::Function& entry) {
    for (const ptx::Directive& directive : entry.directives) {
        if (directive.name == "maxntid") {
            kernel.max_threads = dimensions_in(directive.text);
        } else if (directive.name == "reqntid") {
            kernel.required_threads = dimensions_in(directive.text);
        } else if (directive.name == "reqnctapercluster") {
            kernel.required_cluster = dimensions_in(directive.text);
        } else if (directive.name == "explicitcluster") {
            kernel.explicit_cluster = true;
        } else if (directive.name == "maxclusterrank") {
            kernel.max_cluster_rank = dimensions_in(directive.text).x;
        }
    }
}

void finish_program(Program& program, const ModuleSymbols& symbols, const Kernel& kernel) {
    program.kernel = kernel.name;
    program.module = symbols.name;
    program.parameter_bytes = kernel.parameter_bytes;
    program.function_base = symbols.function_base;
    program.function_of_address.assign(symbols.functions.size(), kNowhere);
    for (std::uint32_t i = 0; i < program.functions.size(); ++i) {
        program.function_of_address[symbols.function_index.at(program.functions[i].name)] = i;
    }
    for (const ptx::File& file : symbols.tree->files) {
        if (file.index < 4096) {
            program.files.resize(std::max<std::size_t>(program.files.size(), file.index + 1));
            program.files[file.index] = file.name;
        }
    }
}

constexpr std::uint64_t align16(std::uint64_t value) {
    return (value + 15) & ~std::uint64_t{15};
}

Result<std::shared_ptr<const Kernel>> decode_with(const ModuleSymbols& symbols, const ptx::Function& entry,
                                                  std::uint32_t module_index, std::uint64_t dynamic_shared,
                                                  bool& again) {
    Builder builder(symbols, dynamic_shared);
    Reach reach(builder, entry);
    if (auto problem = reach.run(module_index)) {
        return *problem;
    }
    Program& program = builder.program();
    again = builder.uses_dynamic_shared && align16(program.static_shared_bytes) != dynamic_shared;
    auto kernel = std::make_shared<Kernel>();
    kernel->name = entry.name;
    kernel->parameters = parameters_of(entry);
    if (!kernel->parameters.empty()) {
        kernel->parameter_bytes = kernel->parameters.back().offset + kernel->parameters.back().bytes;
    }
    set_launch_bounds(*kernel, entry);
    finish_program(program, symbols, *kernel);
    kernel->static_shared_bytes = program.static_shared_bytes;
    if (builder.uses_dynamic_shared) {
        program.static_shared_bytes = static_cast<std::uint32_t>(align16(program.static_shared_bytes));
    }
    const std::uint64_t local = LocalBytes(program, reach.callees()).of_kernel();
    kernel->local_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(local, 512 << 10));
    kernel->registers = std::clamp(reach.registers(), 16U, 255U);
    kernel->program = std::make_shared<const Program>(std::move(program));
    return std::shared_ptr<const Kernel>(std::move(kernel));
}

}  // namespace

std::uint32_t ModuleSymbols::line_of(std::uint32_t offset) const {
    const auto next = std::upper_bound(line_starts.begin(), line_starts.end(), offset);
    return static_cast<std::uint32_t>(next - line_starts.begin());
}

Result<std::shared_ptr<const Kernel>> decode_kernel(const ModuleSymbols& symbols, const ptx::Function& entry) {
    const auto index = symbols.function_index.find(entry.name);
    if (index == symbols.function_index.end() || entry.body == nullptr) {
        return error("EGPU-P201", fmt::format("kernel '{}' has no code", entry.name));
    }
    // Dynamic shared memory begins behind the static variables, which are known only when all code was seen.
    bool again = false;
    auto kernel = decode_with(symbols, entry, index->second, 0, again);
    if (kernel && again) {
        const std::uint64_t begin = align16((*kernel)->static_shared_bytes);
        return decode_with(symbols, entry, index->second, begin, again);
    }
    return kernel;
}

}  // namespace egpu::simulated

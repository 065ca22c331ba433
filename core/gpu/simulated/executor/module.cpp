// SPDX-License-Identifier: Apache-2.0
// Loading a module: its variables are laid out and initialised; kernels are decoded when asked for.
#include "gpu/simulated/executor/module.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "base/names.hpp"
#include "gpu/simulated/executor/decoder/decode.hpp"
#include "gpu/simulated/executor/initializer.hpp"
#include "gpu/simulated/executor/machine/type.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::simulated {
namespace {

constexpr std::uint64_t kFunctionsOfModule = std::uint64_t{1} << 24;  ///< bytes of function addresses a module has

std::uint64_t next_function_base() {
    static std::atomic<std::uint64_t> modules{0};
    return kFunctionWindow + (modules.fetch_add(1) % 0x10000) * kFunctionsOfModule;
}

std::uint64_t alignment_of(const ptx::Variable& variable) {
    const auto type = parse_type(variable.type);
    const std::uint64_t natural = type ? std::max<std::uint64_t>(bytes_of(*type) * variable.vector, 1) : 8;
    return std::max<std::uint64_t>(variable.alignment, natural);
}

bool has_storage(const ptx::Variable& variable) {
    return variable.space == ptx::Space::global || variable.space == ptx::Space::constant;
}

}  // namespace

struct Module::State {
    explicit State(DeviceMemory& device) : memory(device) {}
    ~State() {
        for (const std::uint64_t address : allocated) {
            const auto released = memory.release(address);
            (void)released;  // the allocation is our own and exists
        }
        for (const auto& [pages, bytes] : managed_pages) {
            const auto unmapped = memory.unmap_host(pages);
            (void)unmapped;
            munmap(pages, bytes);
        }
    }

    Status allocate(const ptx::Variable& variable);
    Result<std::uint64_t> allocate_managed(std::uint64_t bytes, std::string name);
    Status add_scope(const ptx::Scope& scope, unsigned depth);
    Status initialize();
    void add_functions();

    DeviceMemory& memory;
    ptx::Module tree;
    std::string target;
    ModuleSymbols symbols;
    std::vector<const ptx::Variable*> stored;
    std::vector<std::uint64_t> allocated;
    std::vector<std::pair<void*, std::uint64_t>> managed_pages;
    std::vector<VariableInfo> variables;
    std::vector<std::string> kernel_names;
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<const Kernel>, std::less<>> kernels;  // under mutex
};

/// Memory of a .managed variable: at an address that the host can use as well.
Result<std::uint64_t> Module::State::allocate_managed(std::uint64_t bytes, std::string name) {
    void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        return error("EGPU-X020", fmt::format("no memory for the managed variable '{}'", name));
    }
    if (auto status = memory.map_host(pages, bytes, std::move(name)); !status) {
        munmap(pages, bytes);
        return status.errors();
    }
    managed_pages.emplace_back(pages, bytes);
    return reinterpret_cast<std::uint64_t>(pages);
}

Status Module::State::allocate(const ptx::Variable& variable) {
    if (!has_storage(variable)) {
        if (variable.space == ptx::Space::shared) {
            symbols.variables.try_emplace(variable.name, ModuleVariable{&variable, 0});
        }
        return ok();
    }
    const auto known = symbols.variables.find(variable.name);
    if (variable.linkage == "extern") {
        symbols.variables.try_emplace(variable.name, ModuleVariable{&variable, 0});
        return ok();
    }
    if (known != symbols.variables.end() && known->second.address != 0) {
        return ok();  // .weak or .common, given twice
    }
    std::uint64_t bytes = variable.bytes();
    if (bytes == 0 && variable.initializer) {
        bytes = initializer_bytes(variable);
    }
    const bool constant = variable.space == ptx::Space::constant;
    const bool managed =
        std::find(variable.attributes.begin(), variable.attributes.end(), "managed") != variable.attributes.end();
    const std::uint64_t wanted = std::max<std::uint64_t>(bytes, 1);
    std::string variable_name(variable.name);
    const auto address = managed ? allocate_managed(wanted, std::move(variable_name))
                                 : memory.allocate(wanted, alignment_of(variable),
                                                   constant ? AllocationKind::constant : AllocationKind::variable,
                                                   std::move(variable_name));
    if (!address) {
        return address.errors();
    }
    if (!managed) {
        allocated.push_back(*address);
    }
    symbols.variables.insert_or_assign(variable.name, ModuleVariable{&variable, *address});
    variables.push_back({std::string(variable.name), *address, bytes, constant, managed});
    stored.push_back(&variable);
    return ok();
}

/// .global and .const variables within functions.
Status Module::State::add_scope(const ptx::Scope& scope, unsigned depth) {
    if (depth > 200) {
        return error("EGPU-P203", "scopes nested too deeply");
    }
    for (const ptx::Statement& statement : scope.statements) {
        if (const auto* const variable = std::get_if<ptx::Variable>(&statement)) {
            if (has_storage(*variable)) {
                if (auto status = allocate(*variable); !status) {
                    return status;
                }
            }
        } else if (const auto* const inner = std::get_if<std::unique_ptr<ptx::Scope>>(&statement)) {
            if (auto status = add_scope(**inner, depth + 1); !status) {
                return status;
            }
        }
    }
    return ok();
}

void Module::State::add_functions() {
    for (const ptx::Function& function : tree.functions) {
        const auto [entry, fresh] =
            symbols.function_index.try_emplace(function.name, static_cast<std::uint32_t>(symbols.functions.size()));
        if (fresh) {
            symbols.functions.push_back(&function);
        } else if (function.body != nullptr) {
            symbols.functions[entry->second] = &function;
        }
        if (function.is_entry && function.body != nullptr) {
            kernel_names.emplace_back(function.name);
        }
    }
    for (const ptx::Alias& alias : tree.aliases) {
        if (const auto target_index = symbols.function_index.find(alias.target);
            target_index != symbols.function_index.end()) {
            symbols.function_index[alias.name] = target_index->second;
        }
    }
}

Status Module::State::initialize() {
    symbols.address_taken.resize(symbols.functions.size());
    for (const ptx::Variable* const variable : stored) {
        if (!variable->initializer) {
            continue;
        }
        const ModuleVariable& placed = symbols.variables.at(variable->name);
        const auto allocation = memory.find(placed.address);
        if (auto status = initial_bytes(*variable, symbols, {allocation->host, allocation->bytes}); !status) {
            return status;
        }
    }
    return ok();
}

Module::Module(std::unique_ptr<State> state) : state_(std::move(state)) {}
Module::~Module() = default;

Result<std::unique_ptr<Module>> Module::load(std::string ptx, std::string_view name, DeviceMemory& memory) {
    auto tree = ptx::parse(std::move(ptx), name);
    if (!tree) {
        return tree.errors();
    }
    auto state = std::make_unique<State>(memory);
    state->tree = std::move(*tree);
    state->target = state->tree.target;
    ModuleSymbols& symbols = state->symbols;
    symbols.tree = &state->tree;
    symbols.name = name;
    symbols.function_base = next_function_base();
    const std::string& text = *state->tree.text;
    symbols.line_starts.push_back(0);
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
        symbols.line_starts.push_back(static_cast<std::uint32_t>(at + 1));
    }
    if (state->tree.address_size != 64) {
        return error("EGPU-P202",
                     fmt::format("{}: a module with 32-bit addresses, which the simulated GPU has not got", name));
    }
    state->add_functions();
    if (state->symbols.functions.size() * 16 > kFunctionsOfModule) {
        return error("EGPU-P203", fmt::format("{}: more functions than a module can have", name));
    }
    for (const ptx::Variable& variable : state->tree.variables) {
        if (auto status = state->allocate(variable); !status) {
            return status.errors();
        }
    }
    for (const ptx::Function& function : state->tree.functions) {
        if (function.body != nullptr) {
            if (auto status = state->add_scope(*function.body, 0); !status) {
                return status.errors();
            }
        }
    }
    if (auto status = state->initialize(); !status) {
        return status.errors();
    }
    return std::unique_ptr<Module>(new Module(std::move(state)));
}

const std::vector<std::string>& Module::kernel_names() const {
    return state_->kernel_names;
}
const std::vector<VariableInfo>& Module::variables() const {
    return state_->variables;
}
std::string_view Module::target() const {
    return state_->target;
}

const VariableInfo* Module::variable(std::string_view name) const {
    for (const VariableInfo& info : state_->variables) {
        if (info.name == name) {
            return &info;
        }
    }
    return nullptr;
}

Result<std::shared_ptr<const Kernel>> Module::kernel(std::string_view name) {
    const std::lock_guard lock(state_->mutex);
    if (const auto known = state_->kernels.find(name); known != state_->kernels.end()) {
        return known->second;
    }
    const auto index = state_->symbols.function_index.find(name);
    if (index == state_->symbols.function_index.end() || !state_->symbols.functions[index->second]->is_entry ||
        state_->symbols.functions[index->second]->body == nullptr) {
        const std::string near = nearest(name, state_->kernel_names);
        return error("EGPU-P201", fmt::format("{} has no kernel '{}'", state_->symbols.name, name),
                     near.empty() ? std::string() : fmt::format("did you mean '{}'?", near));
    }
    auto decoded = decode_kernel(state_->symbols, *state_->symbols.functions[index->second]);
    if (decoded) {
        state_->kernels.emplace(std::string(name), *decoded);
    }
    return decoded;
}

}  // namespace egpu::simulated

// SPDX-License-Identifier: Apache-2.0
#include "cli/inject/modules.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ptx/fatbin/image.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::cli {
namespace {

/// What the driver's and ptxas's own functions are: declared, and there without a link.
bool is_provided(std::string_view name) {
    constexpr std::string_view kProvided[] = {"vprintf", "malloc", "free", "__assertfail"};
    return std::find(std::begin(kProvided), std::end(kProvided), name) != std::end(kProvided);
}

/// `.attribute(.unified(1, 2))`: one function in several modules.
bool is_unified(const ptx::Function& function) {
    return std::any_of(function.directives.begin(), function.directives.end(), [](const ptx::Directive& directive) {
        return directive.name == "attribute" && directive.text.find(".unified") != std::string_view::npos;
    });
}

bool needs_link(const ptx::Module& module) {
    for (const auto& function : module.functions)
        if (is_unified(function) || (module.function(function.name)->body == nullptr && !is_provided(function.name)))
            return true;
    return std::any_of(module.variables.begin(), module.variables.end(), [&](const ptx::Variable& variable) {
        const bool dynamic_shared = variable.space == ptx::Space::shared && variable.bytes() == 0;
        return variable.linkage == "extern" && !dynamic_shared && module.variable(variable.name)->linkage == "extern";
    });
}

}  // namespace

Result<std::vector<NamedModule>> read_modules(const std::string& file) {
    const auto images = ptx::read_images_of_file(file);
    if (!images)
        return images.errors();
    const std::string short_name = file.substr(file.rfind('/') + 1);
    std::vector<NamedModule> modules;
    for (const auto& image : *images)
        for (const auto& member : image.ptx) {
            const bool plain = image.kind == ptx::ImageKind::ptx_text;
            const std::string suffix = member.suffix == 0 ? std::string() : std::string(1, member.suffix);
            const std::string name = plain ? file
                                           : fmt::format("{}: PTX {} (sm_{}{})", short_name, modules.size() + 1,
                                                         member.architecture, suffix);
            const auto begin = std::chrono::steady_clock::now();
            auto module = ptx::parse(member.text, name);
            const auto passed = std::chrono::steady_clock::now() - begin;
            if (!module)
                return module.errors();
            const bool relocatable = image.relocatable || needs_link(*module);
            modules.push_back({name, std::move(*module), relocatable, passed});
        }
    if (modules.empty())
        return error("EGPU-X062", fmt::format("{} holds no PTX", file),
                     "name a PTX file, or a program, library or fatbinary that was built with PTX (-gencode "
                     "arch=compute_N,code=compute_N)");
    return modules;
}

std::string_view function_at(const ptx::Module& module, std::uint32_t offset) {
    for (const auto& function : module.functions)
        if (function.range.begin <= offset && offset < function.range.end)
            return function.name;
    return {};
}

std::uint32_t line_at(std::string_view text, std::uint32_t offset) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(offset, text.size()));
    return 1 + static_cast<std::uint32_t>(std::count(text.begin(), end, '\n'));
}

std::vector<const ptx::Function*> kernels_of(const ptx::Module& module) {
    std::vector<const ptx::Function*> kernels;
    for (const auto& function : module.functions)
        if (function.is_entry && function.body != nullptr)
            kernels.push_back(&function);
    return kernels;
}

}  // namespace egpu::cli

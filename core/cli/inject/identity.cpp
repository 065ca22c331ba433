// SPDX-License-Identifier: Apache-2.0
#include "cli/inject/identity.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <map>

#include <fmt/format.h>

#include "base/files.hpp"
#include "inject/compile/messages.hpp"
#include "inject/compile/process.hpp"
#include "ptx/fatbin/elf.hpp"
#include "ptx/syntax/compare.hpp"
#include "ptx/syntax/print.hpp"

namespace egpu::cli {
namespace {

constexpr std::uint32_t kSeconds = 600;
constexpr std::size_t kCubinLimit = std::size_t{1} << 30;

using Cubin = std::vector<std::byte>;

Result<Cubin> assemble_text(const std::string& ptxas, const std::string& text, const NamedModule& module,
                            const std::string& architecture) {
    auto folder = inject::PrivateFolder::make();
    if (!folder)
        return folder.errors();
    const std::string from = folder->file("module.ptx"), to = folder->file("module.cubin");
    if (auto written = write_file(from, text); !written)
        return written.errors();
    std::vector<std::string> arguments{ptxas, "-arch=" + architecture, from, "-o", to};
    if (module.relocatable)
        arguments.emplace_back("-c");
    const auto& options = module.module.target_options;
    if (std::find(options.begin(), options.end(), "debug") != options.end())
        arguments.emplace_back("-g");
    const auto ran = inject::run_process(arguments, kSeconds);
    if (!ran)
        return ran.errors();
    if (ran->exit_status != 0 || ran->signal != 0 || ran->timed_out) {
        auto refused = error("EGPU-P303", fmt::format("ptxas for {} {}", architecture,
                                                      ran->timed_out     ? "did not end in time"
                                                      : ran->signal != 0 ? "crashed"
                                                                         : "refuses the text"));
        refused.detail = inject::first_errors(ran->output);
        return refused;
    }
    return read_file(to, kCubinLimit);
}

/// Code (.text), relocations and launch attributes of code, constants, initial values, sizes of shared memory. Others
/// (debug sections, symbols, notes) speak of lines and names of files.
bool decides(std::string_view name) {
    constexpr std::array<std::string_view, 7> kBeginnings = {".text.",       ".rel.text.", ".rela.text.", ".nv.info",
                                                             ".nv.constant", ".nv.global", ".nv.shared"};
    return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                       [&](std::string_view beginning) { return name.starts_with(beginning); });
}

std::map<std::string_view, const ptx::ElfSection*> deciding_sections(const ptx::ElfFile& elf) {
    std::map<std::string_view, const ptx::ElfSection*> sections;
    for (const auto& section : elf.sections)
        if (decides(section.name))
            sections.emplace(section.name, &section);
    return sections;
}

/// "kernel" of ".text.kernel" and of ".nv.constant0.kernel".
std::string function_of_section(std::string_view name) {
    const std::size_t from = name.find('.', name.starts_with(".nv.") ? 4 : name.starts_with(".rel") ? 6 : 1);
    return from == std::string_view::npos ? "" : std::string(name.substr(from + 1));
}

std::string what_differs(const ptx::ElfSection* first, const ptx::ElfSection* second) {
    if (first == nullptr || second == nullptr)
        return first == nullptr ? "the printed text has it, the original hasn't"
                                : "the original has it, the printed text hasn't";
    if (first->size != second->size)
        return fmt::format("{} bytes, printed {}", first->size, second->size);
    const auto [at, other] = std::mismatch(first->data.begin(), first->data.end(), second->data.begin());
    if (at == first->data.end())
        return {};
    return fmt::format("differs from byte {:#x} on", at - first->data.begin());
}

void compare_texts(const ptx::Module& module, const std::string& printed, Identity& identity) {
    const auto difference = ptx::first_difference(*module.text, printed);
    if (!difference) {
        identity.differences.push_back({"", "tokens", difference.error().message});
        return;
    }
    if (!*difference)
        return;
    const ptx::Range first = (*difference)->first, second = (*difference)->second;
    const auto quoted = [](std::string_view text, std::uint32_t offset) {
        const std::string_view rest = text.substr(std::min<std::size_t>(offset, text.size()));
        return std::string(rest.substr(0, std::min<std::size_t>(rest.find('\n'), 60)));
    };
    identity.differences.push_back(
        {std::string(function_at(module, first.begin)), fmt::format("line {}", line_at(*module.text, first.begin)),
         fmt::format("'{}' was printed as '{}'", quoted(*module.text, first.begin), quoted(printed, second.begin))});
}

void count_statements(const ptx::Scope& scope, std::size_t& instructions) {
    for (const auto& statement : scope.statements) {
        if (const auto* inner = std::get_if<std::unique_ptr<ptx::Scope>>(&statement))
            count_statements(**inner, instructions);
        else if (std::holds_alternative<ptx::Instruction>(statement))
            ++instructions;
    }
}

}  // namespace

Result<std::vector<Difference>> compare_cubins(std::span<const std::byte> first, std::span<const std::byte> second,
                                               std::size_t& count) {
    const auto a = ptx::read_elf(first), b = ptx::read_elf(second);
    if (!a)
        return a.errors();
    if (!b)
        return b.errors();
    auto in_a = deciding_sections(*a), in_b = deciding_sections(*b);
    count = in_a.size();
    for (const auto& [name, section] : in_b)
        in_a.try_emplace(name, nullptr);
    std::vector<Difference> differences;
    for (const auto& [name, section] : in_a) {
        const auto found = in_b.find(name);
        const std::string what = what_differs(section, found == in_b.end() ? nullptr : found->second);
        if (!what.empty())
            differences.push_back({function_of_section(name), std::string(name), what});
    }
    return differences;
}

Identity check_identity(const NamedModule& named, const std::optional<std::string>& ptxas,
                        const std::string& architecture) {
    Identity identity;
    const ptx::Module& module = named.module;
    const std::string printed = ptx::print(module);
    identity.functions = module.functions.size();
    for (const auto& function : module.functions)
        if (function.body != nullptr)
            count_statements(*function.body, identity.instructions);
    compare_texts(module, printed, identity);
    if (!ptxas)
        return identity;
    const std::string target = architecture.empty() ? std::string(module.target) : architecture;
    auto other = std::async(std::launch::async, [&] { return assemble_text(*ptxas, printed, named, target); });
    const auto first = assemble_text(*ptxas, *module.text, named, target);
    const auto second = other.get();
    if (!first || !second) {
        identity.refused_both = !first;
        identity.refusal = first ? second.error() : first.error();
        return identity;
    }
    auto differences = compare_cubins(*first, *second, identity.sections);
    if (!differences) {
        identity.refusal = differences.error();
        return identity;
    }
    std::move(differences->begin(), differences->end(), std::back_inserter(identity.differences));
    return identity;
}

}  // namespace egpu::cli

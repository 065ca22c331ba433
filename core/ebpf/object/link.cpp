// SPDX-License-Identifier: Apache-2.0
// Relocations: Linux Documentation/bpf/llvm_reloc.rst. R_BPF_64_64 is a 64-bit immediate load of a map or of global
// data, R_BPF_64_32 a call.
#include "ebpf/object/link.hpp"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "ebpf/object/clang_messages.hpp"

namespace egpu::ebpf {
namespace {

constexpr std::uint32_t kRelocation64 = 1;     // R_BPF_64_64
constexpr std::uint32_t kRelocationCall = 10;  // R_BPF_64_32
/// Instructions of all programs of an object together.
constexpr std::size_t kInstructionLimit = 1u << 18;
constexpr std::size_t kFunctionLimit = 1u << 14;

auto place(const Function& function) {
    return std::pair(function.section, function.first);
}

std::string symbol_name(const Source& source, const ElfSymbol& symbol) {
    const auto name = symbol.name.empty() && symbol.section < source.elf.sections().size()
                          ? source.elf.sections()[symbol.section].name
                          : symbol.name;
    return std::string(name.substr(0, kNameLimit));
}

Diagnostic damaged(std::string_view what) {
    return error("EGPU-B052", fmt::format("a relocation is damaged: {}", what),
                 "compile it again with clang -target bpf -g -O2");
}

Diagnostic undefined_function(const std::string& name) {
    const bool is_helper = name.starts_with("egpu_") || name.starts_with("bpf_");
    const auto meant = meant_helper(name);
    if (is_helper && !meant.empty())
        return error("EGPU-B051", fmt::format("'{}' is no helper of egpu", name), meant);
    return error("EGPU-B051", fmt::format("'{}' is called, and not defined in the object", name),
                 "define it in the same file, or make it static inline");
}

/// What to write for the section of a global variable that has one of its own.
std::string instead_of_section(std::string_view section) {
    if (section == ".maps" || section == "license" || section == "version" || section.starts_with(".BTF"))
        return "programs for the GPU refer to maps, constants and their own functions";
    return fmt::format("write SEC(\".data{}{}\"), or leave the SEC out", section.starts_with('.') ? "" : ".",
                       section.substr(0, kNameLimit));
}

/// Why the address of a function, which instruction `at` loads, is no use: the helper of Linux that it is for, where
/// that is called near.
Diagnostic function_address(std::span<const Instruction> function, std::size_t at) {
    constexpr std::size_t kNear = 16;  // instructions between a call's arguments, and to the call
    constexpr std::int32_t kForEach = 164, kLoop = 181;
    constexpr std::uint8_t kMove = 0xb7, kMove32 = 0xb4, kMoveRegister = 0xbf;
    std::optional<std::int32_t> turns;  // of bpf_loop's first argument, where it is a constant
    for (std::size_t i = at - std::min(at, kNear); i < std::min(function.size(), at + kNear); ++i) {
        const auto& each = function[i];
        if ((each.opcode == kMove || each.opcode == kMove32) && each.destination == 1)
            turns = each.immediate;
        else if ((each.opcode == kCall && i < at) || (each.opcode == kMoveRegister && each.destination == 1))
            turns.reset();
        if (each.opcode != kCall || i < at)
            continue;
        if (each.source != 0 || (each.immediate != kForEach && each.immediate != kLoop))
            break;
        const bool is_loop = each.immediate == kLoop;
        const std::string bound = !is_loop ? "max_entries" : turns ? std::to_string(*turns) : "n";
        return error("EGPU-B052",
                     fmt::format("{} isn't available on a GPU", is_loop ? "bpf_loop" : "bpf_for_each_map_elem"),
                     fmt::format("write for (int i = 0; i < {}; i++)", bound));
    }
    return error("EGPU-B052", "the address of a function is taken", "call the function by its name");
}

}  // namespace

Result<std::vector<Function>> read_functions(const Source& source) {
    std::vector<Function> functions;
    for (const auto& symbol : source.elf.symbols()) {
        if (symbol.type != STT_FUNC || symbol.section == 0 || symbol.section >= source.elf.sections().size())
            continue;
        const auto& section = source.elf.sections()[symbol.section];
        if (!section.is_code())
            continue;
        const bool inside = symbol.value <= section.data.size() && symbol.bytes <= section.data.size() - symbol.value;
        if (!inside || symbol.bytes == 0 || symbol.bytes % 8 != 0 || symbol.value % 8 != 0)
            return error("EGPU-B001", fmt::format("function '{}' is outside its section", symbol_name(source, symbol)),
                         "compile it again with clang -target bpf -g -O2");
        if (functions.size() == kFunctionLimit)
            return error("EGPU-B006", fmt::format("the object has more than {} functions", kFunctionLimit));
        functions.push_back({symbol_name(source, symbol), symbol.section, static_cast<std::uint32_t>(symbol.value / 8),
                             static_cast<std::uint32_t>(symbol.bytes / 8), symbol.binding != STB_LOCAL});
    }
    std::ranges::stable_sort(functions, {}, place);
    return functions;
}

Linker::Linker(const Source& source, const std::vector<Function>& functions, const std::vector<MapSource>& maps,
               const Constants& constants)
    : source_(source), functions_(functions), maps_(maps), constants_(constants), guarded_(guarded_fields(source)) {}

const PatchedCode& Linker::code_of(std::uint32_t section) {
    auto found = code_.find(section);
    if (found == code_.end())
        found = code_.emplace(section, patch_section(source_, section, guarded_)).first;
    return found->second;
}

Diagnostic Linker::at(Diagnostic diagnostic, const Function& function, std::uint32_t instruction) const {
    return source_.at(std::move(diagnostic), source_.elf.sections()[function.section].name, instruction);
}

Status Linker::link(const Function& entry, Program& program) {
    std::vector<Call> calls;
    std::map<const Function*, std::uint32_t> starts{{&entry, 0}};
    if (auto status = append(entry, program, calls); !status)
        return status;
    // `calls` grows while functions are appended; each function is appended once.
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto next = static_cast<std::uint32_t>(program.instructions.size());
        const auto [start, is_new] = starts.emplace(calls[i].to, next);
        if (is_new)
            if (auto status = append(*calls[i].to, program, calls); !status)
                return status;
        const auto call = calls[i].instruction;
        program.instructions[call].immediate =
            static_cast<std::int32_t>(start->second) - static_cast<std::int32_t>(call) - 1;
    }
    if (auto status = check_encoding(program.instructions); !status) {
        auto wrong = status.error();
        wrong.message = fmt::format("program '{}': {}", program.name, wrong.message);
        wrong.where.file = source_.path;
        return wrong;
    }
    return ok();
}

Status Linker::append(const Function& function, Program& program, std::vector<Call>& calls) {
    instructions_ += function.count;
    if (instructions_ > kInstructionLimit)
        return error("EGPU-B006",
                     fmt::format("the object's programs have more than {} instructions", kInstructionLimit));
    const auto& code = code_of(function.section);
    const auto refusal = code.refusals.lower_bound(function.first);
    if (refusal != code.refusals.end() && refusal->first < function.first + function.count)
        return refusal->second;
    const auto start = static_cast<std::uint32_t>(program.instructions.size());
    const auto first = code.instructions.begin() + function.first;
    program.instructions.insert(program.instructions.end(), first, first + function.count);
    const auto& relocations = source_.elf.relocations(function.section);
    auto next = std::ranges::lower_bound(relocations, std::uint64_t{function.first} * 8, {}, &ElfRelocation::offset);
    for (std::uint32_t i = 0; i < function.count; ++i) {
        // Of the relocations before the end of this instruction, one may stand at its beginning, none elsewhere.
        const std::uint64_t begin = std::uint64_t{function.first + i} * 8;
        const bool wide = program.instructions[start + i].opcode == kLoadImmediate64;
        const ElfRelocation* own = nullptr;
        for (; next != relocations.end() && next->offset < begin + (wide ? 16 : 8); ++next) {
            if (own != nullptr || next->offset != begin)
                return at(damaged("it is inside an instruction"), function, function.first + i);
            own = &*next;
        }
        auto status = finish(function, i, own, program, start + i, calls);
        if (!status && !status.error().where.file.empty()) {
            // A map's definition, of which no line is known: that of its use would mislead. The file is the program's.
            auto wrong = status.error();
            wrong.where.file = at(wrong, function, function.first).where.file;
            return wrong;
        }
        if (!status)
            return at(status.error(), function, function.first + i);
        i += wide ? 1 : 0;  // the second half is no instruction of its own
    }
    add_lines(function, start, program);
    return ok();
}

/// One instruction of a program: `index` in the function, `position` in the program.
Status Linker::finish(const Function& function, std::uint32_t index, const ElfRelocation* own, Program& program,
                      std::uint32_t position, std::vector<Call>& calls) const {
    const auto is_code = [&](const ElfSymbol& symbol) {
        return symbol.section != 0 && symbol.section < source_.elf.sections().size() &&
               source_.elf.sections()[symbol.section].is_code();
    };
    auto& instruction = program.instructions[position];
    if (instruction.opcode == kCall && instruction.source == kPseudoCall) {
        const auto to = callee(function, function.first + index, instruction, own);
        if (!to)
            return to.errors();
        calls.push_back({position, *to});
        return ok();
    }
    if (own != nullptr && own->type == kRelocation64 && is_code(source_.elf.symbols()[own->symbol])) {
        return function_address(
            std::span<const Instruction>(program.instructions).subspan(position - index, function.count), index);
    }
    if (own != nullptr)
        return relocate(*own, instruction, index + 1 < function.count ? &instruction + 1 : nullptr);
    if (instruction.opcode == kLoadImmediate64 && instruction.source != 0)
        return damaged("an address is loaded that no relocation gives");
    return ok();
}

Result<const Function*> Linker::callee(const Function& function, std::uint32_t at, const Instruction& call,
                                       const ElfRelocation* relocation) const {
    auto section = function.section;
    std::int64_t target = std::int64_t{call.immediate} + 1;
    if (relocation == nullptr) {
        target += at;
    } else {
        const auto& symbol = source_.elf.symbols()[relocation->symbol];
        if (relocation->type != kRelocationCall || symbol.section >= source_.elf.sections().size() ||
            symbol.value > INT32_MAX)
            return damaged(fmt::format("type {} at a call", relocation->type));
        if (symbol.section == 0)
            return undefined_function(symbol_name(source_, symbol));
        section = symbol.section;
        target += static_cast<std::int64_t>(symbol.value / 8);
    }
    const auto wanted = std::pair(section, static_cast<std::uint32_t>(std::clamp<std::int64_t>(target, 0, UINT32_MAX)));
    const auto found = std::ranges::lower_bound(functions_, wanted, {}, place);
    if (found == functions_.end() || place(*found) != wanted)
        return error("EGPU-B053", "a call goes to where no function begins",
                     "compile it again with clang -target bpf -g -O2");
    return &*found;
}

Status Linker::relocate(const ElfRelocation& relocation, Instruction& first, Instruction* second) const {
    if (relocation.type == kRelocation64)
        return load_address(relocation, first, second);
    const auto name = symbol_name(source_, source_.elf.symbols()[relocation.symbol]);
    return error("EGPU-B052", fmt::format("relocation of type {} against '{}' is unknown", relocation.type, name),
                 "programs for the GPU refer to maps, constants and their own functions");
}

Status Linker::load_address(const ElfRelocation& relocation, Instruction& first, Instruction* second) const {
    if (first.opcode != kLoadImmediate64 || first.source != 0 || second == nullptr)
        return damaged("it needs a 64-bit immediate load");
    const auto& symbol = source_.elf.symbols()[relocation.symbol];
    const auto name = symbol_name(source_, symbol);
    if (symbol.section == 0)
        return error(
            "EGPU-B051",
            fmt::format("'{}' is extern: a program for the GPU can't reach the Linux kernel's variables", name),
            "define it in the same file");
    if (symbol.section >= source_.elf.sections().size())
        return damaged(fmt::format("'{}' has no section", name));
    const auto offset = symbol.value + static_cast<std::uint64_t>(static_cast<std::int64_t>(first.immediate));
    for (std::size_t i = 0; i < maps_.size(); ++i) {
        if (maps_[i].is_section || maps_[i].section != symbol.section || maps_[i].offset != offset)
            continue;
        if (!maps_[i].definition)
            return maps_[i].definition.error();
        first.source = kPseudoMap;
        first.immediate = static_cast<std::int32_t>(i);
        second->immediate = 0;
        return ok();
    }
    return data_address(symbol, first, *second);
}

Status Linker::data_address(const ElfSymbol& symbol, Instruction& first, Instruction& second) const {
    const auto& section = source_.elf.sections()[symbol.section];
    const auto name = symbol_name(source_, symbol);
    if (is_writable_data(section))
        return global_address(symbol, first, second);
    const auto start = constants_.start_of_section.find(symbol.section);
    if (start == constants_.start_of_section.end())
        return error(
            "EGPU-B052",
            fmt::format("'{}' is in section '{}', which a program can't use", name, section.name.substr(0, kNameLimit)),
            instead_of_section(section.name));
    if (!source_.elf.relocations(symbol.section).empty())
        return error("EGPU-B052",
                     fmt::format("constants of section '{}' hold addresses", section.name.substr(0, kNameLimit)),
                     "keep numbers in constants, not pointers");
    const auto offset = static_cast<std::int64_t>(symbol.value) + first.immediate;
    if (symbol.value > section.data.size() || offset < 0 || offset > static_cast<std::int64_t>(section.data.size()))
        return damaged(fmt::format("'{}' is outside its section", name));
    first.source = kPseudoMapValue;
    first.immediate = static_cast<std::int32_t>(Object::kConstantsMap);
    second.immediate = static_cast<std::int32_t>(start->second + offset);
    return ok();
}

Status Linker::global_address(const ElfSymbol& symbol, Instruction& first, Instruction& second) const {
    const auto map = std::ranges::find_if(
        maps_, [&](const MapSource& each) { return each.is_section && each.section == symbol.section; });
    if (map == maps_.end())
        return error("EGPU-B025",
                     fmt::format("'{}' is in one of more than {} sections of global variables",
                                 symbol_name(source_, symbol), kMostVariableSections),
                     "keep variables that belong together in one section");
    if (of_linux_.contains(symbol.section))
        return error(
            "EGPU-B050",
            fmt::format("'{}' is in section '{}', which programs for the Linux kernel use too: each side would "
                        "have its own",
                        symbol_name(source_, symbol), map->name),
            "keep what a GPU's programs use in a section of their own: SEC(\".data.gpu\")");
    if (!map->definition)
        return map->definition.error();
    const auto offset = static_cast<std::int64_t>(symbol.value) + first.immediate;
    if (symbol.value > map->definition->value_bytes || offset < 0 || offset > map->definition->value_bytes)
        return damaged(fmt::format("'{}' is outside its section", symbol_name(source_, symbol)));
    first.source = kPseudoMapValue;
    first.immediate = static_cast<std::int32_t>(map - maps_.begin());
    second.immediate = static_cast<std::int32_t>(offset);
    return ok();
}

void Linker::leave_to_linux(const Function& entry) {
    std::vector<const Function*> reached{&entry};
    for (std::size_t i = 0; i < reached.size(); ++i) {
        const Function& function = *reached[i];
        if (!linux_functions_.insert(&function).second)
            continue;
        linux_instructions_ += function.count;
        if (linux_instructions_ > kInstructionLimit) {
            // Too much to look through: it may use all of them.
            for (const auto& map : maps_)
                if (map.is_section)
                    of_linux_.insert(map.section);
            return;
        }
        const auto& code = code_of(function.section).instructions;
        const auto& relocations = source_.elf.relocations(function.section);
        const auto begin = std::uint64_t{function.first} * 8, end = begin + std::uint64_t{function.count} * 8;
        std::map<std::uint64_t, const ElfRelocation*> own;
        for (auto next = std::ranges::lower_bound(relocations, begin, {}, &ElfRelocation::offset);
             next != relocations.end() && next->offset < end; ++next) {
            own.emplace(next->offset, &*next);
            const auto section = source_.elf.symbols()[next->symbol].section;
            if (section < source_.elf.sections().size() && is_writable_data(source_.elf.sections()[section]))
                of_linux_.insert(section);
        }
        for (std::uint32_t at = function.first; at < function.first + function.count; ++at) {
            if (code[at].opcode != kCall || code[at].source != kPseudoCall)
                continue;
            const auto relocation = own.find(std::uint64_t{at} * 8);
            if (const auto to = callee(function, at, code[at], relocation == own.end() ? nullptr : relocation->second))
                reached.push_back(*to);
        }
    }
}

void Linker::add_lines(const Function& function, std::uint32_t start, Program& program) const {
    const auto& lines = source_.notes_of(source_.elf.sections()[function.section].name).lines;
    auto line = std::ranges::lower_bound(lines, function.first, {}, &SourceLine::instruction);
    for (; line != lines.end() && line->instruction < function.first + function.count; ++line) {
        // Line 0 is code that the compiler made for no line: it belongs to the line before.
        const bool again = std::next(line) != lines.end() && std::next(line)->instruction == line->instruction;
        if (again || line->line == 0)
            continue;
        program.lines.push_back(source_.resolve(*line));
        program.lines.back().instruction = start + line->instruction - function.first;
    }
}

}  // namespace egpu::ebpf

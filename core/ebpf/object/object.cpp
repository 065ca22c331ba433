// SPDX-License-Identifier: Apache-2.0
#include "ebpf/object/object.hpp"

#include <bpf/libbpf.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "ebpf/helpers/helpers.hpp"
#include "ebpf/object/link.hpp"

namespace egpu::ebpf {
namespace {

constexpr std::size_t kProgramLimit = 256;

std::string read_license(const ElfFile& elf) {
    const auto data = elf.sections()[elf.section_named("license")].data;
    const auto* text = reinterpret_cast<const char*>(data.data());
    return data.empty() ? std::string{} : std::string(text, strnlen(text, std::min(data.size(), kNameLimit)));
}

/// Sections that libbpf has a program type for ("uprobe/...", "usdt/...", "tracepoint/...").
bool is_linux_section(const std::string& section) {
    bpf_prog_type type{};
    bpf_attach_type attach{};
    return libbpf_prog_type_by_name(section.c_str() + (section.starts_with('?') ? 1 : 0), &type, &attach) == 0;
}

Diagnostic unknown_section(const std::string& program, const std::string& section) {
    return error(
        "EGPU-B010",
        fmt::format("program '{}' is in section \"{}\", which neither egpu nor libbpf knows", program, section),
        "write SEC(\"gpu[.GRANULARITY]/EVENT[.SPACE][/KERNEL]\"), such as \"gpu/load.global\"");
}

/// Names of the structs that the object's functions take as their first argument, by the function's name.
std::unordered_map<std::string_view, std::string_view> first_arguments(const Btf& btf) {
    std::unordered_map<std::string_view, std::string_view> out;
    for (std::uint32_t id = 1; id < btf.count(); ++id) {
        const btf_type* function = btf.type(id);
        if (function == nullptr || Btf::kind(function) != BTF_KIND_FUNC)
            continue;
        const btf_type* prototype = btf.type(function->type);
        if (prototype == nullptr || Btf::kind(prototype) != BTF_KIND_FUNC_PROTO || Btf::elements(prototype) == 0)
            continue;
        const btf_type* pointer = btf.strip(Btf::rows<btf_param>(prototype)[0].type);
        const btf_type* target =
            pointer != nullptr && Btf::kind(pointer) == BTF_KIND_PTR ? btf.strip(pointer->type) : nullptr;
        if (target != nullptr && (Btf::kind(target) == BTF_KIND_STRUCT || Btf::kind(target) == BTF_KIND_UNION))
            out.emplace(btf.name(function), btf.name(target));
    }
    return out;
}

class Reader {
public:
    explicit Reader(Source source) : source_(std::move(source)) {}
    Result<Object> read();

private:
    Status read_programs();
    Status read_program(const Function& function, const std::string& section, Linker& linker);
    Status check_context(const Program& program) const;
    bool takes_context_of_ours(const std::string& program) const;
    Diagnostic no_gpu_program(const std::vector<const Function*>& others) const;
    Status keep_usable_maps();
    Status add_print_map();
    std::string section_of(const Function& function) const {
        return std::string(source_.elf.sections()[function.section].name.substr(0, kNameLimit));
    }
    bool is_for_gpu(const Function& function) const {
        const auto section = section_of(function);
        return is_gpu_section(section) || is_bpftime_program(section, function.name);
    }
    Diagnostic here(Diagnostic diagnostic) const {
        if (diagnostic.where.file.empty())
            diagnostic.where.file = source_.path;
        return diagnostic;
    }

    Source source_;
    std::vector<Function> functions_;
    std::vector<MapSource> maps_;
    Constants constants_;
    std::unordered_map<std::string_view, std::string_view> arguments_;
    Object object_;
};

Status Reader::read_program(const Function& function, const std::string& section, Linker& linker) {
    if (!function.is_global)
        return error("EGPU-B014", fmt::format("program '{}' is static", function.name),
                     "programs are not static: remove the word");
    if (object_.programs.size() == kProgramLimit)
        return error("EGPU-B006", fmt::format("the object has more than {} programs", kProgramLimit));
    Program program;
    program.name = function.name;
    const bool of_bpftime = is_bpftime_program(section, function.name);
    auto point = of_bpftime ? parse_bpftime_section(section) : parse_section(section);
    if (!point)
        return source_.at(point.error(), section, function.first);
    program.point = *std::move(point);
    program.section = of_bpftime ? to_section(program.point) : section;
    program.has_context = !of_bpftime || takes_context_of_ours(program.name);
    if (auto status = check_context(program); !status)
        return source_.at(status.error(), section, function.first);
    if (auto status = linker.link(function, program); !status)
        return status;
    object_.programs.push_back(std::move(program));
    return ok();
}

bool Reader::takes_context_of_ours(const std::string& program) const {
    const auto argument = arguments_.find(program);
    return argument != arguments_.end() && argument->second.starts_with("egpu_");
}

/// A kernel's context has no fields of an access; the other way round all is there. What another struct calls its
/// fields says nothing of what a context has at their places.
Status Reader::check_context(const Program& program) const {
    const auto argument = arguments_.find(program.name);
    if (argument == arguments_.end() || !program.has_context)
        return ok();
    const auto name = argument->second.substr(0, argument->second.find("___"));
    const bool is_of_kernel = context_of(program.point.event) == ContextKind::kernel;
    if (name != "egpu_kernel_ctx" && name != "egpu_mem_ctx")
        return error("EGPU-B015",
                     fmt::format("'{}' is not a context of egpu", name.empty() ? "a struct without a name" : name),
                     fmt::format("take struct {} *", is_of_kernel ? "egpu_kernel_ctx" : "egpu_mem_ctx"));
    if (!is_of_kernel || name != "egpu_mem_ctx")
        return ok();
    return error("EGPU-B015",
                 fmt::format("program '{}' takes an egpu_mem_ctx, and {} gives an egpu_kernel_ctx", program.name,
                             to_name(program.point.event)),
                 "take a struct egpu_kernel_ctx *, or choose an event of memory, such as load or mem");
}

/// With what it has instead: the first at its place, each with its section.
Diagnostic Reader::no_gpu_program(const std::vector<const Function*>& others) const {
    constexpr std::size_t kMost = 4;
    std::string found;
    for (std::size_t i = 0; i < std::min(kMost, others.size()); ++i)
        found += fmt::format("{}{} in SEC(\"{}\")", i == 0 ? ": it has " : ", ", others[i]->name,
                             source_.elf.sections()[others[i]->section].name.substr(0, kNameLimit));
    if (others.size() > kMost)
        found += fmt::format(" and {} more", others.size() - kMost);
    auto wrong = error("EGPU-B004", "the object has no program for a GPU" + found,
                       "a program for a GPU begins with SEC(\"gpu/...\")");
    if (std::ranges::any_of(others, [&](const Function* other) { return is_kernel_probe(section_of(*other)); }))
        wrong.hints.emplace_back("programs for bpftime are functions named cuda__...");
    return others.empty() ? here(wrong)
                          : source_.at(wrong, source_.elf.sections()[others[0]->section].name, others[0]->first);
}

Status Reader::read_programs() {
    Linker linker(source_, functions_, maps_, constants_);
    std::vector<Diagnostic> errors;  // of each program, so that one run shows them all
    std::vector<const Function*> others;
    const auto add = [&](Diagnostic wrong) {
        // Of a map that several programs use, once.
        if (std::ranges::none_of(errors, [&](const Diagnostic& each) {
                return each.message == wrong.message && each.where.line == wrong.where.line;
            }))
            errors.push_back(std::move(wrong));
    };
    for (const auto& function : functions_)
        if (function.is_global && section_of(function) != ".text" && !is_for_gpu(function))
            linker.leave_to_linux(function);
    for (const auto& function : functions_) {
        const auto section = section_of(function);
        if (is_for_gpu(function)) {
            if (auto status = read_program(function, section, linker); !status)
                for (const auto& wrong : status.errors())
                    add(here(wrong));
        } else if (section != ".text" && function.is_global) {
            if (!is_linux_section(section))
                add(source_.at(unknown_section(function.name, section), section, function.first));
            object_.linux_programs.push_back(function.name);
            others.push_back(&function);
        }
        if (errors.size() >= 16)
            break;
    }
    if (!errors.empty())
        return errors;
    if (object_.programs.empty())
        return no_gpu_program(others);
    return ok();
}

/// Calls `use(instruction)` for each load of a map, or of an address in one, in a program.
template <typename Use>
void each_map_load(Program& program, Use use) {
    auto& code = program.instructions;
    for (std::size_t i = 0; i < code.size(); ++i) {
        if (code[i].opcode != kLoadImmediate64)
            continue;
        const bool in_map =
            code[i].source == kPseudoMapValue && code[i].immediate != static_cast<std::int32_t>(Object::kConstantsMap);
        if (code[i].source == kPseudoMap || in_map)
            use(code[i]);
        ++i;
    }
}

/// In an object with programs for the Linux kernel, maps that no GPU program uses are theirs, whatever they are.
/// Global variables are there for programs only: those that none uses are left out.
Status Reader::keep_usable_maps() {
    std::vector<bool> used(maps_.size());
    for (std::size_t i = 0; i < maps_.size(); ++i)
        used[i] = object_.linux_programs.empty() && !maps_[i].is_section;
    for (auto& program : object_.programs)
        each_map_load(program, [&](const Instruction& load) { used[static_cast<std::size_t>(load.immediate)] = true; });
    std::vector<std::int32_t> number(maps_.size(), -1);
    for (std::size_t i = 0; i < maps_.size(); ++i) {
        if (!used[i])
            continue;
        if (!maps_[i].definition)
            return maps_[i].definition.errors();
        number[i] = static_cast<std::int32_t>(object_.maps.size());
        object_.maps.push_back(*std::move(maps_[i].definition));
    }
    for (auto& program : object_.programs)
        each_map_load(program,
                      [&](Instruction& load) { load.immediate = number[static_cast<std::size_t>(load.immediate)]; });
    return ok();
}

/// Records of bpf_printk go to a ring of their own, which no program names.
Status Reader::add_print_map() {
    const auto prints = [](const Instruction& each) {
        const Helper* called = called_helper(each);
        return called != nullptr && called->prints();
    };
    if (std::ranges::none_of(object_.programs,
                             [&](const Program& program) { return std::ranges::any_of(program.instructions, prints); }))
        return ok();
    if (std::ranges::any_of(object_.maps, [](const MapDefinition& map) { return map.name == "bpf_printk"; }))
        return here(error("EGPU-B020", "map 'bpf_printk' has the name of the ring that lines of bpf_printk go to",
                          "give it another name"));
    constexpr std::uint32_t kBytes = 256u << 10;  // some thousand lines
    MapDefinition ring;
    ring.name = "bpf_printk";
    ring.type = MapType::ringbuf;
    ring.max_entries = kBytes;
    object_.print_map = static_cast<std::uint32_t>(object_.maps.size());
    object_.maps.push_back(std::move(ring));
    return ok();
}

Result<Object> Reader::read() {
    auto functions = read_functions(source_);
    if (!functions)
        return here(functions.error());
    functions_ = *std::move(functions);
    auto maps = read_maps(source_);
    if (!maps)
        return here(maps.error());
    maps_ = *std::move(maps);
    std::ranges::move(read_globals(source_), std::back_inserter(maps_));
    auto constants = read_constants(source_);
    if (!constants)
        return here(constants.error());
    constants_ = *std::move(constants);
    arguments_ = first_arguments(source_.btf);
    if (auto status = read_programs(); !status)
        return status.errors();
    if (auto status = keep_usable_maps(); !status)
        return status.errors();
    if (auto status = add_print_map(); !status)
        return status.errors();
    object_.path = source_.path;
    object_.license = read_license(source_.elf);
    object_.options = std::move(constants_.options);
    object_.constants = std::move(constants_.bytes);
    return std::move(object_);
}

}  // namespace

const LineInfo* Program::line_of(std::uint32_t instruction) const {
    const auto after = std::ranges::upper_bound(lines, instruction, {}, &LineInfo::instruction);
    return after == lines.begin() ? nullptr : &*(after - 1);
}

std::string_view text_at(const Object& object, std::uint64_t place, std::uint64_t most) {
    if (place >= object.constants.size())
        return {};
    const auto* text = reinterpret_cast<const char*>(object.constants.data()) + place;
    return {text, strnlen(text, std::min<std::uint64_t>(most, object.constants.size() - place))};
}

Result<Object> read_object(std::span<const std::byte> elf, const std::string& path) {
    auto source = Source::open(elf, path);
    if (!source) {
        auto wrong = source.error();
        wrong.where.file = path;
        return wrong;
    }
    return Reader(*std::move(source)).read();
}

}  // namespace egpu::ebpf

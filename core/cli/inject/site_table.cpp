// SPDX-License-Identifier: Apache-2.0
#include "cli/inject/site_table.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

#include <fmt/format.h>

#include "base/names.hpp"
#include "inject/match/match.hpp"

namespace egpu::cli {
namespace {

const char* space_name(ptx::AccessSpace space) {
    switch (space) {
        case ptx::AccessSpace::global:
            return "global";
        case ptx::AccessSpace::shared:
            return "shared";
        case ptx::AccessSpace::local:
            return "local";
        case ptx::AccessSpace::constant:
            return "const";
        case ptx::AccessSpace::param:
            return "param";
        case ptx::AccessSpace::texture:
            return "texture";
        case ptx::AccessSpace::generic:
            break;
    }
    return "generic";
}

std::string source_of(const ptx::Module& module, const ptx::SourceLine& source) {
    if (source.line == 0)
        return "-";
    const std::string_view file = module.file_name(source.file);
    return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), source.line);
}

class LineFinder {
public:
    explicit LineFinder(std::string_view text) {
        for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
            ends_.push_back(static_cast<std::uint32_t>(at));
    }
    std::size_t line_of(std::uint32_t offset) const {
        return 1 + static_cast<std::size_t>(std::lower_bound(ends_.begin(), ends_.end(), offset) - ends_.begin());
    }

private:
    std::vector<std::uint32_t> ends_;
};

std::array<std::string, SiteTable::kColumns.size()> row_of(const ptx::Module& module, const LineFinder& lines,
                                                           const ptx::Function& kernel, ebpf::Event event,
                                                           const inject::Site& site) {
    std::string where(kernel.name);
    if (site.function != &kernel)
        where += fmt::format(" > {}", site.function->name);
    if (site.instruction == nullptr)
        return {where,
                ebpf::to_name(event),
                fmt::format("{}", lines.line_of(site.function->range.begin)),
                "-",
                "-",
                "-",
                "-",
                fmt::format("{}", site.loop_depth)};
    const bool accesses = ebpf::context_of(event) == ebpf::ContextKind::mem;
    const std::string space = !accesses           ? "-"
                              : site.tested_space ? fmt::format("{}?", space_name(*site.tested_space))
                                                  : std::string(space_name(site.access.space));
    const bool constant = site.access.bytes == ptx::MemoryAccess::Bytes::constant;
    const std::string bytes = !accesses  ? "-"
                              : constant ? fmt::format("{}", site.access.bytes_per_lane())
                              : site.access.bytes == ptx::MemoryAccess::Bytes::unknown ? std::string("n/a")
                              : site.access.bytes == ptx::MemoryAccess::Bytes::in_tensor_map
                                  ? std::string("of a tensor map")
                                  : std::string("at run time");
    return {where,
            ebpf::to_name(event),
            fmt::format("{}", lines.line_of(site.instruction->range.begin)),
            source_of(module, site.source),
            std::string(site.instruction->opcode),
            space,
            bytes,
            fmt::format("{}", site.loop_depth)};
}

}  // namespace

SiteTable site_table(const NamedModule& named, const std::vector<ebpf::InjectionPoint>& points) {
    SiteTable table;
    const LineFinder lines(*named.module.text);
    std::set<std::array<std::string, SiteTable::kColumns.size()>> seen_rows;
    std::set<std::string> seen_notes;
    for (const auto* kernel : kernels_of(named.module)) {
        const auto functions = inject::reachable_functions(named.module, *kernel);
        if (!functions) {
            table.notes.push_back(
                fmt::format("{}: refused: {}  [{}]", kernel->name, functions.error().message, functions.error().code));
            continue;
        }
        for (const auto& point : points) {
            if (!point.kernel_pattern.empty() && !kernel_name_matches(point.kernel_pattern, kernel->name))
                continue;
            const auto matches = inject::find_sites(named.module, *functions, point);
            // Points that differ in their granularity, or name a space each, have places in common.
            for (const auto& site : matches.sites)
                if (auto row = row_of(named.module, lines, *kernel, point.event, site); seen_rows.insert(row).second)
                    table.rows.push_back(std::move(row));
            for (const auto& note : matches.notes)
                if (auto text = fmt::format("{}: {}  [{}]", kernel->name, note.message, note.code);
                    seen_notes.insert(text).second)
                    table.notes.push_back(std::move(text));
        }
    }
    return table;
}

}  // namespace egpu::cli

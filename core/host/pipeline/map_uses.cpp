// SPDX-License-Identifier: Apache-2.0
#include "host/pipeline/map_uses.hpp"

#include <algorithm>
#include <map>

#include "ebpf/isa/instruction.hpp"

namespace egpu::host {

std::vector<MapUse> map_uses(const ebpf::Program& program, const CheckedProgram& checked, std::uint32_t map_base) {
    std::map<std::uint32_t, MapUse> uses;
    for (const auto& instruction : program.instructions)
        if (instruction.opcode == ebpf::kLoadImmediate64 && instruction.source == ebpf::kPseudoMap) {
            const auto index = static_cast<std::uint32_t>(instruction.immediate);
            uses[index].map = map_base + index;
        }
    if (checked.verification)
        for (const auto& [map, first, end] : checked.verification->values_written) {
            // Ascending: what overlaps or follows is one range.
            auto& written = uses[map].written;
            uses[map].map = map_base + map;
            if (!written.empty() && first <= written.back().second)
                written.back().second = std::max(written.back().second, end);
            else
                written.emplace_back(first, end);
        }
    std::vector<MapUse> list;
    for (auto& [index, use] : uses)
        list.push_back(std::move(use));
    return list;
}

}  // namespace egpu::host

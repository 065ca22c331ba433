// SPDX-License-Identifier: Apache-2.0
#include "ebpf/specializer/sources.hpp"

#include <fmt/format.h>

#include <vector>

namespace egpu::ebpf::specializer {

std::uint64_t source_bit(const ContextField& field) {
    const auto index = static_cast<std::uint64_t>(&field - context_fields().data());
    return index < kFieldBits ? std::uint64_t{1} << index : 0;
}

std::string describe_sources(std::uint64_t sources) {
    std::vector<std::string> names;
    for (const auto& field : context_fields())
        if ((sources & source_bit(field)) != 0)
            names.push_back(fmt::format("`{}`", field.name));
    const std::pair<std::uint64_t, const char*> others[] = {
        {kFromClock, "the clock"},
        {kFromMap, "what a map holds"},
        {kFromMovedValue, "the value that the instruction moves"},
        {kFromArgument, "a kernel argument"},
        {kFromSm, "the number of the SM"},
        {kFromRandom, "a random number"},
        {kFromStack, "the stack at an offset known only at run time"},
    };
    for (const auto& [bit, name] : others)
        if ((sources & bit) != 0)
            names.emplace_back(name);
    if (names.empty())
        return "a value that differs between paths through the program";
    std::string text = names.front();
    for (std::size_t i = 1; i < names.size(); ++i)
        text += (i + 1 == names.size() ? " and " : ", ") + names[i];
    return text;
}

}  // namespace egpu::ebpf::specializer

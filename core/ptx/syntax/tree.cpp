// SPDX-License-Identifier: Apache-2.0
#include "ptx/syntax/tree.hpp"

#include <algorithm>

namespace egpu::ptx {

bool Instruction::has(std::string_view part) const {
    return parts.size() > 1 && std::find(parts.begin() + 1, parts.end(), part) != parts.end();
}

const Function* Module::function(std::string_view name) const {
    const auto found = function_index.find(name);
    return found == function_index.end() ? nullptr : &functions[found->second];
}

const Variable* Module::variable(std::string_view name) const {
    const auto found = variable_index.find(name);
    return found == variable_index.end() ? nullptr : &variables[found->second];
}

std::string_view Module::file_name(std::uint32_t index) const {
    for (const File& file : files)
        if (file.index == index)
            return file.name;
    return {};
}

}  // namespace egpu::ptx

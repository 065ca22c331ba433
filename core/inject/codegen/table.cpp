// SPDX-License-Identifier: Apache-2.0
#include "inject/codegen/table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace egpu::inject {

std::uint32_t Table::offset_of(const TableEntry& entry) {
    const auto found = std::find(entries_.begin(), entries_.end(), entry);
    const auto index = static_cast<std::uint32_t>(found - entries_.begin());
    if (found == entries_.end())
        entries_.push_back(entry);
    return index * 8;
}

std::string Table::declaration() const {
    if (entries_.empty())
        return {};
    return fmt::format(".visible .const .align 8 .b64 {}[{}];\n", kSymbol, entries_.size());
}

}  // namespace egpu::inject

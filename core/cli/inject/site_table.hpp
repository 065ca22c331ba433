// SPDX-License-Identifier: Apache-2.0
// Where injection points are in kernels, as rows of text.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cli/inject/modules.hpp"
#include "ebpf/events/events.hpp"

namespace egpu::cli {

struct SiteTable {
    static constexpr std::array kColumns{"KERNEL", "EVENT", "PTX LINE", "SOURCE",
                                         "OPCODE", "SPACE", "BYTES",    "LOOP DEPTH"};
    std::vector<std::array<std::string, kColumns.size()>> rows;
    std::vector<std::string> notes;  ///< what is no site, and kernels that are refused
};

/// Sites of these points in every kernel of the module. Bytes are those of one lane; "?" where only a test at run time
/// tells the space.
SiteTable site_table(const NamedModule& module, const std::vector<ebpf::InjectionPoint>& points);

}  // namespace egpu::cli

// SPDX-License-Identifier: Apache-2.0
// KernelNames: what kernels are called in the window. Several can have one short name (overloads, instances of a
// template): the second is "name #2", and so on in the order of their ids, in every chart and table.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/catalogue/catalogue.hpp"

namespace egpu::ui {

class KernelNames {
public:
    /// Takes in the kernels that were not there before; ids only grow.
    void update(const host::Catalogue& catalogue);
    /// "kernel 7" for an id that the catalogue lacks.
    std::string of(std::uint64_t id) const;

private:
    std::vector<std::string> names_;  ///< by id - 1
    std::map<std::string, std::uint32_t> seen_;
};

}  // namespace egpu::ui

// SPDX-License-Identifier: Apache-2.0
#include "ui/model/kernel_names.hpp"

#include <fmt/format.h>

namespace egpu::ui {

void KernelNames::update(const host::Catalogue& catalogue) {
    for (std::size_t i = names_.size(); i < catalogue.kernels.size(); ++i) {
        const std::string& name = catalogue.kernels[i].name;
        const std::uint32_t number = ++seen_[name];
        names_.push_back(number == 1 ? name : fmt::format("{} #{}", name, number));
    }
}

std::string KernelNames::of(std::uint64_t id) const {
    return id >= 1 && id <= names_.size() ? names_[id - 1] : fmt::format("kernel {}", id);
}

}  // namespace egpu::ui

// SPDX-License-Identifier: Apache-2.0
#include "base/sampling.hpp"

#include <fmt/format.h>

namespace egpu {

const char* to_name(Sampling::Unit unit) {
    return unit == Sampling::Unit::blocks ? "blocks" : unit == Sampling::Unit::warps ? "warps" : "all";
}

std::string to_words(const Sampling& sampling) {
    return sampling.is_all() ? "all" : fmt::format("1 in {} {}", sampling.one_in, to_name(sampling.unit));
}

}  // namespace egpu

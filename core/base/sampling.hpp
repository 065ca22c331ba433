// SPDX-License-Identifier: Apache-2.0
// Which part of a launch runs a probe's programs: all of it, or one thread block or warp in N (TARGETS E5, `sample`).
#pragma once

#include <cstdint>
#include <string>

namespace egpu {

struct Sampling {
    enum class Unit { all, blocks, warps } unit = Unit::all;
    std::uint32_t one_in = 1;

    /// Everything runs them: one in 1 is all.
    bool is_all() const { return unit == Unit::all || one_in <= 1; }
    bool operator==(const Sampling& other) const {
        return is_all() ? other.is_all() : unit == other.unit && one_in == other.one_in;
    }
};

const char* to_name(Sampling::Unit unit);  ///< "warps"
/// "1 in 64 warps", "1 in 2 blocks"; "all" where it is.
std::string to_words(const Sampling& sampling);

}  // namespace egpu

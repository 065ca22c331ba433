// SPDX-License-Identifier: Apache-2.0
// Checks what the specialiser made of a program for one site by the verifier's means: another domain, another way
// through the program, nothing taken from the specialiser but what it claims.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "ebpf/specializer/specializer.hpp"

namespace egpu::ebpf {

/// Checks what is made of a program, site after site; what is the same for all of its sites is found out once.
class Recheck {
public:
    Recheck();
    ~Recheck();
    /// Walks every path of a specialised program that the verifier accepted before, with `constants` known, and
    /// compares each step with the facts that stand in its place. EGPU-V059 where one doesn't hold, or where what is
    /// left isn't safe; EGPU-V011 where it has too many paths. `instruction_limit`: worst case a firing; 0: the
    /// event's.
    Status check(const SpecializedProgram& program, const SiteConstants& constants,
                 std::uint32_t instruction_limit = 0);
    /// The same, unless one that is alike was checked before and found good: sites of which the same instructions are
    /// executed, the same branches decided and the same results constant, whatever numbers they are. (Most differ in
    /// nothing but the number of the site.)
    Status check_new(const SpecializedProgram& program, const SiteConstants& constants);

private:
    struct Walked;
    std::unique_ptr<Walked> walked_;  ///< of the program checked last
};

/// Of one site.
Status recheck(const SpecializedProgram& program, const SiteConstants& constants, std::uint32_t instruction_limit = 0);

}  // namespace egpu::ebpf

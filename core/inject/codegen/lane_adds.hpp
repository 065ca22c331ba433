// SPDX-License-Identifier: Apache-2.0
// What the lanes of a warp add to maps together.
#pragma once

#include <string>
#include <vector>

#include "inject/codegen/addresses.hpp"
#include "inject/codegen/codegen.hpp"
#include "inject/codegen/writer.hpp"

namespace egpu::inject {

/// One red for several elements: each of the lanes that are here adds to an element of its own.
class LaneAdds {
public:
    LaneAdds(FunctionContext& function, Registers& registers, ElementAddresses& addresses, Statements& body)
        : function_(function), registers_(registers), addresses_(addresses), body_(body) {}

    /// Finds out who is here. Before everything else, once.
    void gather();
    const std::string& mask() const { return mask_; }    ///< the lanes that are here
    const std::string& count() const { return count_; }  ///< how many they are

    /// `value`: a 64-bit register with the same number in all lanes, added unless it is 0. Where it is empty, `factor`
    /// for each lane is added.
    struct Addition {
        ebpf::StaticElement element;
        std::string value;
        std::uint32_t factor = 0;
    };
    /// Each element once; either all with values or all with factors.
    void add(std::vector<Addition> additions);

private:
    using Run = std::vector<Addition>;  ///< elements of one map

    void add_run(const Run& run);
    void add_by_leader(const Addition& addition);
    void add_by_several(const Run& run);
    void add_own(const Run& run, const std::string& base, const std::string& who);
    std::string own_address(const Run& run, const std::string& base);
    std::string own_value(const Run& run);
    std::string own_number(const std::vector<std::uint32_t>& numbers);
    std::string is_index(std::size_t index);
    std::uint64_t offset_of(const Addition& addition) const;
    void red(const std::string& who, const std::string& address, std::uint64_t offset, const std::string& value);

    FunctionContext& function_;
    Registers& registers_;
    ElementAddresses& addresses_;
    Statements& body_;
    std::string mask_, count_, rank_;
    std::string leads_;                  ///< predicate: the lowest of the lanes
    std::string index_;                  ///< of the element that this lane adds to
    std::vector<std::string> is_index_;  ///< predicates: it is 0, 1, ...
};

}  // namespace egpu::inject

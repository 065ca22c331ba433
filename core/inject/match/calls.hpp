// SPDX-License-Identifier: Apache-2.0
// The sequences that nothing may split: from the first argument of a call to the call, and from the call to the last
// load of its result (ptxas takes both for one operation).
//
//   {
//   .param .b32 param0;  .param .b32 retval0;
//   st.param.b32 [param0], %r1;          <- text for the next three stands before this
//   st.param.b32 [param1], %r2;
//   call.uni (retval0), f, (param0, param1);
//   ld.param.b32 %r3, [retval0];         <- text for this one stands behind it
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "inject/match/outline.hpp"

namespace egpu::inject {

class CallSequences {
public:
    explicit CallSequences(const Outline& outline);

    /// Text before the statement at item `index` would split a sequence.
    bool inside(std::size_t index) const { return kinds_[index] != Kind::outside; }

    struct Place {
        std::size_t item = 0;
        bool behind = false;  ///< the text stands behind the item, else before it
    };
    /// Where text stands that is for the instruction at item `index`, executed by the same threads equally often: the
    /// instruction itself or an end of its sequence. nullopt where a sequence holds a label, branch or exit, or where
    /// its guard is written on the way.
    std::optional<Place> place_for(std::size_t index) const;

private:
    enum class Kind : std::uint8_t { outside, argument, result };
    void mark(std::size_t from, std::size_t to, Kind kind, std::uint32_t sequence);
    bool guard_is_written(std::size_t guarded, std::size_t from, std::size_t to) const;

    struct Sequence {
        std::size_t place = 0;  ///< item: first argument, or last load of a result
        bool straight = true;
    };
    const Outline* outline_;
    std::vector<Kind> kinds_;               ///< by item
    std::vector<std::uint32_t> sequences_;  ///< by item; of an item that is in two, the later one
    std::vector<Sequence> all_;
};

}  // namespace egpu::inject

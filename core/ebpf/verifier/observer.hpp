// SPDX-License-Identifier: Apache-2.0
// Observer: looks on while a program is walked, and may end the walk. What is claimed of a program made for one site is
// checked so (ebpf/recheck).
#pragma once

#include <cstdint>
#include <optional>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {

class Observer {
public:
    virtual ~Observer() = default;
    /// What a context field holds wherever this program runs; nullopt: any number that it can mean.
    virtual std::optional<std::uint64_t> constant_field(const ContextField& field) const = 0;
    /// False for an instruction that is passed and costs nothing.
    virtual bool costs(std::uint32_t at) const = 0;
    /// At each visit of an instruction. After it the state may be made to say more: what a lookup gave.
    virtual Verdict before_step(const State& state) = 0;
    virtual Verdict after_step(State& state) = 0;
    /// Of a conditional jump: which ways it can go on this path.
    virtual Verdict branches(bool can_take, bool can_pass) = 0;
};

}  // namespace egpu::ebpf

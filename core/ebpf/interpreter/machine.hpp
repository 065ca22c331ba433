// SPDX-License-Identifier: Apache-2.0
// One execution under way: registers, frames, memory, maps.
#pragma once

#include <array>
#include <memory>

#include "ebpf/helpers/helpers.hpp"
#include "ebpf/interpreter/interpreter.hpp"
#include "ebpf/interpreter/memory.hpp"

namespace egpu::ebpf {

class Machine {
public:
    Machine(const Object& object, std::span<const Instruction> program, Execution& execution);
    Result<std::uint64_t> run();

private:
    static constexpr std::size_t kDepthLimit = 8;    // frames, as in Linux (MAX_CALL_FRAMES)
    static constexpr std::size_t kStackBytes = 512;  // of one frame

    /// A loaded map is this plus its index: below every region, so it can't be dereferenced, and not NULL.
    static constexpr std::uint64_t kMapHandle = 0xe0000'0000;

    struct Frame {
        std::unique_ptr<std::array<std::byte, kStackBytes>> stack;
        std::uint64_t stack_address = 0;
    };
    struct Caller {
        std::size_t next = 0;
        std::array<std::uint64_t, 4> saved{};  ///< r6 to r9
    };

    Status step(const Instruction& instruction);
    Status load(const Instruction& instruction);
    Status store(const Instruction& instruction);
    Status atomic(const Instruction& instruction);
    Status load_immediate64(const Instruction& instruction);
    Status jump(const Instruction& instruction);
    Status enter(const Instruction& call);
    void leave();
    Status set(std::uint8_t destination, std::uint64_t value);

    // Helpers (calls.cpp).
    Status call(std::uint32_t number);
    void tell(NamedElement named) const;
    Status lookup(bool make);
    Status update();
    Status value();
    Status argument();
    Status bpftime(HelperId id);
    Status extreme(bool smallest);
    Status send();
    Status print(bool all_at_once);
    std::uint32_t field(std::string_view name) const;
    Result<std::uint32_t> map_of(std::uint64_t handle) const;
    Result<ReferenceMap*> storage_of(std::uint32_t map);
    /// The value's bytes, nullptr where there is none; arrays have all their elements.
    std::vector<std::byte>* element(std::uint32_t map, ReferenceMap& storage, const std::vector<std::byte>& key,
                                    bool make);
    Result<std::uint64_t> value_address(std::uint32_t map, std::int64_t offset);

    const Object& object_;
    std::span<const Instruction> program_;
    Execution& execution_;
    Memory memory_;
    std::array<std::uint64_t, 11> registers_{};
    std::vector<Frame> frames_;  // made when first needed, used again
    std::vector<Caller> callers_;
    std::uint64_t context_address_ = 0, constants_address_ = 0;
    std::uint64_t random_numbers_ = 0;  ///< given out so far
    std::size_t next_ = 0;
    bool done_ = false;
};

}  // namespace egpu::ebpf

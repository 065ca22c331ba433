// SPDX-License-Identifier: Apache-2.0
// The clocks: %clock counts the cycles of cost.hpp; %globaltimer is the host's CLOCK_MONOTONIC, so that timestamps of
// kernels and of the host are of one clock.
#include "gpu/simulated/executor/operations/special.hpp"

#include <ctime>

#include "gpu/simulated/executor/operations/lane.hpp"

namespace egpu::simulated {
namespace {

std::uint64_t nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

template <bool Timer, typename Row, unsigned Shift>
bool read(Context& context, const Instruction& instruction, Mask mask) {
    context.timed = true;
    const auto value = static_cast<Row>((Timer ? nanoseconds() : context.cycles) >> Shift);
    Row* const destination = row_at<Row>(context, instruction.destination);
    for_lanes(mask, [&](unsigned lane) { destination[lane] = value; });
    return true;
}

}  // namespace

Handler dynamic_register_handler(std::string_view name) {
    if (name == "%clock") {
        return read<false, std::uint32_t, 0>;
    }
    if (name == "%clock_hi") {
        return read<false, std::uint32_t, 32>;
    }
    if (name == "%clock64") {
        return read<false, std::uint64_t, 0>;
    }
    if (name == "%globaltimer") {
        return read<true, std::uint64_t, 0>;
    }
    if (name == "%globaltimer_lo") {
        return read<true, std::uint32_t, 0>;
    }
    return name == "%globaltimer_hi" ? read<true, std::uint32_t, 32> : nullptr;
}

bool dynamic_register_is_wide(std::string_view name) {
    return name == "%clock64" || name == "%globaltimer";
}

}  // namespace egpu::simulated

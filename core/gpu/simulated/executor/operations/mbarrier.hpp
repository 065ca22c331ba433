// SPDX-License-Identifier: Apache-2.0
// mbarrier objects (PTX ISA 9.0, section 9.7.13.15): 8 bytes of shared memory that count arrivals and bytes.
//
// How an object is laid out is the implementation's affair. Here: pending arrivals in bits 0 to 19, those expected in
// each phase in 20 to 39, transactions outstanding + 2^21 in 40 to 61, the parity of the phase in 62, and 1 in bit 63,
// by which a use before mbarrier.init is found. A state that mbarrier.arrive gives is the object as it was before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/simulated/executor/machine/context.hpp"

namespace egpu::simulated {

/// What mbarrier.arrive and arrive_drop do beside counting one arrival: bits of Instruction::variant.
enum ArriveOptions : std::uint8_t { kArriveDrops = 1, kArriveNoComplete = 2, kArriveExpects = 4 };

/// All take the generic address in sources[0].
Handler mbarrier_init_handler();  ///< sources[1]: arrivals a phase
Handler mbarrier_invalidate_handler();
Handler mbarrier_transaction_handler(bool expects);  ///< expect_tx, complete_tx; sources[1]: bytes
Handler mbarrier_arrive_handler();                   ///< sources[1]: arrivals, or bytes expected; state
Handler mbarrier_test_handler(bool parity);          ///< sources[1]: state or parity; a predicate
Handler mbarrier_pending_handler();                  ///< sources[0]: a state, not an address
Handler mbarrier_copies_arrive_handler();            ///< cp.async.mbarrier.arrive; variant 1: .noinc

/// complete-tx on the object at a generic address, as an asynchronous copy does it. False: a fault.
bool complete_transactions(Context& context, unsigned lane, std::uint64_t address, std::uint64_t bytes);

/// "mbarrier at shared address 0x40, phase 1: 3 of 4 arrivals and 128 bytes are missing": what a lane waits for.
std::string describe_mbarrier(Context& context, const Instruction& instruction, unsigned lane);

}  // namespace egpu::simulated

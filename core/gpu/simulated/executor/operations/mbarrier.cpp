// SPDX-License-Identifier: Apache-2.0
// mbarrier.init, inval, expect_tx, complete_tx, arrive, arrive_drop, test_wait, try_wait, pending_count. Lanes act in
// order of their number; the blocks of a cluster run on one host thread, so plain loads and stores will do.
#include "gpu/simulated/executor/operations/mbarrier.hpp"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "gpu/simulated/executor/operations/lane.hpp"
#include "gpu/simulated/executor/operations/memory.hpp"

namespace egpu::simulated {
namespace {

constexpr std::uint32_t kMostArrivals = (1U << 20) - 1;
constexpr std::int64_t kMostTransactions = (1 << 20) - 1;
constexpr std::int64_t kTransactionBias = 1 << 21;
constexpr std::uint64_t kMarker = std::uint64_t{1} << 63;

struct Object {
    std::uint32_t pending = 0, expected = 0;
    std::int64_t transactions = 0;
    bool odd = false;

    static Object from(std::uint64_t bits) {
        return {static_cast<std::uint32_t>(bits & kMostArrivals),
                static_cast<std::uint32_t>(bits >> 20 & kMostArrivals),
                static_cast<std::int64_t>(bits >> 40 & 0x3fffff) - kTransactionBias, (bits >> 62 & 1) != 0};
    }
    std::uint64_t bits() const {
        return kMarker | std::uint64_t{odd ? 1U : 0U} << 62 |
               static_cast<std::uint64_t>(transactions + kTransactionBias) << 40 | std::uint64_t{expected} << 20 |
               pending;
    }
    void complete_if_done() {
        if (pending == 0 && transactions == 0) {
            odd = !odd;
            pending = expected;
        }
    }
};

bool wrong(Context& context, unsigned lane, std::uint64_t address, std::string text) {
    context.fault.has_address = true;
    context.fault.address = address;
    return report(context, FaultKind::illegal_instruction, lane, std::move(text));
}

/// Where the 8 bytes are; nullptr and a fault where they can't be.
std::byte* bytes_of_object(Context& context, unsigned lane, std::uint64_t address) {
    if (address >> 32 != kSharedWindow >> 32) {
        wrong(context, lane, address, fmt::format("an mbarrier at {:#x}, which is not shared memory", address));
        return nullptr;
    }
    if (address % 8 != 0) {
        context.fault.has_address = true;
        context.fault.address = address;
        report(context, FaultKind::misaligned_address, lane,
               fmt::format("an mbarrier at shared address {:#x}, which is not a multiple of 8", address & 0xffff'ffff));
        return nullptr;
    }
    return generic_pointer(context, lane, address, 8, true);
}

/// An initialised object, to be looked at and changed.
class Access {
public:
    Access(Context& context, unsigned lane, std::uint64_t address) : pointer_(bytes_of_object(context, lane, address)) {
        if (pointer_ == nullptr) {
            return;
        }
        std::memcpy(&before_, pointer_, 8);
        if ((before_ & kMarker) == 0) {
            wrong(context, lane, address,
                  fmt::format(
                      "the 8 bytes at shared address {:#x} hold no mbarrier: mbarrier.init has not been executed, "
                      "or mbarrier.inval has",
                      address & 0xffff'ffff));
            pointer_ = nullptr;
            return;
        }
        object = Object::from(before_);
    }
    explicit operator bool() const { return pointer_ != nullptr; }
    std::uint64_t before() const { return before_; }
    void keep() const {
        const std::uint64_t bits = object.bits();
        std::memcpy(pointer_, &bits, 8);
    }
    Object object;

private:
    std::byte* pointer_;
    std::uint64_t before_ = 0;
};

bool init(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const addresses = row_at<const std::uint64_t>(context, instruction.sources[0]);
    const auto* const counts = row_at<const std::uint32_t>(context, instruction.sources[1]);
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        std::byte* const pointer = bytes_of_object(context, lane, addresses[lane]);
        if (pointer == nullptr) {
            return false;
        }
        if (counts[lane] == 0 || counts[lane] > kMostArrivals) {
            return wrong(context, lane, addresses[lane],
                         fmt::format("an mbarrier of {} arrivals; 1 to {} are possible", counts[lane], kMostArrivals));
        }
        const std::uint64_t bits = Object{counts[lane], counts[lane], 0, false}.bits();
        std::memcpy(pointer, &bits, 8);
    }
    context.looked = true;
    return true;
}

/// Calls act(access, lane), which answers whether all is well, for each lane.
template <typename Act>
bool for_objects(Context& context, const Instruction& instruction, Mask mask, Act act) {
    const auto* const addresses = row_at<const std::uint64_t>(context, instruction.sources[0]);
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        Access access(context, lane, addresses[lane]);
        if (!access || !act(access, lane, addresses[lane])) {
            return false;
        }
    }
    return true;
}

bool invalidate(Context& context, const Instruction& instruction, Mask mask) {
    return for_objects(context, instruction, mask, [&](const Access&, unsigned lane, std::uint64_t address) {
        std::memset(bytes_of_object(context, lane, address), 0, 8);
        return true;
    });
}

bool add_transactions(Context& context, Access& access, unsigned lane, std::uint64_t address, std::int64_t bytes) {
    Object& object = access.object;
    object.transactions += bytes;
    if (object.transactions > kMostTransactions || object.transactions < -kMostTransactions) {
        return wrong(context, lane, address,
                     fmt::format("an mbarrier with {} bytes outstanding; {} are the limit", object.transactions,
                                 kMostTransactions));
    }
    context.looked = true;
    return true;
}

template <bool Expects>
bool transact(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const bytes = row_at<const std::uint32_t>(context, instruction.sources[1]);
    return for_objects(context, instruction, mask, [&](Access& access, unsigned lane, std::uint64_t address) {
        const std::int64_t count = bytes[lane];
        if (!add_transactions(context, access, lane, address, Expects ? count : -count)) {
            return false;
        }
        if (!Expects) {
            access.object.complete_if_done();
        }
        access.keep();
        return true;
    });
}

bool count_arrivals(Context& context, Access& access, unsigned lane, std::uint64_t address, std::uint32_t count) {
    Object& object = access.object;
    if (count == 0 || count > object.pending) {
        return wrong(
            context, lane, address,
            fmt::format("{} arrivals at an mbarrier of which {} are pending in this phase", count, object.pending));
    }
    object.pending -= count;
    context.looked = true;
    return true;
}

bool arrive(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const numbers = row_at<const std::uint32_t>(context, instruction.sources[1]);
    auto* const states = row_at<std::uint64_t>(context, instruction.destination);
    const std::uint8_t options = instruction.variant;
    return for_objects(context, instruction, mask, [&](Access& access, unsigned lane, std::uint64_t address) {
        Object& object = access.object;
        const bool expects = (options & kArriveExpects) != 0;
        const std::uint32_t count = expects ? 1 : numbers[lane];
        if (expects && !add_transactions(context, access, lane, address, numbers[lane])) {
            return false;
        }
        if (!count_arrivals(context, access, lane, address, count)) {
            return false;
        }
        if ((options & kArriveDrops) != 0) {
            object.expected -= count;
        }
        if ((options & kArriveNoComplete) != 0 && object.pending == 0 && object.transactions == 0) {
            return wrong(context, lane, address, "an arrival with .noComplete that completes the phase");
        }
        object.complete_if_done();
        access.keep();
        states[lane] = access.before();
        return true;
    });
}

template <bool Parity>
bool test(Context& context, const Instruction& instruction, Mask mask) {
    Mask complete = 0;
    const Mask lanes = mask;
    const bool fine =
        for_objects(context, instruction, mask, [&](const Access& access, unsigned lane, std::uint64_t at) {
            bool odd = false;
            if constexpr (Parity) {
                odd = (row_at<const std::uint32_t>(context, instruction.sources[1])[lane] & 1) != 0;
            } else {
                const std::uint64_t state = row_at<const std::uint64_t>(context, instruction.sources[1])[lane];
                if ((state & kMarker) == 0) {
                    return wrong(context, lane, at,
                                 fmt::format("{:#x} is no state that an mbarrier.arrive gave", state));
                }
                odd = Object::from(state).odd;
            }
            complete |= static_cast<Mask>(access.object.odd != odd ? 1 : 0) << lane;
            return true;
        });
    Mask& destination = mask_at(context, instruction.destination);
    destination = (destination & ~lanes) | complete;
    return fine;
}

bool pending_count(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const states = row_at<const std::uint64_t>(context, instruction.sources[0]);
    auto* const destination = row_at<std::uint32_t>(context, instruction.destination);
    for_lanes(mask, [&](unsigned lane) { destination[lane] = Object::from(states[lane]).pending; });
    return true;
}

/// Copies are done when they are issued: the arrival that they trigger comes at once. Without .noinc the pending count
/// is raised by one before it, so nothing changes.
bool copies_arrive(Context& context, const Instruction& instruction, Mask mask) {
    const bool counts = instruction.variant != 0;
    return for_objects(context, instruction, mask, [&](Access& access, unsigned lane, std::uint64_t address) {
        if (counts) {
            if (!count_arrivals(context, access, lane, address, 1)) {
                return false;
            }
            access.object.complete_if_done();
            access.keep();
        }
        return true;
    });
}

}  // namespace

Handler mbarrier_init_handler() {
    return init;
}
Handler mbarrier_invalidate_handler() {
    return invalidate;
}
Handler mbarrier_transaction_handler(bool expects) {
    return expects ? transact<true> : transact<false>;
}
Handler mbarrier_arrive_handler() {
    return arrive;
}
Handler mbarrier_test_handler(bool parity) {
    return parity ? test<true> : test<false>;
}
Handler mbarrier_pending_handler() {
    return pending_count;
}
Handler mbarrier_copies_arrive_handler() {
    return copies_arrive;
}

bool complete_transactions(Context& context, unsigned lane, std::uint64_t address, std::uint64_t bytes) {
    Access access(context, lane, address);
    if (!access || !add_transactions(context, access, lane, address, -static_cast<std::int64_t>(bytes))) {
        return false;
    }
    access.object.complete_if_done();
    access.keep();
    return true;
}

std::string describe_mbarrier(Context& context, const Instruction& instruction, unsigned lane) {
    const std::uint64_t address = row_at<const std::uint64_t>(context, instruction.sources[0])[lane];
    const Access access(context, lane, address);
    if (!access) {
        return "mbarrier";
    }
    const Object& object = access.object;
    return fmt::format("mbarrier at shared address {:#x}, phase {}: {} of {} arrivals{} missing", address & 0xffff'ffff,
                       object.odd ? 1 : 0, object.pending, object.expected,
                       object.transactions != 0 ? fmt::format(" and {} bytes", object.transactions) : std::string());
}

}  // namespace egpu::simulated

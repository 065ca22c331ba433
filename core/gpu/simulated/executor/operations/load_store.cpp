// SPDX-License-Identifier: Apache-2.0
// ld, ldu, st of all types, scalar and vector (PTX ISA 9.0, section 9.7.9.8 on).
#include <bit>

#include "gpu/simulated/executor/operations/lane.hpp"
#include "gpu/simulated/executor/operations/memory.hpp"

namespace egpu::simulated {
namespace {

/// Other workers and the host may touch the same bytes: relaxed atomics, which are plain moves on the host.
template <typename T>
T read(const std::byte* pointer) {
    return __atomic_load_n(reinterpret_cast<const T*>(pointer), __ATOMIC_RELAXED);
}
template <typename T>
void write(std::byte* pointer, T value) {
    __atomic_store_n(reinterpret_cast<T*>(pointer), value, __ATOMIC_RELAXED);
}

void fence(const Instruction& instruction) {
    if (instruction.fences) {
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }
}

/// T is signed where the value is to be sign-extended to the row.
template <typename T, typename Row>
bool load(Context& context, const Instruction& instruction, Mask mask) {
    std::byte* pointers[kLanes];
    if (!instruction.resolve(context, instruction, mask, pointers)) {
        return false;
    }
    fence(instruction);
    const Place* const places = context.program->places.data() + instruction.list;
    for (unsigned element = 0; element < instruction.vector; ++element) {
        Row* const destination = row_at<Row>(context, places[element]);
        for_lanes(mask, [&](unsigned lane) {
            destination[lane] = static_cast<Row>(read<T>(pointers[lane] + element * sizeof(T)));
        });
    }
    fence(instruction);
    return true;
}

template <typename T, typename Row>
bool store(Context& context, const Instruction& instruction, Mask mask) {
    std::byte* pointers[kLanes];
    if (!instruction.resolve(context, instruction, mask, pointers)) {
        return false;
    }
    fence(instruction);
    const Place* const places = context.program->places.data() + instruction.list;
    for (unsigned element = 0; element < instruction.vector; ++element) {
        const Row* const source = row_at<const Row>(context, places[element]);
        for_lanes(mask,
                  [&](unsigned lane) { write<T>(pointers[lane] + element * sizeof(T), static_cast<T>(source[lane])); });
    }
    fence(instruction);
    return true;
}

template <typename T>
Handler load_to(bool wide) {
    return wide ? load<T, std::uint64_t> : load<T, std::uint32_t>;
}
template <typename T>
Handler store_from(bool wide) {
    return wide ? store<T, std::uint64_t> : store<T, std::uint32_t>;
}

}  // namespace

Handler load_handler(Type type, bool wide) {
    switch (bits_of(type)) {
        case 8:
            return is_signed(type) ? load_to<std::int8_t>(wide) : load_to<std::uint8_t>(wide);
        case 16:
            return is_signed(type) ? load_to<std::int16_t>(wide) : load_to<std::uint16_t>(wide);
        case 32:
            return is_signed(type) ? load_to<std::int32_t>(wide) : load_to<std::uint32_t>(wide);
        case 64:
            return wide ? load<std::uint64_t, std::uint64_t> : nullptr;
        default:
            return nullptr;
    }
}

Handler store_handler(Type type, bool wide) {
    switch (bits_of(type)) {
        case 8:
            return store_from<std::uint8_t>(wide);
        case 16:
            return store_from<std::uint16_t>(wide);
        case 32:
            return store_from<std::uint32_t>(wide);
        case 64:
            return wide ? store<std::uint64_t, std::uint64_t> : nullptr;
        default:
            return nullptr;
    }
}

}  // namespace egpu::simulated

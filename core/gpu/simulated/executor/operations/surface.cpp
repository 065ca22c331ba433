// SPDX-License-Identifier: Apache-2.0
// suld.b, sust.b, sured.b (PTX ISA 9.0, section 9.7.11): x in bytes, bytes as they are.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "gpu/simulated/executor/operations/image.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"
#include "gpu/simulated/executor/operations/memory.hpp"

namespace egpu::simulated {
namespace {

struct Spot {
    std::int64_t x = 0, y = 0, slice = 0;
};

Spot spot_of(const Context& context, const ImageRows& rows, unsigned lane) {
    const Geometry& geometry = rows.form.geometry;
    const unsigned first = geometry.layered ? 1 : 0;
    const auto number = [&](unsigned index) {
        return static_cast<std::int64_t>(row_at<const std::int32_t>(context, rows.coordinate(index))[lane]);
    };
    Spot spot;
    spot.x = number(first);
    spot.y = geometry.dimensions > 1 ? number(first + 1) : 0;
    spot.slice = geometry.layered ? std::int64_t{row_at<const std::uint32_t>(context, rows.coordinate(0))[lane]}
                 : geometry.dimensions > 2 ? number(2)
                                           : 0;
    return spot;
}

/// Where a lane's access is; `pointer` stays null where it is to be left out. False: a fault.
bool locate(Context& context, const ImageRows& rows, const ImageView& view, unsigned lane, std::byte*& pointer) {
    const ImageForm& form = rows.form;
    const Image& image = *view.image;
    const std::int64_t bytes = std::int64_t{form.element_bytes} * form.vector;
    Spot spot = spot_of(context, rows, lane);
    pointer = nullptr;
    if (spot.x % bytes != 0) {
        return report(context, FaultKind::misaligned_address, lane,
                      fmt::format("access to {} bytes of a surface at x = {}", bytes, spot.x));
    }
    const std::int64_t last_x = (static_cast<std::int64_t>(image.row_bytes()) - bytes) / bytes * bytes;
    const std::int64_t last_y = std::int64_t{image.height} - 1, last_slice = std::int64_t{image.slices} - 1;
    const bool inside = spot.x >= 0 && spot.x <= last_x && spot.y >= 0 && spot.y <= last_y && spot.slice >= 0 &&
                        spot.slice <= last_slice && bytes <= static_cast<std::int64_t>(image.row_bytes());
    if (!inside && form.outside == Outside::zero) {
        return true;
    }
    if (!inside && (form.outside == Outside::trap || last_x < 0)) {
        return report(context, FaultKind::illegal_address, lane,
                      fmt::format("access to {} bytes of a surface at byte {}, row {}, slice {}; it has {} bytes, {} "
                                  "rows, {} slices",
                                  bytes, spot.x, spot.y, spot.slice, image.row_bytes(), image.height, image.slices));
    }
    spot = {std::clamp<std::int64_t>(spot.x, 0, last_x), std::clamp<std::int64_t>(spot.y, 0, last_y),
            std::clamp<std::int64_t>(spot.slice, 0, last_slice)};
    pointer = view.host + static_cast<std::uint64_t>(spot.slice) * image.slice_bytes() +
              static_cast<std::uint64_t>(spot.y) * image.pitch + static_cast<std::uint64_t>(spot.x);
    return true;
}

/// access(rows, pointer or null, lane) for each lane.
template <typename Access>
bool each_access(Context& context, const Instruction& instruction, Mask mask, const Access& access) {
    const ImageRows rows(context, instruction);
    const auto* const handles = row_at<const std::uint64_t>(context, rows.object());
    ViewOfLane views(context, true);
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        const ImageView* const view = views.find(handles[lane], lane);
        std::byte* pointer = nullptr;
        if (view == nullptr || !locate(context, rows, *view, lane, pointer)) {
            return false;
        }
        access(rows, pointer, lane);
    }
    return true;
}

template <typename T>
std::uint64_t load_as(const std::byte* pointer) {
    return __atomic_load_n(reinterpret_cast<const T*>(pointer), __ATOMIC_RELAXED);
}
template <typename T>
void store_as(std::byte* pointer, std::uint64_t value) {
    __atomic_store_n(reinterpret_cast<T*>(pointer), static_cast<T>(value), __ATOMIC_RELAXED);
}

/// Other workers may touch the same bytes: relaxed atomics of the element's size.
std::uint64_t load_element(const std::byte* pointer, unsigned bytes) {
    return bytes == 1   ? load_as<std::uint8_t>(pointer)
           : bytes == 2 ? load_as<std::uint16_t>(pointer)
           : bytes == 4 ? load_as<std::uint32_t>(pointer)
                        : load_as<std::uint64_t>(pointer);
}
void store_element(std::byte* pointer, unsigned bytes, std::uint64_t value) {
    switch (bytes) {
        case 1:
            return store_as<std::uint8_t>(pointer, value);
        case 2:
            return store_as<std::uint16_t>(pointer, value);
        case 4:
            return store_as<std::uint32_t>(pointer, value);
        default:
            return store_as<std::uint64_t>(pointer, value);
    }
}

template <typename Row>
bool load(Context& context, const Instruction& instruction, Mask mask) {
    return each_access(context, instruction, mask, [&](const ImageRows& rows, std::byte* pointer, unsigned lane) {
        const unsigned bytes = rows.form.element_bytes;
        for (unsigned index = 0; index < rows.form.vector; ++index) {
            row_at<Row>(context, rows.value(index))[lane] =
                pointer == nullptr ? 0 : static_cast<Row>(load_element(pointer + std::size_t{index} * bytes, bytes));
        }
    });
}

template <typename Row>
bool store(Context& context, const Instruction& instruction, Mask mask) {
    return each_access(context, instruction, mask, [&](const ImageRows& rows, std::byte* pointer, unsigned lane) {
        const unsigned bytes = rows.form.element_bytes;
        for (unsigned index = 0; index < rows.form.vector && pointer != nullptr; ++index) {
            store_element(pointer + std::size_t{index} * bytes, bytes,
                          row_at<const Row>(context, rows.value(index))[lane]);
        }
    });
}

template <typename Row>
bool reduce(Context& context, const Instruction& instruction, Mask mask) {
    return each_access(context, instruction, mask, [&](const ImageRows& rows, std::byte* pointer, unsigned lane) {
        if (pointer != nullptr) {
            const Row value = row_at<const Row>(context, rows.value(0))[lane];
            instruction.element(pointer, reinterpret_cast<const std::byte*>(&value));
        }
    });
}

}  // namespace

Handler surface_load_handler(bool wide) {
    return wide ? load<std::uint64_t> : load<std::uint32_t>;
}
Handler surface_store_handler(bool wide) {
    return wide ? store<std::uint64_t> : store<std::uint32_t>;
}
Handler surface_reduce_handler(bool wide) {
    return wide ? reduce<std::uint64_t> : reduce<std::uint32_t>;
}

}  // namespace egpu::simulated

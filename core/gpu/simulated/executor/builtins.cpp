// SPDX-License-Identifier: Apache-2.0
// What CUDA's device library gives kernels through declared functions: vprintf, malloc, free, __assertfail.
#include <bit>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "gpu/simulated/executor/block.hpp"
#include "gpu/simulated/executor/format.hpp"
#include "gpu/simulated/executor/operations/memory.hpp"
#include "gpu/simulated/executor/warp.hpp"

namespace egpu::simulated {
namespace {

constexpr std::size_t kLongestText = 1 << 16;

/// Arguments of a builtin as 64-bit values, for one lane.
class Arguments {
public:
    Arguments(Context& context, const CallSite& site, unsigned lane) : context_(context), site_(site), lane_(lane) {}
    std::size_t count() const { return site_.arguments.size(); }
    std::uint64_t operator[](std::size_t index) const {
        const Passed& passed = site_.arguments[index];
        std::uint64_t value = 0;
        if (passed.in_memory) {
            std::memcpy(&value, context_.local + lane_ * context_.local_stride + context_.local_base + passed.offset,
                        std::min<std::size_t>(passed.bytes, sizeof value));
        } else if (bits_of(passed.type) == 64) {
            value = row_at<const std::uint64_t>(context_, passed.place)[lane_];
        } else {
            value = row_at<const std::uint32_t>(context_, passed.place)[lane_];
        }
        return value;
    }
    void set_result(std::uint64_t value) {
        for (const Passed& passed : site_.results) {
            if (passed.in_memory) {
                std::memcpy(context_.local + lane_ * context_.local_stride + context_.local_base + passed.offset,
                            &value, std::min<std::size_t>(passed.bytes, sizeof value));
            } else if (bits_of(passed.type) == 64) {
                row_at<std::uint64_t>(context_, passed.place)[lane_] = value;
            } else {
                row_at<std::uint32_t>(context_, passed.place)[lane_] = static_cast<std::uint32_t>(value);
            }
        }
    }

private:
    Context& context_;
    const CallSite& site_;
    const unsigned lane_;
};

/// A string with NUL at its end in any memory; false (and a fault) where it runs out of its allocation.
bool read_text(Context& context, unsigned lane, std::uint64_t address, std::string& text) {
    text.clear();
    if (address == 0) {
        text = "(null)";
        return true;
    }
    while (text.size() < kLongestText) {
        const std::byte* const at = generic_pointer(context, lane, address + text.size(), 1, false);
        if (at == nullptr) {
            return false;
        }
        if (*at == std::byte{0}) {
            return true;
        }
        text += static_cast<char>(*at);
    }
    return true;
}

void print(Launch& launch, const std::string& text) {
    const std::lock_guard lock(launch.print_mutex);
    if (launch.environment->print) {
        launch.environment->print(text);
    } else {
        std::fwrite(text.data(), 1, text.size(), stdout);
    }
}

bool print_formatted(Context& context, Launch& launch, Arguments arguments, unsigned lane) {
    std::string format;
    if (!read_text(context, lane, arguments[0], format)) {
        return false;
    }
    const std::uint64_t buffer = arguments[1];
    bool fine = true;
    const auto value = [&](std::uint64_t offset, unsigned bytes) {
        std::uint64_t result = 0;
        const std::byte* const at = fine ? generic_pointer(context, lane, buffer + offset, bytes, false) : nullptr;
        if (at == nullptr) {
            fine = false;
        } else {
            std::memcpy(&result, at, bytes);
        }
        return result;
    };
    const auto text = [&](std::uint64_t address) {
        std::string result;
        fine = fine && read_text(context, lane, address, result);
        return result;
    };
    const FormattedText out = format_device_text(format, value, text);
    if (!fine) {
        return false;
    }
    print(launch, out.text);
    arguments.set_result(out.arguments);
    return true;
}

std::uint64_t allocate_on_heap(Launch& launch, std::uint64_t bytes) {
    DeviceMemory& memory = *launch.environment->memory;
    if (bytes == 0 || bytes > launch.environment->heap_limit ||
        memory.heap_used() > launch.environment->heap_limit - bytes) {
        return 0;
    }
    const auto address = memory.allocate(bytes, 256, AllocationKind::heap);
    return address ? *address : 0;
}

bool free_on_heap(Context& context, Launch& launch, std::uint64_t address, unsigned lane) {
    if (address == 0) {
        return true;
    }
    DeviceMemory& memory = *launch.environment->memory;
    const auto found = memory.find(address);
    if (!found || found->address != address || found->kind != AllocationKind::heap || !memory.release(address)) {
        context.fault.has_address = true;
        context.fault.address = address;
        return report(context, FaultKind::illegal_address, lane,
                      fmt::format("free({:#x}), which malloc did not return: {}", address, memory.describe(address)));
    }
    return true;
}

bool assertion_failed(Context& context, Launch& launch, const Arguments& arguments, unsigned lane, Dimensions block,
                      Dimensions thread) {
    std::string message, file, function;
    if (!read_text(context, lane, arguments[0], message) || !read_text(context, lane, arguments[1], file) ||
        !read_text(context, lane, arguments[3], function)) {
        return false;
    }
    const auto line = static_cast<std::uint32_t>(arguments[2]);
    const std::string text =
        fmt::format("{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.", file, line, function,
                    block.x, block.y, block.z, thread.x, thread.y, thread.z, message);
    {
        const std::lock_guard lock(launch.print_mutex);
        std::fprintf(stderr, "%s\n", text.c_str());
    }
    return report(context, FaultKind::assertion, lane, text);
}

}  // namespace

bool Warp::call_builtin(const Instruction& instruction, Mask active) {
    const CallSite& site = context_.program->calls[instruction.list];
    static constexpr std::size_t kArguments[] = {0, 2, 1, 1, 5};
    if (site.arguments.size() != kArguments[static_cast<std::size_t>(site.builtin)]) {
        return report(context_, FaultKind::illegal_instruction, static_cast<unsigned>(std::countr_zero(active)),
                      fmt::format("'{}' called with {} arguments", site.callee, site.arguments.size()));
    }
    Launch& launch = block_.launch();
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        Arguments arguments(context_, site, lane);
        switch (site.builtin) {
            case Builtin::vprintf:
                if (!print_formatted(context_, launch, arguments, lane)) {
                    return false;
                }
                break;
            case Builtin::malloc:
                arguments.set_result(allocate_on_heap(launch, arguments[0]));
                break;
            case Builtin::free:
                if (!free_on_heap(context_, launch, arguments[0], lane)) {
                    return false;
                }
                break;
            default:
                return assertion_failed(context_, launch, arguments, lane, block_.index(),
                                        block_.thread_of(index_, lane));
        }
    }
    return true;
}

}  // namespace egpu::simulated

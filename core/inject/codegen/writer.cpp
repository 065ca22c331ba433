// SPDX-License-Identifier: Apache-2.0
#include "inject/codegen/writer.hpp"

namespace egpu::inject {

std::string Registers::declarations() const {
    std::string text;
    if (predicates_ != 0)
        text += fmt::format("\t.reg .pred %egpu_p<{}>;\n", predicates_);
    if (narrow_ != 0)
        text += fmt::format("\t.reg .b32 %egpu_w<{}>;\n", narrow_);
    if (wide_ != 0)
        text += fmt::format("\t.reg .b64 %egpu_d<{}>;\n", wide_);
    for (const auto& name : named_)
        text += fmt::format("\t.reg .b64 {};\n", name);
    return text;
}

namespace {

/// Small numbers are readable in decimal; PTX constants are 64 bits wide (PTX ISA 4.5.1).
constexpr std::int64_t kReadable = 1 << 20;

}  // namespace

std::string literal64(std::uint64_t number) {
    const auto value = static_cast<std::int64_t>(number);
    if (value > -kReadable && value < kReadable)
        return fmt::format("{}", value);
    return fmt::format("0x{:x}", number);
}

std::string literal32(std::uint64_t number) {
    const auto bits = static_cast<std::uint32_t>(number);
    const auto value = static_cast<std::int32_t>(bits);
    if (value > -kReadable && value < kReadable)
        return fmt::format("{}", value);
    return fmt::format("0x{:x}", bits);
}

}  // namespace egpu::inject

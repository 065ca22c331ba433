// SPDX-License-Identifier: Apache-2.0
// printf of kernels: the format language of CUDA C++ (Programming Guide, "Formatted Output").
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace egpu::simulated {

struct FormattedText {
    std::string text;
    std::uint32_t arguments = 0;
};

/// `value(offset, bytes)` reads the argument buffer, in which each argument is aligned to its size (4 or 8);
/// `text(address)` reads a string. What is no conversion is printed as it stands.
FormattedText format_device_text(std::string_view format,
                                 const std::function<std::uint64_t(std::uint64_t, unsigned)>& value,
                                 const std::function<std::string(std::uint64_t)>& text);

}  // namespace egpu::simulated

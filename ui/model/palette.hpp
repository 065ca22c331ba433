// SPDX-License-Identifier: Apache-2.0
// Palette: which colour a line has. What it is of (a kernel, all kernels together) has one colour in every chart, list
// and theme; what it says of that (read or written, p50 or p99) has a stroke of its own. The colours can be told apart
// with the common kinds of colour blindness (after Okabe and Ito); a second round of them is dashed, a third dotted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace egpu::ui {

enum class Stroke { solid, dashed, dotted };

struct LineStyle {
    std::size_t colour = 0;  ///< index in kColours...
    Stroke stroke = Stroke::solid;
    bool operator==(const LineStyle&) const = default;
};

inline constexpr std::size_t kColours = 8;
/// 0xRRGGBB, on a light ground.
inline constexpr std::array<std::uint32_t, kColours> kLightColours = {0x0072b2, 0xd55e00, 0x009e73, 0xb0548a,
                                                                      0x9a7000, 0x3a8fc4, 0x6a51a3, 0x4d4d4d};
/// The same hues on a dark ground.
inline constexpr std::array<std::uint32_t, kColours> kDarkColours = {0x4ea8e6, 0xff9148, 0x2fd0a0, 0xe89ac7,
                                                                     0xf2d14b, 0x9fd8ff, 0xb9a3f0, 0xc8c8c8};

class Palette {
public:
    /// The style of a name: the next one that is free at first sight, the same for good.
    LineStyle style(const std::string& name);

private:
    std::map<std::string, std::size_t> numbers_;
};

}  // namespace egpu::ui

// SPDX-License-Identifier: Apache-2.0
// The version, said once (CMakeLists.txt), and the versions of the formats that egpu writes.
#pragma once

namespace egpu {

/// "0.1.0"
const char* version();

inline constexpr int kPluginAbiMajor = 0;
inline constexpr int kPluginAbiMinor = 1;
inline constexpr int kProbeSetFormat = 1;
inline constexpr const char* kSummarySchema = "egpu/summary/1";

}  // namespace egpu

// SPDX-License-Identifier: Apache-2.0
// Device code of files, looked at without running them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/pipeline/pipeline.hpp"

namespace egpu::cli {

/// "sm_90" or "90" -> 90; EGPU-X052.
Result<std::uint32_t> parse_architecture(const std::string& text);

/// All images of the files into the pipeline; false where a file can't be read. What can't be read, and files without
/// a kernel (EGPU-X056), are said on stderr.
bool add_file_images(host::Pipeline& pipeline, const std::vector<std::string>& files, const host::Device& device);

}  // namespace egpu::cli

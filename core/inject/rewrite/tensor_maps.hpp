// SPDX-License-Identifier: Apache-2.0
// What a copy through a tensor map moves: the box that the map describes, read from the map when the copy is started.
#pragma once

#include <string>
#include <string_view>

#include "inject/rewrite/writer.hpp"

namespace egpu::inject {

/// The register (32 bits) that with_tensor_bytes fills.
inline constexpr std::string_view kTensorBytes = "%egpu_tensor_bytes";

/// The site's instruction copies through a tensor map whose box can be read.
bool copies_through_tensor_map(const Firing& firing);

/// Wraps the text of a firing that reads kTensorBytes; other text comes back as it is.
std::string with_tensor_bytes(FunctionWriter& writer, const Firing& firing, std::string text);

}  // namespace egpu::inject

// SPDX-License-Identifier: Apache-2.0
// egpu_table of a copy: the only place that holds addresses, of maps and of the original's variables.
#pragma once

#include <cstddef>
#include <span>

#include "agent/kernels/inventory.hpp"

namespace egpu::agent {

/// Address and size of a variable of the application, by its PTX name, on the application's own handle; 0: none. Inside
/// OwnCalls, context current.
CUdeviceptr global_of(const Image& image, const char* name, std::size_t* bytes);

/// Writes the addresses that hold for this image in this place into the table of a copy's module, whose entries these
/// are: at its first load, and again
/// where the same image was loaded once more and its variables lie elsewhere. Not while the copy runs. Inside OwnCalls,
/// context current, under the load lock. Else what was wrong is in `result`.
bool fill_table(const Image& image, Place* place, CUmodule copy, const ReceivedCopy& received,
                std::span<const std::byte> entries, egpu_message_copy_result* result);

}  // namespace egpu::agent

// SPDX-License-Identifier: Apache-2.0
// What the mock driver knows of constants: whether a copy's bank held what the application's app_table held.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/device/driver.h"

/// The words of the application's app_table; they stay where they are.
void mock_note_table(const std::vector<std::uint64_t>* words);
/// A copy that reads app_table from its own module is launched.
void mock_reads_bank(CUstream stream, const std::vector<std::uint64_t>& bank);

/// In mock_driver.cpp: a call that the agent must make in relaxed capture mode.
void mock_must_be_relaxed();

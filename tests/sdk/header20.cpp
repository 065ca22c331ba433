// SPDX-License-Identifier: Apache-2.0
// The header alone, in C++20 without extensions.
#include <egpu/plugin.h>

#include <egpu/plugin.hpp>
static_assert(sizeof(egpu_plugin) == 72);

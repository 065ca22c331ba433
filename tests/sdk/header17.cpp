// SPDX-License-Identifier: Apache-2.0
// The header alone, in C++17 without extensions.
#include <egpu/plugin.h>

static_assert(sizeof(egpu_plugin) == 72);

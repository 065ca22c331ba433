// SPDX-License-Identifier: Apache-2.0
// Text into the fixed fields of the segment: cut to fit, always NUL-ended.
#pragma once

#include <cstddef>
#include <cstring>

namespace egpu::agent {

template <std::size_t Room>
void copy_text(char (&to)[Room], const char* from) {
    const std::size_t length = strnlen(from, Room - 1);
    std::memcpy(to, from, length);
    to[length] = '\0';
}

}  // namespace egpu::agent

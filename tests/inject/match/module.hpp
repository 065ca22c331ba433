// SPDX-License-Identifier: Apache-2.0
// A module from the body of a kernel, for tests of match.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/diagnostic.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::inject::testing {

inline ptx::Module parse_or_die(const std::string& text) {
    auto module = ptx::parse(text, "test.ptx");
    if (!module) {
        ADD_FAILURE() << to_text(module.error());
        return {};
    }
    return std::move(*module);
}

/// A module with one kernel "k" of this body; `before` stands at module scope.
inline ptx::Module kernel(const std::string& body, const std::string& before = {}) {
    return parse_or_die(".version 7.8\n.target sm_90\n.address_size 64\n" + before +
                        "\n.visible .entry k(.param .u64 p, .param .u64 .ptr .global .align 4 q)\n{\n"
                        ".reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .pred %p<5>;\n" +
                        body + "\n}\n");
}

}  // namespace egpu::inject::testing

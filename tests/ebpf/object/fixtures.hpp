// SPDX-License-Identifier: Apache-2.0
// Objects that the build compiled from tests/data/ebpf.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "base/files.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::ebpf {

inline std::string fixture_path(const std::string& name) {
    return std::string(EGPU_OBJECTS) + "/" + name;
}

/// "v1", "v2", ...: what "everything" was compiled for.
inline std::vector<std::string> instruction_sets() {
    std::vector<std::string> out;
    std::istringstream text(EGPU_BPF_VERSIONS);
    for (std::string version; std::getline(text, version, ',');)
        out.push_back(version);
    EXPECT_GE(out.size(), 3u);
    return out;
}

inline std::vector<std::byte> fixture_bytes(const std::string& name) {
    auto bytes = read_file(fixture_path(name));
    EXPECT_TRUE(bytes) << name;
    return bytes ? *bytes : std::vector<std::byte>{};
}

inline Result<Object> read_fixture(const std::string& name) {
    return read_object(fixture_bytes(name), name);
}

/// The object, or a failed test that says why there is none.
inline Object accepted(const std::string& name) {
    auto object = read_fixture(name);
    if (object)
        return *std::move(object);
    ADD_FAILURE() << name << ": " << to_text(object.error());
    return {};
}

inline const Program& program_named(const Object& object, const std::string& name) {
    for (const auto& program : object.programs)
        if (program.name == name)
            return program;
    ADD_FAILURE() << "no program " << name;
    static const Program none;
    return none;
}

/// All instructions as text, second halves of 64-bit loads left out.
inline std::vector<std::string> text_of(const Program& program) {
    std::vector<std::string> out;
    const auto& code = program.instructions;
    for (std::size_t i = 0; i < code.size(); ++i) {
        out.push_back(to_text(code[i], i + 1 < code.size() ? &code[i + 1] : nullptr));
        if (code[i].opcode == kLoadImmediate64)
            ++i;
    }
    return out;
}

}  // namespace egpu::ebpf

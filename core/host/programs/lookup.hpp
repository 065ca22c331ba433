// SPDX-License-Identifier: Apache-2.0
// What `-p WHAT` means: a file, or a name that is looked up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "host/plugins/plugin_file.hpp"

namespace egpu::host {

enum class WhatKind {
    source,  ///< a .bpf.c
    object,  ///< a .bpf.o
    plugin,
};

struct Located {
    WhatKind kind = WhatKind::object;
    std::string name;  ///< of the probe in the session
    std::string path;
    std::optional<PluginFile> plugin;  ///< of a plugin: ok, so far as its file tells
};

/// A name is looked up as plugin, then as installed program; probe sets come before both (host/probesets asks first).
/// EGPU-X020 no such file, X021 no such name with "did you mean", X022 another kind of file, X08x a plugin that can't
/// be used.
Result<Located> locate(const std::string& what);

/// Names of the installed programs (.bpf.o files in <libdir>/egpu/programs), sorted.
std::vector<std::string> installed_programs();

/// All names that `-p` takes as plugin or program, sorted.
std::vector<std::string> probe_names();

}  // namespace egpu::host

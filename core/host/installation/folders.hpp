// SPDX-License-Identifier: Apache-2.0
// Where egpu's own files are.
#pragma once

#include <string>

namespace egpu::host {

/// Folders of an egpu installation or build tree, found from the running program: the prefix may be moved.
struct InstallFolders {
    std::string library;  ///< holds libegpu-agent.so, simulated/, plugins/, programs/
    std::string include;  ///< holds egpu/bpf/egpu.bpf.h, egpu/plugin.h
    std::string data;     ///< holds template/, probesets/
};
InstallFolders install_folders();

}  // namespace egpu::host

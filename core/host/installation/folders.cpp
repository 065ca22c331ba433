// SPDX-License-Identifier: Apache-2.0
#include "host/installation/folders.hpp"

#include <filesystem>

namespace egpu::host {

InstallFolders install_folders() {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
    const fs::path prefix = program.parent_path().parent_path();
    InstallFolders folders{(prefix / EGPU_LIBDIR / "egpu").string(), (prefix / "include").string(),
                           (prefix / EGPU_DATADIR / "egpu").string()};
    if (!fs::exists(folders.library, ignored))
        folders.library = (prefix / "lib" / "egpu").string();
    if (!fs::exists(folders.data, ignored))
        folders.data = (prefix / "share" / "egpu").string();
    return folders;
}

}  // namespace egpu::host

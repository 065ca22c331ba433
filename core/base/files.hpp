// SPDX-License-Identifier: Apache-2.0
// Whole files in and out, with errors that name the file.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace egpu {

/// The bytes of a regular file; an error over `limit` bytes.
Result<std::vector<std::byte>> read_file(const std::string& path, std::size_t limit = std::size_t{1} << 31);
Result<std::string> read_text(const std::string& path, std::size_t limit = std::size_t{1} << 31);

/// Writes a file whole or not at all: to a temporary name beside it, then renamed. Links are followed, what is no
/// regular file (a device, a pipe) is written in place, an existing file keeps its mode. A pipe that nobody reads, or
/// whose reader takes nothing for 10 s, is an error.
Status write_file(const std::string& path, std::string_view content);

/// EGPU-X020 for a file that is not there: "helo.bpf.c: no such file", with "did you mean" where its folder has one of
/// the same ending whose name is near.
Diagnostic no_such_file(const std::string& path);

/// The folder that egpu was installed to, found from the running program or library; survives moving the prefix.
/// `relative`, such as "lib/egpu", is looked up below it.
std::string installed_path(std::string_view relative);

}  // namespace egpu

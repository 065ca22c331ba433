// SPDX-License-Identifier: Apache-2.0
// One child process, its output, and a time after which it is killed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace egpu::inject {

struct Finished {
    int exit_status = 0;  ///< of waitpid's macros: exit code, or 128 + signal
    bool timed_out = false;
    std::string output;  ///< stdout and stderr together, at most kOutputLimit bytes
};
inline constexpr std::size_t kOutputLimit = std::size_t{4} << 20;

/// Runs argv[0] with these arguments, without a shell. The child and its children are killed after the time.
Result<Finished> run_process(const std::vector<std::string>& arguments, std::uint32_t timeout_seconds);

/// A private folder (mode 0700) below $TMPDIR or /tmp, removed with the files that were made through it.
class PrivateFolder {
public:
    static Result<PrivateFolder> make();
    PrivateFolder(PrivateFolder&& other) noexcept;
    PrivateFolder& operator=(PrivateFolder&&) = delete;
    ~PrivateFolder();
    /// The path of a file in the folder; removed at the end where it exists.
    std::string file(const std::string& name);

private:
    explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
    std::string path_;
    std::vector<std::string> files_;
};

}  // namespace egpu::inject

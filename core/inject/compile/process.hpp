// SPDX-License-Identifier: Apache-2.0
// One child process, its output, and a time after which it is killed.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace egpu::inject {

struct Finished {
    int exit_status = 0;  ///< of waitpid's macros: exit code, or 128 + signal
    int signal = 0;       ///< that ended it; 0: it ended by itself
    bool timed_out = false;
    bool stopped = false;  ///< killed because `stop` was asked for
    std::string output;    ///< stdout and stderr together, at most kOutputLimit bytes
};
inline constexpr std::size_t kOutputLimit = std::size_t{4} << 20;

/// Runs argv[0] with these arguments, without a shell. The child and its children are killed after the time, or where
/// a stop is asked for.
Result<Finished> run_process(const std::vector<std::string>& arguments, std::uint32_t timeout_seconds,
                             const std::stop_token& stop = {});

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

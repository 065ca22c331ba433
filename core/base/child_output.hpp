// SPDX-License-Identifier: Apache-2.0
// What a child process writes into a pipe, for so long and no longer.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace egpu {

struct ChildOutput {
    std::string text;        ///< its first `most` bytes
    bool timed_out = false;  ///< the pipe was still open then
};

/// Reads until nobody holds the pipe's other end, until `enough` is true of what was read, or until the time is over.
/// Ending the child is the caller's.
ChildOutput read_child(int from, std::chrono::milliseconds limit, std::size_t most,
                       const std::function<bool(std::string_view)>& enough = {});

}  // namespace egpu

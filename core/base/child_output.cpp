// SPDX-License-Identifier: Apache-2.0
#include "base/child_output.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace egpu {

ChildOutput read_child(int from, std::chrono::milliseconds limit, std::size_t most,
                       const std::function<bool(std::string_view)>& enough) {
    using std::chrono::milliseconds, std::chrono::steady_clock;
    ChildOutput output;
    const auto end = steady_clock::now() + limit;
    std::array<char, 4096> chunk{};
    while (true) {
        const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
        pollfd waiting{from, POLLIN, 0};
        const int ready = left.count() <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(left.count()));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0) {
            output.timed_out = true;
            return output;
        }
        const ssize_t got = ::read(from, chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return output;
        const std::size_t room = most - std::min(most, output.text.size());
        output.text.append(chunk.data(), std::min(room, static_cast<std::size_t>(got)));
        if (enough && enough(output.text))
            return output;
    }
}

}  // namespace egpu

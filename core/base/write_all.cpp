// SPDX-License-Identifier: Apache-2.0
#include "base/write_all.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace egpu {
namespace {

/// Waits until something can be written; false with errno set.
bool wait_for_room(int file, int patience_ms) {
    pollfd watched{file, POLLOUT, 0};
    const int ready = ::poll(&watched, 1, patience_ms);
    if (ready == 0)
        errno = ETIMEDOUT;
    return ready > 0 || (ready < 0 && errno == EINTR);
}

}  // namespace

bool write_all(int file, std::string_view text, int patience_ms) {
    while (!text.empty()) {
        const ssize_t put = ::write(file, text.data(), text.size());
        if (put > 0) {
            text.remove_prefix(static_cast<std::size_t>(put));
        } else if (put == 0) {
            errno = ENOSPC;
            return false;
        } else if (errno == EAGAIN) {
            if (!wait_for_room(file, patience_ms))
                return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

}  // namespace egpu

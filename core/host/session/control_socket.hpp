// SPDX-License-Identifier: Apache-2.0
// A Unix socket beside the segment, on which the egpu process of a session takes requests of the same user: a line of
// JSON, taken with a '+', answered by a line of JSON. One thread; whoever connects and says nothing, or nonsense,
// disturbs nobody.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.hpp"

namespace egpu::host {

inline constexpr std::size_t kLargestRequest = std::size_t{64} << 10;  ///< bytes of a line
inline constexpr std::size_t kLargestAnswer = std::size_t{1} << 20;

/// "/dev/shm/egpu-1000-4711.sock" for the segment "egpu-1000-4711": it is in the same namespace as the segment,
/// whatever a container shares.
std::string control_path(std::string_view segment_name);

class ControlSocket {
public:
    /// A request without its newline; the answer without one. Called on the socket's thread. `stopping` becomes true
    /// where the session ends meanwhile.
    using Handler = std::function<std::string(std::string_view request, const std::atomic<bool>& stopping)>;

    ControlSocket() = default;
    ~ControlSocket() { stop(); }
    ControlSocket(const ControlSocket&) = delete;
    ControlSocket& operator=(const ControlSocket&) = delete;

    /// Listens, mode 0600. EGPU-X070 where the socket can't be made: the session then runs without it.
    Status start(const std::string& path, Handler handler);
    /// Ends the thread and removes the socket.
    void stop();

private:
    struct Client {
        int file = -1;
        std::string line;
        std::int64_t deadline_ms = 0;
    };
    void run();
    void take_client();
    /// False where the client is done with.
    bool read_client(Client& client);

    std::string path_;
    Handler handler_;
    int listener_ = -1, wake_ = -1;
    std::vector<Client> clients_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

/// The client's side: one request, one answer. EGPU-X071: nobody listens there, or not this user; EGPU-X072: no answer
/// within `timeout_ms`, or none that is whole; EGPU-X075: the process is suspended, and what becomes of the request.
Result<std::string> ask_session(const std::string& path, std::string_view request, std::uint32_t timeout_ms);

/// Removes sockets of this user whose egpu process is gone.
void remove_stale_sockets();

}  // namespace egpu::host

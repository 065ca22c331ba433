// SPDX-License-Identifier: Apache-2.0
#include "host/session/control_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/signals.hpp"
#include "segment/access/process.hpp"

namespace egpu::host {
namespace {

constexpr const char* kFolder = "/dev/shm";
constexpr const char* kSuffix = ".sock";
constexpr std::size_t kMostClients = 8;
constexpr std::int64_t kIdleMs = 5000;  ///< a client that has not sent its line by then is sent away
/// How often who waits for an answer looks whether the other is suspended; so seen twice, it is waited for no longer.
constexpr std::int64_t kLookMs = 500;
/// What a request is acknowledged with before anything is done: who gives up waiting knows whether it will be.
constexpr char kTaken = '+';
constexpr std::int64_t kAnswerMs = 2000;  ///< how long a client may take to read its answer

std::int64_t now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

bool address_of(const std::string& path, sockaddr_un* address) {
    *address = {};
    address->sun_family = AF_UNIX;
    if (path.size() >= sizeof(address->sun_path))
        return false;
    std::memcpy(address->sun_path, path.data(), path.size());
    return true;
}

/// The process at the other end; nullopt where it is another user's.
std::optional<std::uint32_t> peer_of(int file) {
    ucred peer{};
    socklen_t bytes = sizeof peer;
    if (::getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || peer.uid != ::geteuid())
        return std::nullopt;
    return static_cast<std::uint32_t>(peer.pid);
}

/// Waits for `events`, at most until the deadline.
bool ready(int file, short events, std::int64_t deadline_ms) {
    while (true) {
        const std::int64_t left = deadline_ms - now_ms();
        if (left <= 0)
            return false;
        pollfd watched{file, events, 0};
        const int got = ::poll(&watched, 1, static_cast<int>(left));
        if (got > 0)
            return true;
        if (got < 0 && errno != EINTR)
            return false;
    }
}

bool send_all(int file, std::string_view text, std::int64_t deadline_ms) {
    while (!text.empty()) {
        const ssize_t sent = ::send(file, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0)
            text.remove_prefix(static_cast<std::size_t>(sent));
        else if (errno == EINTR)
            continue;
        else if ((errno != EAGAIN && errno != EWOULDBLOCK) || !ready(file, POLLOUT, deadline_ms))
            return false;
    }
    return true;
}

enum class Wait { ready, over, suspended };

/// Waits for something to read from a process, at most until the deadline.
Wait wait_for(int file, std::uint32_t process, std::int64_t deadline_ms) {
    for (int seen = 0; seen < 2;) {
        if (ready(file, POLLIN, std::min(deadline_ms, now_ms() + kLookMs)))
            return Wait::ready;
        if (now_ms() >= deadline_ms)
            return Wait::over;
        // Once is no proof: a debugger holds a process for moments, too.
        seen = segment::process_suspended(process) ? seen + 1 : 0;
    }
    return Wait::suspended;
}

Diagnostic not_made(const std::string& path) {
    return error("EGPU-X070",
                 fmt::format("{}: {}: probes can't be changed while this session runs", path, std::strerror(errno)));
}

/// Nobody waits any more. Who is gone when a suspended process goes on is not obeyed (read_client()): whether it took
/// the request before is certain once it can't say so any more.
bool was_taken(int file) {
    char byte = 0;
    ::shutdown(file, SHUT_RDWR);
    return ::recv(file, &byte, 1, MSG_DONTWAIT) == 1 && byte == kTaken;
}

/// A process that is told to stop does so when its turn comes: it may have taken a request since.
Diagnostic is_suspended(std::uint32_t process, bool taken) {
    const std::string advice = fmt::format("fg or kill -CONT {} lets it go on", process);
    return taken ? error("EGPU-X075",
                         fmt::format("the session's egpu process {} is suspended while it does what it was asked for",
                                     process),
                         "it does so when it goes on: " + advice)
                 : error("EGPU-X075",
                         fmt::format("the session's egpu process {} is suspended: it takes no requests", process),
                         "nothing was changed; " + advice);
}

}  // namespace

std::string control_path(std::string_view segment_name) {
    return fmt::format("{}/{}{}", kFolder, segment_name, kSuffix);
}

Status ControlSocket::start(const std::string& path, Handler handler) {
    sockaddr_un address;
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (listener_ < 0 || wake_ < 0 || !address_of(path, &address))
        return not_made(path);
    // The name has this process's pid: one that is there was left behind.
    ::unlink(path.c_str());
    // On Linux the name gets the mode of the socket: no moment at which others could connect.
    if (::fchmod(listener_, 0600) != 0 ||
        ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return not_made(path);
    path_ = path;
    if (::listen(listener_, static_cast<int>(kMostClients)) != 0)
        return not_made(path);
    handler_ = std::move(handler);
    const AllSignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
    return ok();
}

void ControlSocket::stop() {
    stopping_ = true;
    if (thread_.joinable()) {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t told = ::write(wake_, &one, sizeof one);
        thread_.join();
    }
    if (!path_.empty())
        ::unlink(path_.c_str());
    path_.clear();
    for (int* file : {&listener_, &wake_}) {
        if (*file >= 0)
            ::close(*file);
        *file = -1;
    }
}

void ControlSocket::run() {
    while (!stopping_) {
        std::vector<pollfd> watched = {{wake_, POLLIN, 0}};
        for (const auto& client : clients_)
            watched.push_back({client.file, POLLIN, 0});
        // With all places taken others wait in the listener's queue.
        if (clients_.size() < kMostClients)
            watched.push_back({listener_, POLLIN, 0});
        // Never for ever: a plugin's code may have closed what wakes it.
        if (::poll(watched.data(), watched.size(), 500) < 0 && errno != EINTR)
            break;
        std::vector<Client> kept;
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            const bool has_news = watched[i + 1].revents != 0;
            const bool stays = has_news ? read_client(clients_[i]) : now_ms() < clients_[i].deadline_ms;
            if (stays)
                kept.push_back(std::move(clients_[i]));
            else
                ::close(clients_[i].file);
        }
        const bool knocks = watched.back().fd == listener_ && watched.back().revents != 0;
        clients_ = std::move(kept);
        if (knocks)
            take_client();
    }
    for (const auto& client : clients_)
        ::close(client.file);
    clients_.clear();
}

void ControlSocket::take_client() {
    const int file = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (file < 0) {
        // Out of descriptors, say: not again at once, and not for ever.
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            ready(wake_, POLLIN, now_ms() + 100);
        return;
    }
    if (peer_of(file))
        clients_.push_back({file, {}, now_ms() + kIdleMs});
    else
        ::close(file);
}

bool ControlSocket::read_client(Client& client) {
    char piece[4096];
    const ssize_t got = ::recv(client.file, piece, sizeof piece, 0);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    if (got == 0)
        return false;
    client.line.append(piece, static_cast<std::size_t>(got));
    const auto end = client.line.find('\n');
    if (end == std::string::npos)
        return client.line.size() <= kLargestRequest && now_ms() < client.deadline_ms;
    if (end > kLargestRequest)
        return false;
    // Whoever gave up waiting would not learn what was done: then it is not done.
    pollfd peer{client.file, 0, 0};
    if (::poll(&peer, 1, 0) == 1 && (peer.revents & POLLHUP) != 0)
        return false;
    if (!send_all(client.file, std::string_view(&kTaken, 1), now_ms() + kAnswerMs))
        return false;
    std::string answer = handler_(std::string_view(client.line).substr(0, end), stopping_);
    answer += '\n';
    send_all(client.file, answer, now_ms() + kAnswerMs);
    return false;
}

Result<std::string> ask_session(const std::string& path, std::string_view request, std::uint32_t timeout_ms) {
    const std::int64_t deadline = now_ms() + timeout_ms;
    sockaddr_un address;
    const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    std::optional<std::uint32_t> peer;
    if (file < 0 || !address_of(path, &address) ||
        ::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || !(peer = peer_of(file))) {
        const int why = errno;
        if (file >= 0)
            ::close(file);
        return error("EGPU-X071", fmt::format("the session takes no requests ({}: {})", path, std::strerror(why)),
                     "its egpu process has just ended, or could not make its socket");
    }
    std::string answer(request);
    answer += '\n';
    bool whole = send_all(file, answer, deadline);
    answer.clear();
    while (whole && !answer.ends_with('\n')) {
        char piece[4096];
        const Wait waited = answer.size() <= kLargestAnswer ? wait_for(file, *peer, deadline) : Wait::over;
        if (waited == Wait::suspended) {
            const bool taken = !answer.empty() || was_taken(file);
            ::close(file);
            return is_suspended(*peer, taken);
        }
        whole = waited == Wait::ready;
        const ssize_t got = whole ? ::recv(file, piece, sizeof piece, 0) : 0;
        if (got > 0)
            answer.append(piece, static_cast<std::size_t>(got));
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            whole = false;
    }
    ::close(file);
    if (!whole || answer.front() != kTaken)
        return error("EGPU-X072", "the session's egpu process gave no answer", "egpu probe list says what it has");
    answer.pop_back();
    return answer.substr(1);
}

void remove_stale_sockets() {
    const std::string prefix = fmt::format("egpu-{}-", ::geteuid());
    std::error_code failed;
    std::filesystem::directory_iterator entry(kFolder, failed);
    for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
        const std::string name = entry->path().filename().string();
        if (!name.starts_with(prefix) || !name.ends_with(kSuffix))
            continue;
        std::uint32_t pid = 0;
        const char* end = name.data() + name.size() - std::strlen(kSuffix);
        const auto parsed = std::from_chars(name.data() + prefix.size(), end, pid);
        if (parsed.ec == std::errc() && parsed.ptr == end && segment::process_start_time(pid) == 0)
            ::unlink(entry->path().c_str());
    }
}

}  // namespace egpu::host

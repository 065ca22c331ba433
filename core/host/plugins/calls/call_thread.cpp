// SPDX-License-Identifier: Apache-2.0
#include "host/plugins/calls/call_thread.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/signals.hpp"

namespace egpu::host {

struct CallThread::Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> call;  ///< empty: nothing to do
    bool lost = false, ending = false;

    void serve() {
        std::unique_lock lock(mutex);
        while (true) {
            changed.wait(lock, [this] { return call || ending; });
            if (!call)
                return;
            const auto current = call;
            lock.unlock();
            current();
            lock.lock();
            call = nullptr;
            changed.notify_all();
            if (lost)
                return;
        }
    }
};

CallThread::CallThread() : shared_(std::make_shared<Shared>()) {
    const AllSignalsBlocked blocked;
    std::thread([shared = shared_] { shared->serve(); }).detach();
}

CallThread::~CallThread() {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
    shared_->changed.notify_all();
}

bool CallThread::run(std::function<void()> call, std::chrono::milliseconds limit) {
    std::unique_lock lock(shared_->mutex);
    if (shared_->lost)
        return false;
    shared_->call = std::move(call);
    shared_->changed.notify_all();
    if (!shared_->changed.wait_for(lock, limit, [this] { return !shared_->call; }))
        shared_->lost = true;
    return !shared_->lost;
}

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
#include "host/pipeline/background.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

#include "base/signals.hpp"

namespace egpu::host {
namespace {

constexpr int kNice = 10;

}  // namespace

Background::~Background() {
    for (auto& thread : threads_)
        thread.request_stop();
}

void Background::add(Job job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    if (threads_.empty())
        start_thread();
    changed_.notify_all();
}

/// With the mutex held.
void Background::start_thread() {
    const AllSignalsBlocked blocked;
    threads_.emplace_back([this](const std::stop_token& stop) {
        // Of this thread and of the compilers that it starts; where it is refused, they run as the others.
        static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice));
        run(stop);
    });
}

void Background::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !jobs_.empty(); })) {
        const Job job = std::move(jobs_.front());
        jobs_.pop_front();
        ++running_;
        lock.unlock();
        std::vector<KernelInsight> found;
        try {
            found = job(stop);
        } catch (const std::exception&) {
            found.clear();  // what it would have found out stays unknown
        }
        lock.lock();
        --running_;
        std::move(found.begin(), found.end(), std::back_inserter(insights_));
        changed_.notify_all();
        if (stop.stop_requested())
            return;
    }
}

std::vector<KernelInsight> Background::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(insights_, {});
}

bool Background::busy() {
    const std::lock_guard lock(mutex_);
    return running_ != 0 || !jobs_.empty();
}

void Background::finish(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    while (threads_.size() < std::min<std::size_t>(jobs_.size() + running_, std::thread::hardware_concurrency()))
        start_thread();
    changed_.wait_for(lock, limit, [this] { return running_ == 0 && jobs_.empty(); });
}

}  // namespace egpu::host

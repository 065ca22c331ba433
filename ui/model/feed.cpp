// SPDX-License-Identifier: Apache-2.0
#include "ui/model/feed.hpp"

#include <exception>

namespace egpu::ui {
namespace {

/// An exception ends the feed, not the window.
Update next_of(Feed& feed) {
    try {
        return feed.next();
    } catch (const std::exception& failure) {
        Update update;
        update.life = Life::damaged;
        update.life_text = "reading failed";
        update.messages.emplace_back(Severity::error, std::string("reading failed: ") + failure.what());
        update.last = true;
        return update;
    }
}

}  // namespace

FeedThread::FeedThread(std::unique_ptr<Feed> feed) : feed_(std::move(feed)), name_(feed_->name()) {
    thread_ = std::thread([this] { run(); });
}

FeedThread::~FeedThread() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

void FeedThread::run() {
    for (;;) {
        Update update = next_of(*feed_);
        const bool last = update.last;
        std::unique_lock lock(mutex_);
        waiting_.push_back(std::move(update));
        if (last || wake_.wait_for(lock, feed_->pause(), [this] { return stopping_; }))
            return;
    }
}

std::vector<Update> FeedThread::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
}

}  // namespace egpu::ui

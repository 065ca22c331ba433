// SPDX-License-Identifier: Apache-2.0
// A thread for calls that may never come back.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace egpu::host {

/// Runs calls one after the other on a thread of its own. One that takes too long is left behind with its thread: what
/// it uses must be owned by the call.
class CallThread {
public:
    CallThread();
    ~CallThread();
    CallThread(const CallThread&) = delete;
    CallThread& operator=(const CallThread&) = delete;
    /// False where the call did not come back in time, or one before it did not: then nothing is called any more.
    bool run(std::function<void()> call, std::chrono::milliseconds limit);

private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

}  // namespace egpu::host

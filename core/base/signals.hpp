// SPDX-License-Identifier: Apache-2.0
// Signals are the main thread's business: a thread that is started while AllSignalsBlocked stands never gets one.
#pragma once

#include <csignal>

namespace egpu {

/// Blocks all signals of the calling thread while it stands.
class AllSignalsBlocked {
public:
    AllSignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    AllSignalsBlocked(const AllSignalsBlocked&) = delete;
    AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

private:
    sigset_t before_;
};

}  // namespace egpu

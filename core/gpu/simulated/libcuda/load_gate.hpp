// SPDX-License-Identifier: Apache-2.0
// On a GPU, putting a module into a context waits for all that runs in the context, and what comes to the context
// meanwhile waits for the load. Nothing here needs that; with EGPU_SIMULATED_STRICT_LOADS=1 it is so here too, for
// tests of what stands between an application and the driver.
#pragma once

#include <condition_variable>
#include <mutex>

namespace egpu::simulated {

class LoadGate {
public:
    /// Held by an operation of the context.
    class Work {
    public:
        explicit Work(LoadGate& gate);
        ~Work();
        Work(const Work&) = delete;
        Work& operator=(const Work&) = delete;

    private:
        LoadGate* const gate_;
    };

    /// Held by a load into the context. Never made within a Work of the same thread.
    class Load {
    public:
        explicit Load(LoadGate& gate);
        ~Load();
        Load(const Load&) = delete;
        Load& operator=(const Load&) = delete;

    private:
        LoadGate* const gate_;
    };

private:
    static bool is_strict();

    std::mutex mutex_;
    std::condition_variable changed_;
    unsigned working_ = 0;
    unsigned loads_ = 0;  ///< waiting or in progress
    bool loading_ = false;
};

}  // namespace egpu::simulated

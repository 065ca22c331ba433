// SPDX-License-Identifier: Apache-2.0
// The code of a session's plugins: called after each copy of the maps, on a thread of its own.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/plugins/calls/caller.hpp"
#include "host/programs/programs.hpp"
#include "host/session/server.hpp"
#include "segment/create/create.hpp"

namespace egpu::host {

class PluginCalls {
public:
    /// Both must outlive it. Nothing runs before the first plugin with code.
    PluginCalls(segment::OwnedSegment& segment, Server& server) : segment_(segment), server_(server) {}
    ~PluginCalls() { stop_thread(); }
    PluginCalls(const PluginCalls&) = delete;
    PluginCalls& operator=(const PluginCalls&) = delete;

    /// Loads and starts a plugin's code; nothing for a probe without. What fails is a warning of the session.
    void add(const LoadedProbe& probe);
    /// A probe was removed: its plugin's code is not called again, its findings go.
    void remove(const std::string& probe);
    /// The application's end: one more call, with the last copy of the maps; then nothing more.
    void finish();

private:
    void run();
    void stop_thread();
    void call_all();
    bool any() const;

    segment::OwnedSegment& segment_;
    Server& server_;
    mutable std::mutex mutex_;  ///< of callers_
    std::vector<std::shared_ptr<PluginCaller>> callers_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
// One plugin's code in a session: called with a time limit, switched off when a call fails.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "ebpf/object/object.hpp"
#include "host/plugins/calls/call_thread.hpp"
#include "host/plugins/plugin_code.hpp"
#include "host/view/session_view.hpp"

namespace egpu::host {

class PluginCaller {
public:
    /// `object`: the plugin's own, with the options in force. Nothing is loaded yet.
    PluginCaller(std::string id, std::string path, std::shared_ptr<const ebpf::Object> object,
                 std::chrono::milliseconds limit = std::chrono::milliseconds(2000));
    const std::string& id() const { return id_; }
    /// False once a call failed: the plugin's code is not called again.
    bool is_on() const { return on_; }

    /// Loads the code and starts it. EGPU-X082, X087; X088 where that took too long.
    Status start();
    /// The findings of one call. EGPU-X091 with what the plugin threw; X088 where it took too long.
    Result<std::vector<ReportedFinding>> on_snapshot(std::shared_ptr<const SessionView> view);
    /// X088 where that took too long.
    Status stop();

private:
    Diagnostic failed(Diagnostic problem);
    Diagnostic too_long(const char* what);

    std::string id_, path_;
    std::shared_ptr<const ebpf::Object> object_;
    std::chrono::milliseconds limit_;
    std::shared_ptr<PluginCode> code_;
    CallThread thread_;
    bool on_ = true;
};

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
// What egpu does for a plugin's code during one call: the function table of egpu/plugin.h over a session's view.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ebpf/object/object.hpp"
#include "egpu/plugin.h"
#include "host/view/session_view.hpp"

namespace egpu::host {

/// Keeps all that a plugin is shown: a call that never comes back can't be left without it.
class PluginServices {
public:
    /// `plugin`: its id, which is the name of its probe; `object`: whose options are in force.
    PluginServices(std::shared_ptr<const SessionView> view, std::shared_ptr<const ebpf::Object> object,
                   std::string plugin);
    PluginServices(const PluginServices&) = delete;
    PluginServices& operator=(const PluginServices&) = delete;

    const egpu_plugin_host& table() const { return table_; }
    std::vector<ReportedFinding> take_findings() { return std::move(findings_); }

private:
    static PluginServices& of(void* session) { return *static_cast<PluginServices*>(session); }
    std::int32_t fail(std::int32_t status, std::string message);
    std::int32_t device(egpu_plugin_device* out);
    std::int32_t kernel(std::uint32_t id, egpu_plugin_kernel* out);
    std::int32_t site(std::uint32_t id, egpu_plugin_site* out);
    std::int32_t map(const char* name, egpu_plugin_rows* out);
    std::int32_t option(const char* name, void* value, std::uint32_t bytes);
    std::int32_t report(const egpu_plugin_finding* finding);

    std::shared_ptr<const SessionView> view_;
    std::shared_ptr<const ebpf::Object> object_;
    std::string plugin_;
    egpu_plugin_host table_{};
    std::map<std::string, MergedEntries> entries_;  ///< by map: what a plugin was given stays where it is
    std::vector<ReportedFinding> findings_;
    std::string error_;
};

/// A session that has seen nothing yet, with the maps of an object: what a plugin's code is tried with.
std::shared_ptr<const SessionView> empty_view(const ebpf::Object& object, const std::string& plugin);

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
// A plugin's own code, loaded into this process. It stays loaded until the process ends.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "egpu/plugin.h"

namespace egpu::host {

class PluginCode {
public:
    /// Loads a file that read_plugin_file found to be a plugin with code: its static constructors run. EGPU-X082 with
    /// the loader's reason, EGPU-X083 where the code's table is none, EGPU-X087 where a static constructor throws.
    static Result<std::shared_ptr<PluginCode>> load(const std::string& path);

    /// EGPU-X087 with what the plugin says.
    Status start();
    /// EGPU-X091 with what the plugin says.
    Status on_snapshot(const egpu_plugin_host& host);
    void stop();

private:
    PluginCode() = default;
    egpu_plugin_ops ops_{};
    void* self_ = nullptr;
    bool started_ = false;
    std::shared_ptr<void> library_;
};

/// True once any plugin's code was loaded: the process then ends without running the static destructors of others.
bool plugin_code_loaded();

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
// egpu plugin-trial FILE: the process in which a plugin's code is tried (host/plugins/trial.hpp).
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "ebpf/object/object.hpp"
#include "host/plugins/calls/services.hpp"
#include "host/plugins/plugin_code.hpp"
#include "host/plugins/trial.hpp"

namespace egpu::cli {
namespace {

void tell_trial(const std::string& line) {
    const std::string text = line + "\n";
    // Who tries a plugin by hand, in a debugger, has no pipe there: stderr then.
    const int to = ::fcntl(host::kTrialPipe, F_GETFD) >= 0 ? host::kTrialPipe : STDERR_FILENO;
    if (::write(to, text.data(), text.size()) < 0)
        ::_exit(kEnvironment);
}

[[noreturn]] void trial_failed(const char* step, const Diagnostic& problem) {
    tell_trial(std::string("failed ") + step + ": " + problem.message);
    tell_trial("done");
    ::_exit(kNo);
}

[[noreturn]] void try_plugin(const std::string& path, bool call) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto file = host::read_plugin_file(path);
    if (!file.ok())
        trial_failed("load", host::to_diagnostic(file));
    tell_trial("step: while it was loaded");
    const auto loaded = host::PluginCode::load(file.path);
    if (!loaded)
        trial_failed(loaded.error().code == "EGPU-X087" ? "globals" : "load", loaded.error());
    const auto& code = *loaded;
    tell_trial("step: in its start");
    if (const auto started = code->start(); !started)
        trial_failed("start", started.error());
    if (call) {
        auto object = ebpf::read_object(file.about->object, file.path);
        if (!object)
            trial_failed("load", object.error());
        const auto shared = std::make_shared<const ebpf::Object>(std::move(*object));
        tell_trial("step: in on_snapshot");
        host::PluginServices services(host::empty_view(*shared, file.about->id), shared, file.about->id);
        if (const auto called = code->on_snapshot(services.table()); !called)
            trial_failed("call", called.error());
    }
    tell_trial("step: in its end");
    code->stop();
    tell_trial("done");
    ::_exit(kYes);
}

}  // namespace

void add_plugin_trial(CLI::App& app) {
    struct Options {
        std::string file;
        bool call = false;
    };
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand(host::kTrialCommand, "Load and start a plugin, and end: plugin check runs it");
    command->group("");
    command->add_option("FILE", options->file, "The plugin")->required();
    command->add_flag("--call", options->call, "Call on_snapshot as well, with empty maps");
    command->callback([options] { try_plugin(options->file, options->call); });
}

}  // namespace egpu::cli

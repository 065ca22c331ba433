// SPDX-License-Identifier: Apache-2.0
// egpu demo: egpu at work on a bundled program, with or without a GPU (TARGETS E6.1).
#include <unistd.h>

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/run.hpp"
#include "cli/terminal.hpp"

namespace egpu::cli {
namespace {

struct DemoOptions {
    std::string workload = "gather";
    bool simulated = false, loop = false;
};

std::string workload_program() {
    std::error_code ignored;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
    return (self.parent_path() / "egpu-workload").string();
}

std::vector<std::string> workload_arguments(const DemoOptions& options) {
    if (options.loop)
        return {"loop", "--seconds", "3600"};
    if (options.workload == "gather")
        return {"gather", "--elements", "1048576"};
    return {options.workload};
}

int run_demo(const DemoOptions& options) {
    const auto arguments = workload_arguments(options);
    RunOptions run;
    run.probes.what = {"bandwidth", "coalescing"};
    run.simulated = options.simulated;
    run.command = {workload_program()};
    run.command.insert(run.command.end(), arguments.begin(), arguments.end());
    run.before_start = [arguments] {
        say(fmt::format("running: egpu run -p bandwidth -p coalescing -- egpu-workload {}", fmt::join(arguments, " ")));
    };
    const auto outcome = run_program(run);
    if (outcome.exit_code == 0 && !options.loop)
        say("\nnext: egpu top                              in another terminal, while: egpu demo --loop\n"
            "      egpu map dump                         there too: what the probes have counted\n"
            "      egpu run -p hello.bpf.c -- PROGRAM    a probe of your own: egpu plugin new hello\n"
            "      egpu kernels -- PROGRAM               every kernel of your program, its state and why\n");
    return outcome.exit_code;
}

}  // namespace

void add_demo(CLI::App& app, int* exit_code) {
    auto options = std::make_shared<DemoOptions>();
    auto* command = app.add_subcommand("demo", "Try egpu now, with or without a GPU");
    command->add_option("WORKLOAD", options->workload, "One of egpu-workload's programs")->capture_default_str();
    command->add_flag("--loop", options->loop, "Launch kernels until Ctrl-C, for looking on from another terminal");
    command->add_flag("--simulated", options->simulated, "Use the simulated GPU although a driver is present");
    command->callback([options, exit_code] { *exit_code = run_demo(*options); });
}

}  // namespace egpu::cli

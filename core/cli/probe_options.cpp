// SPDX-License-Identifier: Apache-2.0
#include "cli/probe_options.hpp"

#include <fmt/format.h>

#include "base/patterns.hpp"
#include "cli/plugin.hpp"
#include "cli/terminal.hpp"

namespace egpu::cli {

void add_probe_options(CLI::App& command, ProbeOptions& options) {
    command
        .add_option(
            "-p,--probe", options.what,
            "What to run in the kernels: the name of a probe set, a plugin or an installed program, or a .yaml, "
            ".so, .bpf.c or .bpf.o file; repeatable")
        ->take_all()
        ->allow_extra_args(false);
    add_plugin_path_option(command);
    command
        .add_option("-k,--kernel", options.kernels.include,
                    "Only kernels that match this glob, or regex:PATTERN; repeatable")
        ->envname("EGPU_KERNEL")
        ->take_all()
        ->allow_extra_args(false);
    command
        .add_option("--exclude-kernel", options.kernels.exclude,
                    "No kernels that match this glob, or regex:PATTERN; repeatable")
        ->envname("EGPU_EXCLUDE_KERNEL")
        ->take_all()
        ->allow_extra_args(false);
}

bool kernel_patterns_are_fine(const ProbeOptions& options) {
    bool fine = true;
    const auto check = [&](const std::vector<std::string>& patterns, const char* option) {
        for (const auto& pattern : patterns) {
            const auto checked = check_kernel_pattern(pattern);
            if (checked)
                continue;
            say(error("EGPU-X057", fmt::format("{} '{}' {}", option, pattern, checked.error().message),
                      checked.error().hints.front()));
            fine = false;
        }
    };
    check(options.kernels.include, "-k");
    check(options.kernels.exclude, "--exclude-kernel");
    return fine;
}

std::optional<host::Asked> load_probes(const ProbeOptions& options, const host::DecidedElsewhere& decided) {
    auto asked = host::ask_for(options.what, decided);
    if (asked)
        return std::move(*asked);
    for (const auto& problem : asked.errors())
        say(problem);
    return std::nullopt;
}

}  // namespace egpu::cli

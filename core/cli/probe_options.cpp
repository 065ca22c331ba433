// SPDX-License-Identifier: Apache-2.0
#include "cli/probe_options.hpp"

#include <set>

#include <fmt/format.h>

#include "cli/terminal.hpp"

namespace egpu::cli {

void add_probe_options(CLI::App& command, ProbeOptions& options) {
    command
        .add_option(
            "-p,--probe", options.what,
            "What to run in the kernels: a plugin's or program's name, a .so, .bpf.c or .bpf.o file; repeatable")
        ->take_all()
        ->allow_extra_args(false);
    command.add_option("-k,--kernel", options.kernels.include, "Only kernels that match this glob; repeatable")
        ->take_all()
        ->allow_extra_args(false);
    command.add_option("--exclude-kernel", options.kernels.exclude, "No kernels that match this glob; repeatable")
        ->take_all()
        ->allow_extra_args(false);
}

std::optional<std::vector<host::LoadedProbe>> load_probes(const ProbeOptions& options) {
    std::vector<host::LoadedProbe> probes;
    std::set<std::string> names;
    bool failed = false;
    for (const auto& what : options.what) {
        auto probe = host::load_probe(what);
        if (!probe) {
            for (const auto& problem : probe.errors())
                say(problem);
            failed = true;
            continue;
        }
        if (!names.insert(probe->name).second) {
            say(error("EGPU-X023", fmt::format("two probes are named '{}'", probe->name), "rename one of the files"));
            failed = true;
            continue;
        }
        probes.push_back(std::move(*probe));
    }
    if (failed)
        return std::nullopt;
    return probes;
}

}  // namespace egpu::cli

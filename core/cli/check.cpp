// SPDX-License-Identifier: Apache-2.0
// egpu check: would these programs run, and what would they cost (TARGETS E6.6).
#include <memory>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/plugin.hpp"
#include "cli/terminal.hpp"
#include "ebpf/verifier/report.hpp"
#include "host/probesets/asked.hpp"
#include "host/probesets/search.hpp"
#include "host/programs/memory.hpp"
#include "host/programs/programs.hpp"

namespace egpu::cli {
namespace {

struct CheckOptions {
    std::vector<std::string> files;
    bool verbose = false, quiet = false;
};

struct Tally {
    unsigned accepted = 0, refused = 0;
};

void check_program(const host::LoadedProbe& probe, const host::CheckedProgram& checked, const CheckOptions& options,
                   Tally& tally) {
    const auto& program = probe.object->programs[checked.index];
    if (!checked.verification) {
        ++tally.refused;
        for (const auto& refusal : checked.refusal)
            fmt::print("{}", to_text(refusal));
        fmt::print("{}  {}  refused\n", program.name, program.section);
        return;
    }
    ++tally.accepted;
    if (options.quiet)
        return;
    if (options.verbose)
        fmt::print("{}", checked.verification->walk);
    for (const auto& note : checked.verification->notes)
        fmt::print("{}", to_text(note));
    fmt::print("{}", ebpf::check_report(*probe.object, program, *checked.verification));
}

void check_probe(const host::LoadedProbe& probe, const CheckOptions& options, Tally& tally,
                 std::uint64_t gpu_memory = host::kGpuMemory) {
    if (!options.quiet) {
        for (const auto& warning : probe.object->warnings)
            fmt::print("{}", to_text(warning));
        if (const auto warning = host::too_large_maps(*probe.object, gpu_memory))
            fmt::print("{}", to_text(*warning));
    }
    for (const auto& checked : probe.programs)
        check_program(probe, checked, options, tally);
    if (!options.quiet)
        for (const auto& name : probe.object->linux_programs)
            fmt::print("{}  for the Linux kernel: this version of egpu doesn't load it\n", name);
}

/// A probe set: all that it names, and the programs of all its probes.
void check_set(const std::string& file, const CheckOptions& options, const ebpf::VerifierOptions& verifier,
               Tally& tally) {
    const auto read = host::read_probe_set(file, host::system_set_files());
    const auto asked = host::ask_for(read, verifier);
    if (!asked) {
        print_errors(asked.errors());
        ++tally.refused;
        return;
    }
    const auto& memory = asked->settings.gpu_memory_bytes;
    for (const auto& probe : asked->probes)
        check_probe(probe, options, tally, memory ? memory->value : host::kGpuMemory);
    fmt::print("{}  probe set, {} probe{}, {} expectation{}\n", read.set.name, asked->probes.size(),
               asked->probes.size() == 1 ? "" : "s", asked->expectations.size(),
               asked->expectations.size() == 1 ? "" : "s");
}

int check_files(const CheckOptions& options) {
    Tally tally;
    for (const auto& file : options.files) {
        ebpf::VerifierOptions verifier;
        verifier.keep_walk = options.verbose;
        if (file.ends_with(".yaml")) {
            check_set(file, options, verifier, tally);
            continue;
        }
        // As -p takes a name: the probe set's before the plugin's.
        if (const auto set = host::find_probe_set(file)) {
            check_set(*set, options, verifier, tally);
            continue;
        }
        const auto probe = host::load_probe(file, verifier);
        if (!probe) {
            print_errors(probe.errors());
            ++tally.refused;
            continue;
        }
        check_probe(*probe, options, tally);
    }
    if (!options.quiet)
        fmt::print("{} accepted, {} refused\n", tally.accepted, tally.refused);
    return tally.refused != 0 ? kNo : kYes;
}

}  // namespace

void add_check(CLI::App& app, int* exit_code) {
    auto options = std::make_shared<CheckOptions>();
    auto* command = app.add_subcommand("check", "Would these programs and probe sets run, and what would they cost?");
    command
        ->add_option("FILE", options->files,
                     "A .bpf.c, .bpf.o, .so or .yaml file, or the name of a plugin, a program or a probe set")
        ->required();
    command->add_flag("-v,--verbose", options->verbose, "Print the verifier's whole walk");
    add_plugin_path_option(*command);
    command->add_flag("-q,--quiet", options->quiet, "Print only what is refused, and why");
    command->callback([options, exit_code] { *exit_code = check_files(*options); });
}

}  // namespace egpu::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/run_settings.hpp"

#include <fmt/format.h>

#include "cli/quantities.hpp"
#include "host/programs/memory.hpp"

namespace egpu::cli {
namespace {

constexpr std::uint64_t kWaitNs = 2'000'000'000;
constexpr std::uint64_t kReserve = std::uint64_t{5} << 20;

template <typename T>
void take(std::optional<T>& to, const Result<T>& value, std::vector<Diagnostic>& problems) {
    if (value)
        to = *value;
    else
        problems.insert(problems.end(), value.errors().begin(), value.errors().end());
}

/// Options that a later version has: named, so that nobody looks for another spelling.
void add_missing(CLI::App& command, const std::string& name, bool takes_value, const char* why) {
    const auto refuse = [text = fmt::format("{} is not in this version: {}", name, why)] {
        throw CLI::ParseError(text, CLI::ExitCodes::InvalidError);
    };
    auto* option = takes_value
                       ? command.add_option_function<std::string>(name, [refuse](const std::string&) { refuse(); })
                       : command.add_flag_callback(name, refuse);
    option->group("");
}

/// An option with one value in this version: others are refused by name.
void add_only(CLI::App& command, const std::string& name, const std::string& only, const std::string& help,
              const std::string& variable) {
    const auto check = [name, only](const std::string& value) {
        if (value != only)
            throw CLI::ParseError(fmt::format("{} {} is not in this version: it has {} {}", name, value, name, only),
                                  CLI::ExitCodes::InvalidError);
    };
    command.add_option_function<std::string>(name, check, fmt::format("{} [{}]", help, only))->envname(variable);
}

}  // namespace

void add_run_settings(CLI::App& command, RunSettingOptions& options) {
    const auto named = [](const std::string& name) { return name.empty() ? "the name of a file is empty" : ""; };
    const auto said = [](const std::string& value) { return value.empty() ? "the value is empty" : ""; };
    command
        .add_flag(
            "--strict", options.strict,
            "Exit with 125 where a program of a probe is refused (nothing is started then), and, if the application "
            "returned 0, where a probe ran nowhere or missed a launch that it was to see")
        ->envname("EGPU_STRICT");
    command
        .add_option("--summary", options.summary,
                    "Write a JSON summary; %p pid, %h host, %n probes, %q{VAR} environment")
        ->check(named)
        ->envname("EGPU_SUMMARY");
    command
        .add_option("--record", options.record,
                    "Write the session into a file that egpu ui and egpu session info open; placeholders as --summary")
        ->check(named)
        ->envname("EGPU_RECORD");
    command
        .add_option("--wait", options.wait, "The longest that a module load waits for its instrumented copies [2 s]")
        ->check(said)
        ->envname("EGPU_WAIT");
    command.add_option("--gpu-memory", options.gpu_memory, "What egpu may allocate on the device [64 MiB]")
        ->check(said)
        ->envname("EGPU_GPU_MEMORY");
    command
        .add_option("--sample", options.sample,
                    "What runs the probes: launches=1/N (of each kernel the first and every N-th after it), "
                    "blocks=1/N or warps=1/N (of each launch), or launches=1/N,warps=1/N; all instead of 1/N: "
                    "whatever a set says [all]")
        ->check(said)
        ->envname("EGPU_SAMPLE");
    command
        .add_option("--launch-skip", options.launch_skip, "So many launches of each kernel run the original first [0]")
        ->check(said)
        ->envname("EGPU_LAUNCH_SKIP");
    command
        .add_option("--launch-count", options.launch_count, "So many launches of each kernel run the probes then [all]")
        ->check(said)
        ->envname("EGPU_LAUNCH_COUNT");
    command.add_flag("--no-expect", options.no_expect, "Check nothing of what a probe set expects")
        ->envname("EGPU_NO_EXPECT");
    command
        .add_option("--reserve", options.reserve,
                    "Shared memory kept for the maps of probes that are added while the program runs [5 MiB]")
        ->check(said)
        ->envname("EGPU_RESERVE");
    add_only(command, "--processes", "first", "Which processes are observed: first, the one that uses CUDA first",
             "EGPU_PROCESSES");
    add_only(command, "--backend", "ptx", "How kernels are instrumented: ptx, from their PTX", "EGPU_BACKEND");
    add_missing(command, "--devices", true, "every device that the application uses is observed");
    add_missing(command, "--range", true, "NVTX ranges are not seen");
    add_missing(command, "--sources", true, "there are probes only");
    add_missing(command, "--allow-spills", false, "a copy never spills more than its original");
    add_missing(command, "--allow-lower-residency", false, "a copy never has fewer resident blocks than its original");
    add_missing(command, "--ptx-path", true, "PTX is taken from the application's own images");
}

host::DecidedElsewhere GivenSettings::decided(const RunSettingOptions& options) const {
    return {.launches = launch_skip.has_value() || launch_count.has_value(),
            .sample_launches = sample_launches.has_value(),
            .wait = wait_ns.has_value(),
            .gpu_memory = gpu_memory_bytes.has_value(),
            .summary = !options.summary.empty(),
            .record = !options.record.empty(),
            .sampling = sampling};
}

Result<GivenSettings> parse_settings(const RunSettingOptions& options) {
    GivenSettings given;
    std::vector<Diagnostic> problems;
    if (!options.wait.empty())
        take(given.wait_ns, parse_duration_ns(options.wait, "--wait"), problems);
    if (!options.gpu_memory.empty())
        take(given.gpu_memory_bytes, parse_memory(options.gpu_memory, "--gpu-memory"), problems);
    std::optional<std::uint64_t> reserve = kReserve;
    if (!options.reserve.empty())
        take(reserve, parse_memory(options.reserve, "--reserve"), problems);
    given.reserve_bytes = reserve.value_or(kReserve);
    if (!options.sample.empty()) {
        if (const auto sample = parse_sample(options.sample, "--sample")) {
            given.sample_launches = sample->launches;
            given.sampling = sample->part;
        } else {
            problems.insert(problems.end(), sample.errors().begin(), sample.errors().end());
        }
    }
    if (!options.launch_skip.empty())
        take(given.launch_skip, parse_launches(options.launch_skip, "--launch-skip", 0), problems);
    if (!options.launch_count.empty())
        take(given.launch_count, parse_launches(options.launch_count, "--launch-count", 1), problems);
    if (!problems.empty())
        return problems;
    return given;
}

Settled settle(const RunSettingOptions& options, const GivenSettings& given, const host::RunSettings& sets) {
    const auto of_set = [](const auto& placed) { return placed ? std::optional(placed->value) : std::nullopt; };
    Settled settled;
    settled.wait_ms =
        static_cast<std::uint32_t>(given.wait_ns.value_or(of_set(sets.wait_ns).value_or(kWaitNs)) / 1'000'000);
    settled.gpu_memory_bytes =
        given.gpu_memory_bytes.value_or(of_set(sets.gpu_memory_bytes).value_or(host::kGpuMemory));
    settled.reserve_bytes = given.reserve_bytes;
    settled.sample_launches = given.sample_launches.value_or(of_set(sets.sample_launches).value_or(1));
    settled.sampling = given.sampling.value_or(Sampling{});
    settled.launches = of_set(sets.launches).value_or(host::LaunchWindow{});
    if (given.launch_skip)
        settled.launches.skip = *given.launch_skip;
    if (given.launch_count)
        settled.launches.count = *given.launch_count;
    settled.strict = options.strict || of_set(sets.strict).value_or(false);
    settled.summary = !options.summary.empty() ? options.summary : of_set(sets.summary).value_or("");
    settled.record = !options.record.empty() ? options.record : of_set(sets.record).value_or("");
    return settled;
}

}  // namespace egpu::cli

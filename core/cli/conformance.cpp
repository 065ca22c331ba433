// SPDX-License-Identifier: Apache-2.0
// egpu conformance: the public eBPF conformance suite on one of egpu's engines, for developers of egpu (shown by
// `egpu help --all` only).
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "ebpf/conformance/file.hpp"
#include "gpu/launch/gpu.hpp"
#include "host/installation/folders.hpp"
#include "inject/standalone/opaque.hpp"
#include "inject/standalone/standalone.hpp"

namespace egpu::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTestEnding = ".data";
constexpr const char* kNegativeFolder = "negative";

/// What became of one file, and why where it did not pass.
struct Outcome {
    enum class Kind { passed, another_result, failed, skipped } kind = Kind::passed;
    std::string text;
};

Outcome failed(std::string text) {
    return {Outcome::Kind::failed, std::move(text)};
}

std::string first_line(const Diagnostic& diagnostic) {
    std::string text = fmt::format("{}: {}", diagnostic.code, diagnostic.message);
    if (!diagnostic.detail.empty())
        text += fmt::format(" ({})", diagnostic.detail);
    return text;
}

Outcome compared(std::uint64_t result, std::uint64_t expected, std::string_view form) {
    if (result == expected)
        return {};
    return {Outcome::Kind::another_result, fmt::format("r0 is {:#x}, expected is {:#x}{}", result, expected, form)};
}

std::vector<std::byte> bytes_of(std::vector<std::byte> bytes, std::uint64_t size) {
    bytes.resize(size);
    return bytes;
}

/// The program as PTX on a GPU: as it is, where most of it is computed by the specialiser, and with its constants
/// hidden, where all of it is executed.
Result<std::uint64_t> run_on(launch::Gpu& gpu, const std::vector<ebpf::Instruction>& program,
                             const std::vector<std::byte>& memory, bool any_alignment) {
    const auto kernel = inject::standalone_kernel(program, static_cast<std::uint32_t>(memory.size()),
                                                  gpu.architecture(), any_alignment);
    if (!kernel)
        return kernel.errors();
    launch::KernelRun run;
    run.ptx = kernel->ptx;
    run.entry = inject::StandaloneKernel::kEntry;
    run.table = inject::Table::kSymbol;
    run.buffers = {bytes_of(memory, kernel->maps[inject::kMemoryMap].device_bytes()),
                   bytes_of({}, kernel->maps[inject::kResultMap].device_bytes())};
    for (const auto& entry : kernel->table)
        run.words.push_back({entry.map, kernel->maps[entry.map].device_offset_of(entry.slot, 0)});
    if (auto done = gpu.run(run); !done)
        return done.errors();
    std::uint64_t result = 0;
    std::memcpy(&result, run.buffers[inject::kResultMap].data(), sizeof result);
    return result;
}

/// A file on an engine; without `gpu` on the interpreter, by which every program goes first: what doesn't end there or
/// faults never comes to a GPU.
Outcome try_program(const ebpf::ConformanceFile& file, launch::Gpu* gpu) {
    const auto reference = ebpf::interpret_conformance(file.program, file.memory);
    if (!reference)
        return failed(first_line(reference.error()));
    if (gpu == nullptr)
        return compared(reference->result, *file.result, "");
    const auto one = [&](const std::vector<ebpf::Instruction>& program, std::string_view form) {
        const auto result = run_on(*gpu, program, file.memory, reference->is_misaligned);
        return result ? compared(*result, *file.result, form) : failed(first_line(result.error()) + std::string(form));
    };
    Outcome outcome = one(file.program, "");
    if (outcome.kind == Outcome::Kind::passed)
        outcome = one(inject::with_hidden_constants(file.program), ", with its constants hidden");
    return outcome;
}

Outcome try_positive(const std::string& path, launch::Gpu* gpu) {
    const auto file = ebpf::read_conformance_file(path);
    if (!file)
        return failed(first_line(file.error()));
    if (!file->result)
        return failed("no result is given, and the file isn't below negative/");
    if (const std::string why = ebpf::outside_the_standard(file->program); !why.empty())
        return {Outcome::Kind::skipped, why};
    return try_program(*file, gpu);
}

/// Refused on the way to the engine, or giving another result than the wrong one that the file names.
Outcome try_negative(const std::string& path, launch::Gpu* gpu) {
    const auto file = ebpf::read_conformance_file(path);
    if (!file || !ebpf::check_encoding(file->program))
        return {};
    if (file->result && try_program(*file, gpu).kind == Outcome::Kind::another_result)
        return {};
    return failed("the program is taken");
}

struct ConformanceTally {
    std::uint64_t passed = 0, failed = 0, skipped = 0, refused = 0;

    void add(const Outcome& outcome, const std::string& name, bool is_negative) {
        switch (outcome.kind) {
            case Outcome::Kind::passed:
                ++passed;
                refused += is_negative ? 1 : 0;
                break;
            case Outcome::Kind::another_result:
            case Outcome::Kind::failed:
                ++failed;
                fmt::print("failed  {}: {}\n", name, printable(outcome.text));
                break;
            case Outcome::Kind::skipped:
                ++skipped;
                fmt::print("skipped {}: {}\n", name, outcome.text);
                break;
        }
    }
};

bool is_below_negative(const fs::path& relative, const fs::path& folder) {
    const auto named = [](const fs::path& part) { return part == kNegativeFolder; };
    return std::any_of(relative.begin(), relative.end(), named) ||
           fs::weakly_canonical(folder).filename() == kNegativeFolder;
}

Result<std::vector<fs::path>> files_below(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code problem;
    for (fs::recursive_directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem))
        if (at->path().extension() == kTestEnding)
            files.push_back(at->path().lexically_relative(folder));
    if (problem)
        return error("EGPU-X020", fmt::format("{}: {}", folder.string(), problem.message()));
    if (files.empty())
        return error("EGPU-X020", fmt::format("{}: no file ends in {}", folder.string(), kTestEnding),
                     "name the folder of bpf_conformance's tests");
    std::ranges::sort(files);
    return files;
}

int run_conformance(const fs::path& folder, const std::string& engine) {
    const auto files = files_below(folder);
    if (!files) {
        print_errors(files.errors());
        return kEnvironment;
    }
    std::optional<launch::Gpu> gpu;
    if (engine != "interpreter") {
        auto opened = launch::Gpu::open(engine == "cuda" ? std::string("libcuda.so.1")
                                                         : host::install_folders().library + "/simulated/libcuda.so.1");
        if (!opened) {
            print_errors(opened.errors());
            return kEnvironment;
        }
        gpu = std::move(*opened);
        fmt::print("PTX for sm_{} on {}, each program as it is and with its constants hidden\n", gpu->architecture(),
                   gpu->name());
    }
    ConformanceTally tally;
    for (const auto& file : *files) {
        const bool is_negative = is_below_negative(file.parent_path(), folder);
        const std::string path = (folder / file).string();
        launch::Gpu* const on = gpu ? &*gpu : nullptr;
        tally.add(is_negative ? try_negative(path, on) : try_positive(path, on), file.string(), is_negative);
    }
    fmt::print("{} gave their result, {} below {}/ were refused\n", tally.passed - tally.refused, tally.refused,
               kNegativeFolder);
    fmt::print("{} passed, {} failed, {} skipped\n", tally.passed, tally.failed, tally.skipped);
    return tally.failed == 0 && tally.passed != 0 ? kYes : kNo;
}

}  // namespace

void add_conformance(CLI::App& app, int* exit_code) {
    struct Options {
        std::string folder, engine = "interpreter";
    };
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("conformance", "The public eBPF conformance suite on one of egpu's engines");
    command->group("");
    command
        ->add_option("FOLDER", options->folder,
                     "Its *.data files, also in folders below; those below negative/ must be refused")
        ->required();
    command
        ->add_option("--engine", options->engine,
                     "interpreter: the reference engine; simulated, cuda: as PTX on the simulated GPU or the first GPU")
        ->check(CLI::IsMember({"interpreter", "simulated", "cuda"}))
        ->capture_default_str();
    command->callback([options, exit_code] { *exit_code = run_conformance(options->folder, options->engine); });
}

}  // namespace egpu::cli

// SPDX-License-Identifier: Apache-2.0
// egpu inject: the PTX of instrumented copies, for developers of egpu (shown by `egpu help --all` only).
#include <algorithm>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/inject/kinds.hpp"
#include "cli/inject/modules.hpp"
#include "cli/inject_diff.hpp"
#include "cli/inject_reports.hpp"
#include "cli/probe_options.hpp"
#include "cli/quantities.hpp"
#include "cli/terminal.hpp"
#include "host/pipeline/pipeline.hpp"
#include "inject/compile/compile.hpp"
#include "ptx/fatbin/image.hpp"

namespace egpu::cli {
namespace {

struct InjectOptions {
    ProbeOptions probes;
    std::vector<std::string> files;
    std::string assemble, sample;
    bool identity = false, stats = false, diff = false;
    std::string all_sites, sites;  ///< a kind; kEveryKind: the option without one; "": not given
};

constexpr const char* kEveryKind = "true";  // what CLI11 gives for a flag without a value
constexpr const char* kEveryAccess = "gpu/mem";

std::string text_of(const std::vector<std::byte>& image) {
    return {reinterpret_cast<const char*>(image.data()), image.size() - 1};
}

/// ptxas as the oracle: 0 where it takes every copy.
int assemble_copies(const host::Pipeline& pipeline, const std::vector<host::CopyImage>& copies,
                    const std::string& architecture) {
    const auto ptxas = inject::find_ptxas();
    if (!ptxas) {
        print_errors({error("EGPU-X053", "--assemble needs ptxas", "install a CUDA Toolkit, or set EGPU_PTXAS")});
        return kEnvironment;
    }
    int result = copies.empty() ? kNo : kYes;
    for (const auto& copy : copies) {
        const auto& kernel = *pipeline.catalogue().kernel(copy.kernel_id);
        for (const auto* image : {&copy.image, &copy.bank_image}) {
            if (image->empty())
                continue;
            const auto compiled =
                inject::compile_ptx(*ptxas, text_of(*image), copy.entry, {.architecture = architecture, .options = {}});
            if (!compiled) {
                print_errors(compiled.errors());
                result = kNo;
                continue;
            }
            fmt::print("{}: {} registers, {} bytes of spills, {} bytes of shared memory{}\n", kernel.name,
                       compiled->registers, compiled->spill_bytes, compiled->static_shared_bytes,
                       image == &copy.bank_image ? ", constants in its own bank" : "");
        }
    }
    return result;
}

/// A simulated GPU that runs the image's PTX. Code for an 'a' or 'f' target runs on that architecture only.
host::Device device_for(const ptx::Image& image) {
    host::Device device{.compute_capability = 999, .sm_count = host::kAssumedSmCount, .simulated = true, .name = {}};
    if (ptx::choose(image, device.compute_capability).ptx != nullptr)
        return device;
    for (const auto& member : image.ptx)
        device.compute_capability = device.compute_capability == 999
                                        ? member.architecture
                                        : std::max(device.compute_capability, member.architecture);
    return device;
}

/// The copies of all files' kernels, as the simulated GPU takes them: PTX text.
std::vector<host::CopyImage> build_copies_of_files(host::Pipeline& pipeline, const std::vector<std::string>& files,
                                                   bool* read) {
    std::vector<host::CopyImage> copies;
    for (const auto& file : files) {
        const auto images = ptx::read_images_of_file(file);
        if (!images) {
            print_errors(images.errors());
            *read = false;
            continue;
        }
        for (const auto& image : *images) {
            auto answer = pipeline.add_parsed_image(image, file.substr(file.rfind('/') + 1), device_for(image));
            std::move(answer.copies.begin(), answer.copies.end(), std::back_inserter(copies));
        }
    }
    return copies;
}

void print_states(const host::Catalogue& catalogue, bool all) {
    for (const auto& text : catalogue.diagnostics)
        fmt::print(stderr, "{}", text);
    for (const auto& kernel : catalogue.kernels)
        if (all || kernel.state != host::KernelState::instrumented)
            fmt::print(stderr, "{}: {}{}\n", kernel.name, host::to_words(kernel.state),
                       kernel.state == host::KernelState::instrumented
                           ? fmt::format(", {} sites, {} accumulators", kernel.sites, kernel.accumulators)
                           : ": " + kernel.reason);
}

int print_copies(const InjectOptions& options, const std::vector<host::CopyImage>& copies) {
    std::vector<NamedModule> originals;  // each is parsed once, whatever number of copies it has
    for (const auto& file : options.diff ? options.files : std::vector<std::string>{}) {
        auto modules = read_modules(file);
        if (!modules) {
            print_errors(modules.errors());
            return kEnvironment;
        }
        std::move(modules->begin(), modules->end(), std::back_inserter(originals));
    }
    for (const auto& copy : copies) {
        const std::string text = text_of(copy.bank_image.empty() ? copy.image : copy.bank_image);
        if (!options.diff)
            fmt::print("{}", text);
        else if (auto printed = print_difference(originals, copy.entry, text); !printed)
            print_errors(printed.errors());
    }
    return copies.empty() ? kNo : kYes;
}

int inject_files(const InjectOptions& options, const std::optional<Sampling>& sampling) {
    host::DecidedElsewhere decided;
    decided.sampling = sampling;
    auto probes = load_probes(options.probes, decided);
    if (!probes)
        return kEnvironment;
    // Shards as a session has them.
    host::Pipeline pipeline(std::move(probes->probes), options.probes.kernels, host::kAssumedSmCount);
    bool read = true;
    const auto copies = build_copies_of_files(pipeline, options.files, &read);
    print_states(pipeline.catalogue(), options.stats);
    if (!read)
        return kEnvironment;
    if (pipeline.catalogue().kernels.empty() && pipeline.catalogue().diagnostics.empty())
        print_errors({error("EGPU-X064", "no kernel in any of the files",
                            "name a PTX file, or a program, library or fatbinary, with kernels (.entry)")});
    const int result =
        options.assemble.empty() ? print_copies(options, copies) : assemble_copies(pipeline, copies, options.assemble);
    const bool refused = std::ranges::any_of(pipeline.catalogue().kernels, [](const host::Kernel& kernel) {
        return kernel.state == host::KernelState::refused;
    });
    return result == kYes && refused ? static_cast<int>(kNo) : result;
}

/// The injection points of -p, else the one that is named.
std::optional<std::vector<ebpf::InjectionPoint>> points_of(const InjectOptions& options, const std::string& named) {
    std::vector<ebpf::InjectionPoint> points;
    if (options.probes.what.empty()) {
        const auto kinds = kinds_named(named);
        if (!kinds) {
            print_errors(kinds.errors());
            return std::nullopt;
        }
        for (const auto& kind : *kinds)
            points.insert(points.end(), kind.points.begin(), kind.points.end());
        return points;
    }
    const auto probes = load_probes(options.probes);
    if (!probes)
        return std::nullopt;
    for (const auto& probe : probes->probes)
        for (const auto& program : probe.object->programs)
            points.push_back(program.point);
    return points;
}

int run_inject(const InjectOptions& options) {
    const host::KernelSelection& kernels = options.probes.kernels;
    if (!(kernels.include.empty() && kernels.exclude.empty()) && options.probes.what.empty()) {
        print_errors({error("EGPU-X050", "-k chooses among the kernels that get copies, and there is no -p",
                            "without -p egpu inject looks at every kernel")});
        return kUsage;
    }
    std::optional<Sampling> sampling;
    if (!options.sample.empty()) {
        const auto sample = parse_sample(options.sample, "--sample");
        if (!sample) {
            print_errors(sample.errors());
            return kUsage;
        }
        if (sample->launches || (options.probes.what.empty() && options.all_sites.empty())) {
            print_errors(
                {error("EGPU-X050", "--sample of egpu inject is of the blocks or warps that run -p or --all-sites",
                       "write it as warps=1/64 or blocks=1/2")});
            return kUsage;
        }
        sampling = sample->part;
    }
    if (options.identity)
        return report_identity(options.files, options.assemble);
    if (!options.all_sites.empty())
        return report_all_sites(options.files, options.all_sites == kEveryKind ? "" : options.all_sites,
                                options.assemble, sampling.value_or(Sampling{}));
    if (!options.sites.empty()) {
        const auto points = points_of(options, options.sites == kEveryKind ? kEveryAccess : options.sites);
        return points ? report_sites(options.files, *points) : static_cast<int>(kUsage);
    }
    if (options.probes.what.empty() && options.stats)
        return report_figures(options.files, *points_of(options, kEveryAccess));
    if (options.probes.what.empty() && options.diff)
        return report_differences(options.files);
    return inject_files(options, sampling);
}

}  // namespace

void add_inject(CLI::App& app, int* exit_code) {
    auto options = std::make_shared<InjectOptions>();
    auto* command = app.add_subcommand("inject", "Print the PTX of instrumented copies (for developers of egpu)");
    command->group("");
    add_probe_options(*command, options->probes);
    command->add_option("FILE", options->files, "PTX, fatbinaries, programs or libraries")->required();
    command->add_option("--assemble", options->assemble,
                        "Assemble each copy for this architecture and print ptxas's figures; with --identity and "
                        "--all-sites: for this one, not for the file's own target");
    command->add_option("--sample", options->sample,
                        "blocks=1/N or warps=1/N: copies with two bodies, for programs of -p or --all-sites that run "
                        "in one block or warp in N");
    auto* identity = command->add_flag("--identity", options->identity,
                                       "Parse each module, print it from its tree, assemble both texts: is the code "
                                       "the same? Exit code 0 only if that of all is");
    auto* all_sites = command->add_flag("--all-sites", options->all_sites,
                                        "Assemble every kernel with a program that does nothing and one that counts, "
                                        "at every site of each kind and of all; --all-sites=KIND: an injection point "
                                        "or an event. Exit code 0 only if ptxas takes all");
    auto* sites = command->add_flag("--sites", options->sites,
                                    "A table of the sites of -p, else of every memory access; --sites=KIND");
    auto* stats = command->add_flag("--stats", options->stats,
                                    "Sizes of the modules, and times of parsing, of planning and of writing a count at "
                                    "every memory access; with -p: what was done to each kernel, on stderr");
    auto* diff = command->add_flag("--diff", options->diff,
                                   "The difference of each original and its copy, with -p or with a count at every "
                                   "memory access");
    identity->excludes(all_sites, sites, stats, diff);
    all_sites->excludes(sites, stats, diff);
    sites->excludes(stats, diff);
    stats->excludes(diff);
    command->callback([options, exit_code] { *exit_code = run_inject(*options); });
}

}  // namespace egpu::cli

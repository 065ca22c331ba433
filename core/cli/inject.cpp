// SPDX-License-Identifier: Apache-2.0
// egpu inject: the PTX of instrumented copies, for developers of egpu (shown by `egpu help --all` only).
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/probe_options.hpp"
#include "cli/terminal.hpp"
#include "host/pipeline/pipeline.hpp"
#include "inject/compile/compile.hpp"
#include "ptx/fatbin/image.hpp"

namespace egpu::cli {
namespace {

struct InjectOptions {
    ProbeOptions probes;
    std::string file, assemble;
    bool stats = false;
};

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
    int result = kYes;
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

int inject_file(const InjectOptions& options) {
    auto probes = load_probes(options.probes);
    if (!probes)
        return kEnvironment;
    const auto images = ptx::read_images_of_file(options.file);
    if (!images) {
        print_errors(images.errors());
        return kEnvironment;
    }
    // Shards as a session has them.
    host::Pipeline pipeline(std::move(probes->probes), options.probes.kernels, host::kAssumedSmCount);
    // Copies as the simulated GPU takes them: PTX text.
    const host::Device device{
        .compute_capability = 999, .sm_count = host::kAssumedSmCount, .simulated = true, .name = {}};
    std::vector<host::CopyImage> copies;
    for (const auto& image : *images) {
        auto answer = pipeline.add_parsed_image(image, options.file.substr(options.file.rfind('/') + 1), device);
        std::move(answer.copies.begin(), answer.copies.end(), std::back_inserter(copies));
    }
    for (const auto& text : pipeline.catalogue().diagnostics)
        fmt::print(stderr, "{}", text);
    for (const auto& kernel : pipeline.catalogue().kernels)
        if (options.stats || kernel.state != host::KernelState::instrumented)
            fmt::print(stderr, "{}: {}{}\n", kernel.name, host::to_words(kernel.state),
                       kernel.state == host::KernelState::instrumented
                           ? fmt::format(", {} sites, {} accumulators", kernel.sites, kernel.accumulators)
                           : ": " + kernel.reason);
    if (!options.assemble.empty())
        return assemble_copies(pipeline, copies, options.assemble);
    for (const auto& copy : copies)
        fmt::print("{}", text_of(copy.bank_image.empty() ? copy.image : copy.bank_image));
    return copies.empty() ? kNo : kYes;
}

}  // namespace

void add_inject(CLI::App& app, int* exit_code) {
    auto options = std::make_shared<InjectOptions>();
    auto* command = app.add_subcommand("inject", "Print the PTX of instrumented copies (for developers of egpu)");
    command->group("");
    add_probe_options(*command, options->probes);
    command->add_option("FILE", options->file, "PTX, a fatbinary, a program or library")->required();
    command->add_option("--assemble", options->assemble,
                        "Assemble each copy for this architecture and print ptxas's figures");
    command->add_flag("--stats", options->stats, "Say what was done to each kernel, on stderr");
    command->callback([options, exit_code] { *exit_code = inject_file(*options); });
}

}  // namespace egpu::cli

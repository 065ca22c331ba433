// SPDX-License-Identifier: Apache-2.0
// egpu kernels: every kernel, its state and why (TARGETS E6.5): of files, of a program that is run, of a session.
#include <algorithm>
#include <chrono>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/file_images.hpp"
#include "cli/probe_options.hpp"
#include "cli/run.hpp"
#include "cli/sessions.hpp"
#include "cli/terminal.hpp"
#include "host/export/overhead_json.hpp"
#include "host/findings/overhead.hpp"
#include "host/pipeline/pipeline.hpp"

namespace egpu::cli {
namespace {

using host::KernelState;
using nlohmann::ordered_json;

/// The longest that a list waits for figures of kernels without programs; what is missing then is n/a.
constexpr std::chrono::milliseconds kInsights = std::chrono::minutes(2);

struct KernelsOptions {
    ProbeOptions probes;
    std::vector<std::string> words;    ///< files, or a session's number
    std::vector<std::string> command;  ///< behind --
    std::string architecture = "sm_90";
    std::string session;
    bool json = false, simulated = false;
};

std::string how_or_why(const host::Kernel& kernel) {
    if (kernel.waiting)
        return kernel.copy != 0 ? "its new copy waits for a quiet moment" : "is to run its original from now on";
    if (kernel.state != KernelState::instrumented)
        return kernel.reason;
    std::string text = fmt::format("{}, {} site{}", kernel.source, kernel.sites, kernel.sites == 1 ? "" : "s");
    if (kernel.proof == host::Proof::proved)
        text += ", proved";
    if (kernel.proof == host::Proof::differs)
        text += "; " + kernel.proof_reason;
    for (const auto& note : kernel.notes)
        text += "; " + note;
    return text;
}

/// "; 4 nodes of CUDA graphs hold what ran before", or "".
std::string graphs_text(const host::KernelCounts& counts) {
    if (counts.nodes_behind == 0)
        return {};
    return fmt::format("; {} node{} of CUDA graphs hold{} what ran before", format_count(counts.nodes_behind),
                       counts.nodes_behind == 1 ? "" : "s", counts.nodes_behind == 1 ? "s" : "");
}

/// "12 of 100" where a kernel with a copy ran it in some of its launches only.
std::string launches_text(const host::Kernel& kernel, const host::KernelCounts& counts) {
    const bool partly = counts.instrumented != counts.launches &&
                        (counts.instrumented != 0 || kernel.state == KernelState::instrumented);
    const std::string all = format_count(counts.launches);
    return partly ? fmt::format("{} of {}", format_count(counts.instrumented), all) : all;
}

std::string figures_text(const host::Figures& figures) {
    const auto one = [](const std::optional<std::uint32_t>& value) { return value ? std::to_string(*value) : "n/a"; };
    if (!figures.original && !figures.reassembled && !figures.instrumented)
        return "n/a";
    if (!figures.reassembled && !figures.instrumented)
        return one(figures.original);
    return fmt::format("{} / {} / {}", one(figures.original), one(figures.reassembled), one(figures.instrumented));
}

ordered_json figures_json(const host::Figures& figures) {
    const auto or_null = [](const std::optional<std::uint32_t>& value) {
        return value ? ordered_json(*value) : ordered_json(nullptr);
    };
    return {{"original", or_null(figures.original)},
            {"reassembled", or_null(figures.reassembled)},
            {"instrumented", or_null(figures.instrumented)}};
}

/// Which columns are worth their room.
struct Columns {
    bool three = false;   ///< some kernel was compiled again
    bool spills = false;  ///< some code spills
};

Columns columns_of(const host::Catalogue& catalogue) {
    Columns columns;
    for (const auto& kernel : catalogue.kernels) {
        columns.three = columns.three || kernel.registers.reassembled || kernel.registers.instrumented;
        columns.spills = columns.spills || kernel.spill_bytes.reassembled.value_or(0) != 0 ||
                         kernel.spill_bytes.instrumented.value_or(0) != 0;
    }
    return columns;
}

std::string overhead_text(const std::vector<host::Overhead>& overheads, std::uint32_t kernel_id) {
    for (const auto& overhead : overheads)
        if (overhead.kernel_id == kernel_id)
            return overhead.measured ? overhead.measured->text() : "n/a";
    return "n/a";
}

void print_json(const host::Catalogue& catalogue, const std::vector<host::KernelCounts>& counts,
                const std::vector<host::Overhead>& overheads, bool launches_known) {
    auto list = ordered_json::array();
    for (std::size_t i = 0; i < catalogue.kernels.size(); ++i) {
        const auto& kernel = catalogue.kernels[i];
        const auto text_or_null = [](const std::string& text) {
            return text.empty() ? ordered_json(nullptr) : ordered_json(text);
        };
        list.push_back(
            {{"name", kernel.name},
             {"mangled", kernel.mangled},
             {"module", kernel.module},
             {"state", host::to_name(kernel.state)},
             {"reason", text_or_null(kernel.reason)},
             {"fix", text_or_null(kernel.fix)},
             {"sites", kernel.sites},
             {"waiting", kernel.waiting},
             {"launches", launches_known ? ordered_json(counts[i].launches) : ordered_json(nullptr)},
             {"launches_instrumented", launches_known ? ordered_json(counts[i].instrumented) : ordered_json(nullptr)},
             {"launches_left_out", launches_known ? ordered_json(counts[i].left_out) : ordered_json(nullptr)},
             {"launches_former", launches_known ? ordered_json(counts[i].former.all()) : ordered_json(nullptr)},
             {"graph_nodes_behind", launches_known ? ordered_json(counts[i].nodes_behind) : ordered_json(nullptr)},
             {"overhead", host::overhead_json(overheads, kernel.id)},
             {"registers", figures_json(kernel.registers)},
             {"spill_bytes", figures_json(kernel.spill_bytes)},
             {"local_bytes", figures_json(kernel.local_bytes)},
             {"resident_warps", figures_json(kernel.resident_warps())},
             {"proof", host::to_name(kernel.proof)},
             {"proof_reason", text_or_null(kernel.proof_reason)},
             {"notes", kernel.notes}});
    }
    fmt::print("{}\n", list.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

/// `counts` is empty where nothing was launched: files.
void print_kernels(const host::Catalogue& catalogue, const std::vector<host::KernelCounts>& counts,
                   const std::vector<host::Overhead>& overheads, bool json) {
    const bool launches_known = !counts.empty();
    if (json)
        return print_json(catalogue, counts, overheads, launches_known);
    TextTable table;
    table.column("KERNEL", Align::left);
    if (launches_known)
        table.column("LAUNCHES");
    table.column("STATE", Align::left);
    table.column("HOW, OR WHY NOT", Align::left);
    const Columns columns = columns_of(catalogue);
    table.column("REGISTERS", Align::left);
    if (columns.spills)
        table.column("SPILLS", Align::left);
    if (columns.three)
        table.column("WARPS", Align::left);
    if (!overheads.empty())
        table.column("OVERHEAD");
    table.column("MODULE", Align::left);
    for (std::size_t i = 0; i < catalogue.kernels.size(); ++i) {
        const auto& kernel = catalogue.kernels[i];
        std::vector<std::string> cells = {kernel.name};
        if (launches_known)
            cells.push_back(launches_text(kernel, counts[i]));
        std::string how = how_or_why(kernel);
        if (launches_known)
            how += graphs_text(counts[i]);
        cells.insert(cells.end(), {host::to_words(kernel.state), std::move(how), figures_text(kernel.registers)});
        if (columns.spills)
            cells.push_back(figures_text(kernel.spill_bytes));
        if (columns.three)
            cells.push_back(figures_text(kernel.resident_warps()));
        if (!overheads.empty())
            cells.push_back(overhead_text(overheads, kernel.id));
        cells.push_back(kernel.module);
        table.row(std::move(cells));
    }
    fmt::print("{}", table.text());
    if (columns.three)
        fmt::print("registers{}, warps that fit on an SM: original / reassembled / instrumented\n",
                   columns.spills ? ", bytes of spills" : "");
}

int list_files(const KernelsOptions& options, std::vector<host::LoadedProbe> probes) {
    const auto architecture = parse_architecture(options.architecture);
    if (!architecture) {
        print_errors(architecture.errors());
        return kUsage;
    }
    host::Pipeline pipeline(std::move(probes), options.probes.kernels, 1);
    const host::Device device{.compute_capability = *architecture, .sm_count = 1, .simulated = false, .name = {}};
    const bool read = add_file_images(pipeline, options.words, device);
    pipeline.finish_insights(kInsights);
    if (options.json || !pipeline.catalogue().kernels.empty())
        print_kernels(pipeline.catalogue(), {}, {}, options.json);
    for (const auto& text : pipeline.catalogue().diagnostics)
        fmt::print(stderr, "{}", text);
    return read ? kYes : kEnvironment;
}

int list_program(const KernelsOptions& options) {
    RunOptions run;
    run.probes = options.probes;
    run.command = options.command;
    run.simulated = options.simulated;
    run.report = false;
    run.supervised = true;
    run.settings.no_expect = true;
    run.insights_wait_ms = static_cast<std::uint32_t>(kInsights.count());
    const auto outcome = run_program(run);
    if (!outcome.view)
        return outcome.exit_code == 0 ? kEnvironment : outcome.exit_code;
    print_kernels(outcome.view->catalogue, outcome.view->counts, host::overheads(*outcome.view), options.json);
    return kYes;
}

int list_session(const KernelsOptions& options) {
    const auto view = view_of_session(options.session);
    if (!view) {
        print_errors(view.errors());
        return kEnvironment;
    }
    print_kernels(view->catalogue, view->counts, host::overheads(*view), options.json);
    return kYes;
}

int list_kernels(const KernelsOptions& options) {
    if (!kernel_patterns_are_fine(options.probes))
        return kUsage;
    if (!options.command.empty())
        return list_program(options);
    if (options.words.empty())
        return list_session(options);
    auto asked = load_probes(options.probes);
    return asked ? list_files(options, std::move(asked->probes)) : static_cast<int>(kEnvironment);
}

}  // namespace

void add_kernels(CLI::App& app, const std::vector<std::string>& program, int* exit_code) {
    auto options = std::make_shared<KernelsOptions>();
    auto* command = app.add_subcommand(
        "kernels", "Every kernel, its state and why: egpu kernels [FILE... | -s SESSION | -- PROGRAM [ARGS]]");
    add_probe_options(*command, options->probes);
    command->add_option("FILE", options->words,
                        "Programs, libraries, fatbinaries, cubins, PTX; none: the running session");
    command->add_option("--arch", options->architecture, "Of the device that files are looked at for")
        ->capture_default_str();
    add_session_option(*command, options->session);
    command->add_flag("-j,--json", options->json, "Print JSON");
    command->add_flag("--simulated", options->simulated, "Use the simulated GPU although a driver is present");
    command->callback([options, &program, exit_code] {
        options->command = program;
        *exit_code = list_kernels(*options);
    });
}

}  // namespace egpu::cli

// SPDX-License-Identifier: Apache-2.0
// egpu probeset explain: what would attach to a program, from its files, without running it.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/names.hpp"
#include "cli/commands.hpp"
#include "cli/file_images.hpp"
#include "cli/plugin.hpp"
#include "cli/probeset.hpp"
#include "cli/terminal.hpp"
#include "host/pipeline/pipeline.hpp"
#include "host/session/session.hpp"

namespace egpu::cli {
namespace {

using nlohmann::ordered_json;

struct ExplainOptions {
    std::string set, architecture;
    std::vector<std::string> files;
    bool json = false, simulated = false;
};

/// The device that `egpu run` would find here, or the one asked for.
Result<host::Device> device_for(const ExplainOptions& options) {
    host::Device device{.compute_capability = 90, .sm_count = 1, .simulated = options.simulated, .name = {}};
    if (options.architecture.empty()) {
        device.simulated = options.simulated || !host::driver_present();
        return device;
    }
    const auto architecture = parse_architecture(options.architecture);
    if (!architecture)
        return architecture.errors();
    device.compute_capability = *architecture;
    return device;
}

std::vector<std::string> probes_in(const host::Catalogue& catalogue, const host::Kernel& kernel) {
    std::vector<std::string> names;
    if (kernel.copy == 0)
        return names;
    for (const std::uint32_t index : catalogue.copies[kernel.copy - 1].probes)
        names.push_back(catalogue.probes[index].probe + "/" + catalogue.probes[index].program);
    return names;
}

void print_attached(const host::Catalogue& catalogue) {
    TextTable table;
    for (const char* header : {"PROBE", "SECTION", "WOULD BE"})
        table.column(header, Align::left);
    table.column("SITES");
    table.column("KERNELS");
    for (const auto& probe : catalogue.probes)
        table.row({probe.probe + "/" + probe.program, probe.section,
                   probe.reason.empty() ? host::to_words(probe.state) : probe.reason, std::to_string(probe.sites),
                   std::to_string(probe.kernels)});
    fmt::print("{}", table.text());
}

void print_kernels_of_set(const host::Catalogue& catalogue) {
    TextTable table;
    for (const char* header : {"KERNEL", "WOULD BE"})
        table.column(header, Align::left);
    table.column("SITES");
    table.column("PROBES, OR WHY NONE", Align::left);
    for (const auto& kernel : catalogue.kernels) {
        const auto probes = probes_in(catalogue, kernel);
        table.row({kernel.name, host::to_words(kernel.state), std::to_string(kernel.sites),
                   probes.empty() ? kernel.reason : fmt::format("{}", fmt::join(probes, ", "))});
    }
    fmt::print("\n{}", table.text());
}

ordered_json explanation_json(const host::Catalogue& catalogue) {
    ordered_json whole = {{"probes", ordered_json::array()}, {"kernels", ordered_json::array()}};
    const auto text_or_null = [](const std::string& text) {
        return text.empty() ? ordered_json(nullptr) : ordered_json(text);
    };
    for (const auto& probe : catalogue.probes)
        whole["probes"].push_back({{"probe", probe.probe},
                                   {"program", probe.program},
                                   {"section", probe.section},
                                   {"state", host::to_name(probe.state)},
                                   {"sites", probe.sites},
                                   {"kernels", probe.kernels},
                                   {"reason", text_or_null(probe.reason)}});
    for (const auto& kernel : catalogue.kernels)
        whole["kernels"].push_back({{"name", kernel.name},
                                    {"mangled", kernel.mangled},
                                    {"module", kernel.module},
                                    {"state", host::to_name(kernel.state)},
                                    {"sites", kernel.sites},
                                    {"probes", probes_in(catalogue, kernel)},
                                    {"reason", text_or_null(kernel.reason)}});
    return whole;
}

void print_set_settings(const LoadedSet& loaded) {
    const auto& settings = loaded.asked.settings;
    if (settings.launches)
        fmt::print("launches: {}\n", launches_text(settings.launches->value));
    if (settings.sample_launches && settings.sample_launches->value > 1)
        fmt::print("sample: 1 launch in {} of each kernel\n", settings.sample_launches->value);
    for (const auto& probe : loaded.asked.probes)
        if (!probe.sampling.is_all())
            fmt::print("sample: {} of probe {}\n", to_words(probe.sampling), probe.name);
    if (!loaded.asked.expectations.empty())
        fmt::print("{} expectation{}, checked at the end of a run\n", loaded.asked.expectations.size(),
                   loaded.asked.expectations.size() == 1 ? "" : "s");
}

int explain(const ExplainOptions& options) {
    const auto device = device_for(options);
    if (!device) {
        print_errors(device.errors());
        return kUsage;
    }
    auto loaded = load_set(options.set);
    if (!loaded) {
        print_errors(loaded.errors());
        return kNo;
    }
    host::Pipeline pipeline(loaded->asked.probes, {}, 1);
    const bool read = add_file_images(pipeline, options.files, *device);
    const auto& catalogue = pipeline.catalogue();
    if (options.json) {
        fmt::print("{}\n", explanation_json(catalogue).dump(2, ' ', false, ordered_json::error_handler_t::replace));
    } else if (!catalogue.kernels.empty()) {
        print_attached(catalogue);
        print_kernels_of_set(catalogue);
        print_set_settings(*loaded);
    }
    for (const auto& text : catalogue.diagnostics)
        fmt::print(stderr, "{}", text);
    return read ? kYes : kEnvironment;
}

}  // namespace

Diagnostic unknown_set(const std::string& name, const std::vector<std::string>& known) {
    auto unknown = error("EGPU-S019", fmt::format("no probe set is named '{}'", name));
    if (const auto near = nearest(name, known); !near.empty())
        unknown.hints.push_back(fmt::format("did you mean '{}'?", near));
    unknown.hints.push_back(known.empty()
                                ? "a file is named with its .yaml"
                                : fmt::format("there are: {}; a file is named with its .yaml", fmt::join(known, ", ")));
    return unknown;
}

void add_probeset_explain(CLI::App& command, int* exit_code) {
    auto options = std::make_shared<ExplainOptions>();
    auto* explained = command.add_subcommand(
        "explain",
        "What would attach to a program, from its files, without running it: egpu probeset explain SET FILE...");
    explained->add_option("SET", options->set, "A probe set's name, or a .yaml file")->required();
    explained->add_option("FILE", options->files, "The program, and libraries with kernels")->required();
    explained->add_option("--arch", options->architecture,
                          "Of the device that files are looked at for, such as sm_90; left out: the one that egpu run "
                          "would use here");
    explained->add_flag("--simulated", options->simulated, "For the simulated GPU although a driver is present");
    explained->add_flag("-j,--json", options->json, "Print JSON");
    add_plugin_path_option(*explained);
    explained->callback([options, exit_code] { *exit_code = explain(*options); });
}

}  // namespace egpu::cli

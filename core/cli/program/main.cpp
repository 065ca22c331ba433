// SPDX-License-Identifier: Apache-2.0
// egpu: the command line (TARGETS E6.0).
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/supervisor.hpp"
#include "cli/terminal.hpp"
#include "host/plugins/plugin_code.hpp"

namespace egpu::cli {
namespace {

std::string version_text() {
    return fmt::format("egpu {}\nplugin ABI {}.{}, probe-set format {}, summary schema {}", version(), kPluginAbiMajor,
                       kPluginAbiMinor, kProbeSetFormat, kSummarySchema);
}

int print_help(CLI::App& app, const std::string& topic, bool all) {
    if (all)
        for (auto* command : app.get_subcommands([](CLI::App* each) { return each->get_group().empty(); }))
            command->group("Tools for developers of egpu");
    const auto named = app.get_subcommands([&](CLI::App* each) { return each->get_name() == topic; });
    CLI::App* command = topic.empty() ? &app : named.empty() ? nullptr : named.front();
    if (command == nullptr) {
        fmt::print(stderr, "egpu: no command is named '{}'\nSee: egpu help\n", topic);
        return kUsage;
    }
    // Not App::help(): that of the whole program would hand over to the command that was chosen, which is `help`.
    const std::string name = command == &app ? "egpu" : "egpu " + topic;
    fmt::print("{}", app.get_formatter()->make_help(command, name, CLI::AppFormatMode::Normal));
    return kYes;
}

/// Says which word is no command; false where each is one. CLI11 says of such a word only that one is required.
bool says_misspelt_command(const CLI::App& app, const std::vector<std::string_view>& words) {
    const CLI::App* command = &app;
    std::string path = "egpu";
    for (const auto word : words) {
        const auto below = command->get_subcommands([](const CLI::App*) { return true; });
        if (below.empty() || word.starts_with('-'))
            return false;
        std::vector<std::string> names;
        for (const auto* each : below)
            names.push_back(each->get_name());
        const auto found = std::find(names.begin(), names.end(), word);
        if (found == names.end()) {
            const std::string near = nearest(std::string(word), names);
            fmt::print(stderr, "egpu: no command is named '{}'\n{}See: {} --help\n",
                       path.substr(path.find(' ') + 1) == path ? std::string(word)
                                                               : fmt::format("{} {}", path.substr(5), word),
                       near.empty() ? "" : fmt::format("hint: did you mean '{}'?\n", near), path);
            return true;
        }
        command = below[static_cast<std::size_t>(found - names.begin())];
        path += fmt::format(" {}", word);
    }
    return false;
}

int run_command_line(int argc, char** argv) {
    CLI::App app("eBPF programs inside GPU kernels: see what a CUDA program does, without rebuilding it.", "egpu");
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    app.set_help_flag("-h,--help", "Print this help");
    app.failure_message([](const CLI::App* root, const CLI::Error& error) {
        const auto chosen = root->get_subcommands();
        const std::string command = chosen.empty() ? "egpu" : "egpu " + chosen.front()->get_name();
        const bool extra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) &&
                           (command == "egpu run" || command == "egpu kernels");
        return fmt::format(
            "egpu: {}\n{}See: {} --help\n", error.what(),
            extra ? "hint: the program stands behind --, as in: " + command + " -p bandwidth -- ./program\n" : "",
            command);
    });
    int exit_code = kYes;
    // What stands behind the first "--" is a program with its own options: not ours to read.
    char** const dashes =
        std::find_if(argv + 1, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
    const std::vector<std::string> program(dashes == argv + argc ? dashes : dashes + 1, argv + argc);
    add_run(app, program, &exit_code);
    add_demo(app, &exit_code);
    add_kernels(app, program, &exit_code);
    add_top(app, &exit_code);
    add_session(app, &exit_code);
    add_probe(app, &exit_code);
    add_map(app, &exit_code);
    add_probeset(app, &exit_code);
    add_check(app, &exit_code);
    add_plugin(app, &exit_code);
    add_doctor(app, &exit_code);
    add_inject(app, &exit_code);
    add_conformance(app, &exit_code);
    add_ui(app, &exit_code);
    add_plugin_trial(app);
    std::string topic;
    bool all = false;
    auto* help = app.add_subcommand("help", "Print the help of egpu or of one command");
    help->add_option("COMMAND", topic, "The command");
    help->add_flag("--all", all, "List the tools for developers of egpu too");
    help->callback([&] { exit_code = print_help(app, topic, all); });
    if (says_misspelt_command(app, {argv + 1, dashes}))
        return kUsage;
    try {
        app.parse(static_cast<int>(dashes - argv), argv);
    } catch (const CLI::ParseError& parse_error) {
        return app.exit(parse_error) == 0 ? kYes : kUsage;
    }
    return exit_code;
}

/// Of what nobody caught: a stream that can't be written, which is not egpu's fault, or a bug.
int code_of(const std::exception& failure) {
    if (std::ferror(stdout) != 0)
        return after_output(kYes);
    if (std::ferror(stderr) != 0)
        return kEnvironment;  // nobody can be told
    std::fputs(
        fmt::format("egpu: internal error: {}\nPlease report it, with what you ran: see SECURITY and issue forms "
                    "in .github/\n",
                    failure.what())
            .c_str(),
        stderr);
    return kBug;
}

}  // namespace
}  // namespace egpu::cli

int main(int argc, char** argv) {
    try {
        const int code = egpu::cli::after_output(egpu::cli::run_command_line(argc, argv));
        if (egpu::cli::is_supervised())
            egpu::cli::end_supervised(code);
        // A plugin's code may still run in a call that never came back, and its destructors may not either.
        if (egpu::host::plugin_code_loaded()) {
            std::fflush(nullptr);
            ::_exit(code);
        }
        return code;
    } catch (const std::exception& failure) {
        const int code = egpu::cli::code_of(failure);
        if (egpu::cli::is_supervised())
            egpu::cli::end_supervised(code);
        return code;
    }
}

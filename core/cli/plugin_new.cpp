// SPDX-License-Identifier: Apache-2.0
// egpu plugin new NAME: a plugin to start from, a copy of the template under another name.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <regex>

#include <fmt/format.h>

#include "base/files.hpp"
#include "cli/plugin.hpp"
#include "cli/terminal.hpp"
#include "host/installation/folders.hpp"
#include "host/programs/lookup.hpp"

namespace egpu::cli {
namespace {

namespace fs = std::filesystem;

struct Names {
    std::string id;          ///< "warp-count"
    std::string identifier;  ///< "warp_count": in C
    std::string type;        ///< "WarpCount"
};

Result<Names> names_of(const std::string& id) {
    if (!std::regex_match(id, std::regex("[a-z][a-z0-9]*(-[a-z0-9]+)*")))
        return error("EGPU-X093", fmt::format("'{}' can't be a plugin's name", id),
                     "lower-case letters and digits, with - between words: warp-count");
    Names names{id, id, ""};
    bool upper = true;
    for (auto& c : names.identifier) {
        if (c == '-')
            c = '_';
        else
            names.type += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        upper = c == '_';
    }
    return names;
}

std::string renamed(std::string text, const Names& names) {
    // Where C wants an identifier; the rest are names of files, of the plugin and of words in prose.
    text = std::regex_replace(text, std::regex("\\bhello(_bpf|_bpf_end)\\b"), names.identifier + "$1");
    text = std::regex_replace(text, std::regex("\\bint hello\\("), "int " + names.identifier + "(");
    text = std::regex_replace(text, std::regex("\\bprogram: hello\\b"), "program: " + names.identifier);
    text = std::regex_replace(text, std::regex("\\bHello\\b"), names.type);
    return std::regex_replace(text, std::regex("\\bhello\\b"), names.id);
}

Status copy_template(const fs::path& from, const fs::path& to, const Names& names) {
    std::error_code failed;
    if (fs::exists(to, failed))
        return error("EGPU-X094", fmt::format("{} is there already: nothing was changed", to.string()),
                     "choose another name, or remove it");
    if (!fs::is_directory(from, failed))
        return error("EGPU-X095", fmt::format("{} is missing: this installation of egpu is incomplete", from.string()));
    if (!fs::create_directory(to, failed))
        return error("EGPU-X094", fmt::format("{} can't be made: {}", to.string(), failed.message()));
    for (const auto& entry : fs::directory_iterator(from, failed)) {
        if (!entry.is_regular_file())
            continue;
        const auto text = read_text(entry.path().string());
        if (!text)
            return text.errors();
        const std::string name =
            std::regex_replace(entry.path().filename().string(), std::regex("^hello\\."), names.id + ".");
        if (const auto written = write_file((to / name).string(), renamed(*text, names)); !written)
            return written;
    }
    return ok();
}

int make_plugin(const std::string& id) {
    const auto names = names_of(id);
    if (!names) {
        print_errors(names.errors());
        return kUsage;
    }
    const auto taken = host::probe_names();
    if (std::find(taken.begin(), taken.end(), id) != taken.end()) {
        Diagnostic note = error("EGPU-X097", fmt::format("a plugin or program that egpu finds is named '{}' too", id),
                                fmt::format("-p {} will not mean yours: choose another name, or name its file", id));
        note.severity = Severity::warning;
        print_errors({note});
    }
    const fs::path from = fs::path(host::install_folders().data) / "template";
    if (const auto made = copy_template(from, fs::path(id), *names); !made) {
        print_errors(made.errors());
        return kNo;
    }
    fmt::print(
        "made {0}/: {0}.bpf.c runs in kernels, {0}.cpp draws a finding from its map, {0}.test.yaml tests both\n"
        "next: egpu run -p {0}/{0}.bpf.c -- egpu-workload vecadd      # the program alone, no build\n"
        "      cmake -S {0} -B {0}/build && cmake --build {0}/build\n"
        "      ctest --test-dir {0}/build --output-on-failure\n"
        "      egpu run -p {0}/build/{0}.so -- egpu-workload vecadd\n",
        id);
    return kYes;
}

}  // namespace

void add_plugin_new(CLI::App& plugin, int* exit_code) {
    auto name = std::make_shared<std::string>();
    auto* command = plugin.add_subcommand("new", "A plugin to start from, in a new folder of its name");
    command->add_option("NAME", *name, "The plugin's name: lower-case letters, digits and -")->required();
    command->callback([name, exit_code] { *exit_code = make_plugin(*name); });
}

}  // namespace egpu::cli

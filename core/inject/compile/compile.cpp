// SPDX-License-Identifier: Apache-2.0
// ptxas is run as it is installed: text in, cubin out, figures from what -v prints.
#include "inject/compile/compile.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/files.hpp"
#include "inject/compile/messages.hpp"
#include "inject/compile/options.hpp"
#include "inject/compile/process.hpp"

namespace egpu::inject {
namespace {

constexpr const char* kName = "ptxas";
constexpr std::size_t kCubinLimit = std::size_t{1} << 30;

bool is_executable(const std::string& path) {
    return !path.empty() && access(path.c_str(), X_OK) == 0;
}

bool is_architecture(const std::string& text) {
    return text.size() >= 5 && text.size() <= 8 && text.starts_with("sm_") &&
           std::all_of(text.begin() + 3, text.end(),
                       [](char c) { return (c >= '0' && c <= '9') || c == 'a' || c == 'f'; });
}

Diagnostic failed(std::string message, const std::string& output, std::string fix) {
    Diagnostic diagnostic = error("EGPU-P303", std::move(message));
    diagnostic.detail = first_errors(output);
    diagnostic.fix = std::move(fix);
    return diagnostic;
}

}  // namespace

std::optional<std::string> find_ptxas() {
    if (const char* named = std::getenv("EGPU_PTXAS"); named != nullptr && named[0] != '\0')
        return is_executable(named) ? std::optional<std::string>(named) : std::nullopt;
    const char* path = std::getenv("PATH");
    const std::string folders = path != nullptr ? path : "";
    for (std::size_t at = 0; at <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', at), folders.size());
        const std::string file = fmt::format("{}/{}", folders.substr(at, end - at), kName);
        // An empty or relative entry means the current folder, which is the application's and no place for tools.
        if (file.starts_with('/') && end > at && is_executable(file))
            return file;
        at = end + 1;
    }
    const std::string toolkit = fmt::format("/usr/local/cuda/bin/{}", kName);
    return is_executable(toolkit) ? std::optional(toolkit) : std::nullopt;
}

std::string ptxas_version(const std::string& ptxas) {
    const auto finished = run_process({ptxas, "--version"}, 10);
    if (!finished || finished->timed_out || finished->exit_status != 0)
        return {};
    return release_in(finished->output);
}

Result<Compiled> compile_ptx(const std::string& ptxas, const std::string& ptx, const std::string& entry,
                             const CompileOptions& options) {
    if (!is_architecture(options.architecture))
        return error("EGPU-P302", fmt::format("'{}' is no architecture such as sm_90", options.architecture));
    auto folder = PrivateFolder::make();
    if (!folder)
        return folder.errors();
    const std::string source = folder->file("copy.ptx"), target = folder->file("copy.cubin");
    if (auto written = write_file(source, ptx); !written)
        return written.errors();
    std::vector<std::string> arguments{ptxas, "-v", "-arch=" + options.architecture};
    for (auto& option : code_options(options.options))
        arguments.push_back(std::move(option));
    arguments.insert(arguments.end(), {source, "-o", target});

    const auto finished = run_process(arguments, options.timeout_seconds);
    if (!finished)
        return finished.errors();
    if (finished->timed_out)
        return failed(fmt::format("ptxas did not end within {} s for '{}'", options.timeout_seconds, entry),
                      finished->output, "leave this kernel out with --exclude-kernel, or attach fewer programs");
    if (finished->exit_status != 0 && finished->output.find("for option 'gpu-name'") != std::string::npos) {
        Diagnostic unknown = error("EGPU-P304", fmt::format("{} does not know {}", ptxas, options.architecture));
        unknown.detail = first_errors(finished->output);
        unknown.fix =
            "name a ptxas that does in EGPU_PTXAS: toolkits before 13 have sm_60 and sm_70, newer GPUs need newer ones";
        return unknown;
    }
    if (finished->exit_status != 0)
        return failed(fmt::format("ptxas refuses the copy of '{}' (exit code {})", entry, finished->exit_status),
                      finished->output,
                      "report it with the kernel's PTX; until then leave the kernel out with "
                      "--exclude-kernel");
    auto cubin = read_file(target, kCubinLimit);
    if (!cubin)
        return cubin.errors();
    Compiled compiled;
    compiled.cubin = std::move(*cubin);
    read_figures(finished->output, entry, compiled);
    compiled.messages = finished->output;
    return compiled;
}

}  // namespace egpu::inject

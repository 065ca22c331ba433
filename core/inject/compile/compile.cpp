// SPDX-License-Identifier: Apache-2.0
// The compiler is run as it is installed: text in, cubin out, figures from the cubin and from what -v prints.
#include "inject/compile/compile.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/files.hpp"
#include "inject/compile/messages.hpp"
#include "inject/compile/options.hpp"
#include "inject/compile/process.hpp"
#include "ptx/fatbin/image.hpp"

namespace egpu::inject {
namespace {

constexpr std::size_t kCubinLimit = std::size_t{1} << 30;

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

/// The cubin itself knows better than the messages, which the driver's JIT shortens.
void read_cubin_figures(Compiled& compiled, const std::string& entry) {
    const auto image = ptx::read_image(compiled.cubin);
    if (!image || image->cubins.size() != 1)
        return;
    for (const auto& kernel : image->cubins.front().kernels) {
        if (kernel.name != entry)
            continue;
        if (kernel.registers != 0)
            compiled.registers = kernel.registers;
        compiled.stack_bytes = std::max(compiled.stack_bytes, kernel.stack_bytes);
        compiled.static_shared_bytes = kernel.static_shared_bytes;
    }
}

/// How a run ended badly; nullopt where it didn't.
std::optional<Diagnostic> problem_of(const Compiler& compiler, const Finished& finished, const std::string& entry,
                                     const CompileOptions& options) {
    const bool driver = compiler.kind == Compiler::Kind::driver;
    const char* name = driver ? "the driver's compiler" : "ptxas";
    if (finished.stopped)
        return error("EGPU-P306", fmt::format("{} was stopped: the session ended", name));
    if (finished.timed_out)
        return failed(fmt::format("{} did not end within {} s for '{}'", name, options.timeout_seconds, entry),
                      finished.output, "leave this kernel out with --exclude-kernel, or attach fewer programs");
    if (finished.signal != 0)
        return failed(fmt::format("{} crashed (signal {}) on the copy of '{}'", name, finished.signal, entry),
                      finished.output, "leave this kernel out with --exclude-kernel");
    if (finished.exit_status == 0)
        return std::nullopt;
    if (finished.output.find("for option 'gpu-name'") != std::string::npos) {
        Diagnostic unknown =
            error("EGPU-P304", fmt::format("{} does not know {}", compiler.program, options.architecture));
        unknown.detail = first_errors(finished.output);
        unknown.fix =
            "name a ptxas that does in EGPU_PTXAS: toolkits before 13 have sm_60 and sm_70, newer GPUs need newer ones";
        return unknown;
    }
    return failed(fmt::format("{} refuses the copy of '{}' (exit code {})", name, entry, finished.exit_status),
                  finished.output,
                  "report it with the kernel's PTX; until then leave the kernel out with --exclude-kernel");
}

}  // namespace

Result<Compiled> compile_ptx(const Compiler& compiler, const std::string& ptx, const std::string& entry,
                             const CompileOptions& options, const std::stop_token& stop) {
    if (!is_architecture(options.architecture))
        return error("EGPU-P302", fmt::format("'{}' is no architecture such as sm_90", options.architecture));
    auto folder = PrivateFolder::make();
    if (!folder)
        return folder.errors();
    const std::string source = folder->file("copy.ptx"), target = folder->file("copy.cubin");
    if (auto written = write_file(source, ptx); !written)
        return written.errors();
    const auto untold = untold_options(compiler, options.options);
    std::vector<std::string> arguments{compiler.program, "-v", "-arch=" + options.architecture};
    for (auto& option : code_options(options.options))
        if (std::find(untold.begin(), untold.end(), option) == untold.end())
            arguments.push_back(std::move(option));
    arguments.insert(arguments.end(), {source, "-o", target});

    const auto finished = run_process(arguments, options.timeout_seconds, stop);
    if (!finished)
        return finished.errors();
    if (auto problem = problem_of(compiler, *finished, entry, options))
        return std::move(*problem);
    auto cubin = read_file(target, kCubinLimit);
    if (!cubin)
        return cubin.errors();
    Compiled compiled;
    compiled.cubin = std::move(*cubin);
    read_figures(finished->output, entry, compiled);
    read_cubin_figures(compiled, entry);
    compiled.messages = finished->output;
    return compiled;
}

Result<Compiled> compile_ptx(const std::string& ptxas, const std::string& ptx, const std::string& entry,
                             const CompileOptions& options) {
    Compiler compiler;
    compiler.program = ptxas;
    return compile_ptx(compiler, ptx, entry, options);
}

}  // namespace egpu::inject

// SPDX-License-Identifier: Apache-2.0
// Which compiler this machine has.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "inject/compile/compile.hpp"
#include "inject/compile/messages.hpp"
#include "inject/compile/options.hpp"
#include "inject/compile/process.hpp"

namespace egpu::inject {
namespace {

constexpr const char* kName = "ptxas";
constexpr const char* kVariable = "EGPU_PTXAS";
constexpr std::uint32_t kVersionSeconds = 10;
/// The driver is started for its version, which may take as long as it takes to wake a GPU.
constexpr std::uint32_t kDriverSeconds = 60;

bool is_executable(const std::string& path) {
    return path.find('/') != std::string::npos && access(path.c_str(), X_OK) == 0;
}

std::string named_ptxas() {
    const char* named = std::getenv(kVariable);
    return named != nullptr ? named : "";
}

/// What --version prints; "" where it can't be run.
std::string version_text(const std::string& program, std::uint32_t seconds) {
    const auto finished = run_process({program, "--version"}, seconds);
    return finished && !finished->timed_out && finished->exit_status == 0 ? finished->output : std::string();
}

/// Another file under the same name and version (a rebuilt wrapper) is another compiler.
std::string identity_of(const std::string& program, const std::string& version) {
    struct stat info {};
    if (::stat(program.c_str(), &info) != 0)
        return version;
    return fmt::format("{}\n{} {} {}.{}", version, program, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

std::uint32_t major_of(const std::string& version) {
    std::uint32_t major = 0;
    std::from_chars(version.data(), version.data() + version.size(), major);
    return major;
}

}  // namespace

std::optional<std::string> find_ptxas() {
    if (const std::string named = named_ptxas(); !named.empty())
        return is_executable(named) ? std::optional(named) : std::nullopt;
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
    return release_in(version_text(ptxas, kVersionSeconds));
}

Result<Compiler> driver_compiler(const std::string& tool, std::string why) {
    const std::string version = is_executable(tool) ? version_text(tool, kDriverSeconds) : std::string();
    if (version.empty()) {
        auto none = error("EGPU-P305", why + ", and no NVIDIA driver that could compile in its place");
        none.fix = "install a CUDA Toolkit, or set EGPU_PTXAS";
        return none;
    }
    Compiler compiler;
    compiler.kind = Compiler::Kind::driver;
    compiler.program = tool;
    compiler.version = release_in(version);
    compiler.identity = identity_of(tool, version);
    compiler.why = std::move(why);
    return compiler;
}

Result<Compiler> choose_compiler(const std::string& driver_tool, std::uint32_t driver_version) {
    const auto ptxas = find_ptxas();
    const std::string named = named_ptxas();
    if (!ptxas && !named.empty() && named != "none") {
        auto wrong = error("EGPU-P305", fmt::format("{} names {}, which can't be run", kVariable, named));
        wrong.fix = "name a ptxas, or unset it; \"none\" asks for the driver's own compiler";
        return wrong;
    }
    if (!ptxas)
        return driver_compiler(driver_tool, named == "none" ? "EGPU_PTXAS=none" : "no ptxas on this machine");
    const std::string version = version_text(*ptxas, kVersionSeconds);
    Compiler compiler;
    compiler.program = *ptxas;
    compiler.version = release_in(version);
    compiler.identity = identity_of(*ptxas, version);
    // Within one major version a driver takes cubins of later toolkits; across, it doesn't.
    if (driver_version != 0 && major_of(compiler.version) > driver_version / 1000)
        return driver_compiler(driver_tool,
                               fmt::format("ptxas {} is newer than the driver (CUDA {}.{})", compiler.version,
                                           driver_version / 1000, driver_version % 1000 / 10));
    return compiler;
}

std::vector<std::string> untold_options(const Compiler& compiler, const std::vector<std::string>& options) {
    constexpr std::array<std::string_view, 5> kTold = {"--maxrregcount=", "--opt-level=", "--generate-line-info",
                                                       "--def-load-cache=ca", "--def-load-cache=cg"};
    std::vector<std::string> untold;
    if (compiler.kind == Compiler::Kind::ptxas)
        return untold;
    for (auto& option : code_options(options))
        if (std::none_of(kTold.begin(), kTold.end(), [&](std::string_view told) { return option.starts_with(told); }))
            untold.push_back(std::move(option));
    return untold;
}

bool fusing_matters(std::string_view ptx) {
    constexpr std::string_view kMultiply = "mul.";
    for (std::size_t at = ptx.find(kMultiply); at != std::string_view::npos; at = ptx.find(kMultiply, at + 1)) {
        const std::string_view opcode = ptx.substr(at, ptx.find_first_of(" \t\n", at) - at);
        const bool floating =
            opcode.find(".f") != std::string_view::npos || opcode.find(".bf") != std::string_view::npos;
        const bool rounds =
            opcode.find(".rn") != std::string_view::npos || opcode.find(".rz") != std::string_view::npos ||
            opcode.find(".rm") != std::string_view::npos || opcode.find(".rp") != std::string_view::npos;
        if (floating && opcode.size() < 64 && !rounds)
            return true;
    }
    return false;
}

}  // namespace egpu::inject

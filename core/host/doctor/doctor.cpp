// SPDX-License-Identifier: Apache-2.0
#include "host/doctor/doctor.hpp"

#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/units.hpp"
#include "ebpf/object/object.hpp"
#include "host/programs/lookup.hpp"
#include "host/programs/programs.hpp"
#include "host/session/session.hpp"
#include "inject/cache/cache.hpp"
#include "inject/compile/compile.hpp"

namespace egpu::host {
namespace {

using State = CheckResult::State;
/// A session of the bundled programs (DESIGN 7).
constexpr std::uint64_t kSegmentBytes = std::uint64_t{32} << 20;

CheckResult check_driver() {
    if (!driver_present())
        return {State::warn,
                "no NVIDIA driver: programs run on the simulated GPU, whose counts are exact and which knows no time",
                "install the NVIDIA driver to observe programs on a GPU"};
    std::ifstream file("/proc/driver/nvidia/version");
    std::string line;
    std::getline(file, line);
    std::istringstream words(line);
    for (std::string word; words >> word;)
        if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos)
            return {State::ok, "NVIDIA driver " + word, {}};
    return {State::ok, "an NVIDIA driver", {}};
}

CheckResult check_installation() {
    namespace fs = std::filesystem;
    const fs::path library = install_folders().library;
    std::error_code failed;
    for (const char* file :
         {"libegpu-agent.so", "egpu-driver-compile", "simulated/libcuda.so.1", "simulated/libcudart.so.13"})
        if (!fs::exists(library / file, failed))
            return {State::fail, fmt::format("{} is missing", (library / file).string()), "install egpu again"};
    return {State::ok, fmt::format("agent and simulated GPU; {} plugins and programs found", probe_names().size()), {}};
}

CheckResult check_compiler() {
    if (const auto ptxas = inject::find_ptxas())
        return {State::ok, "PTX compiler: ptxas " + inject::ptxas_version(*ptxas), {}};
    const auto compiler = inject::choose_compiler(install_folders().library + "/egpu-driver-compile", 0);
    if (compiler)
        return {State::ok,
                fmt::format("PTX compiler: the driver's own (CUDA {}); {}", compiler->version, compiler->why),
                {}};
    return {driver_present() ? State::fail : State::warn,
            fmt::format("no PTX compiler: {}; needed to observe kernels on a GPU", compiler.error().message),
            compiler.error().fix};
}

CheckResult check_cache() {
    const inject::CompileCache cache(inject::cache_settings());
    if (const auto problem = cache.problem(); !problem.empty()) {
        const bool asked = cache.settings().asked_off;
        return {asked ? State::ok : State::warn, fmt::format("compiled copies are not kept: {}", problem),
                asked ? "" : "every session compiles anew; name another folder in EGPU_CACHE_DIR"};
    }
    const auto use = cache.use();
    const auto asked = use.hits + use.misses;
    std::string text =
        fmt::format("compiled copies are kept in {}: {} in {}, at most {}", cache.settings().folder,
                    format_count(use.entries), format_memory(use.bytes), format_memory(cache.settings().limit));
    if (asked != 0)
        text += fmt::format("; {} of {} were found there", format_count(use.hits), format_count(asked));
    return {State::ok, text, {}};
}

CheckResult check_clang() {
    const auto clang = ebpf::find_clang();
    if (!clang)
        return {State::warn, "no clang: .bpf.c files can't be compiled; installed programs and .bpf.o files run",
                "install clang, or set EGPU_CLANG"};
    return {State::ok, fmt::format("clang for .bpf.c files: {}", *clang), {}};
}

CheckResult check_injectors() {
    for (const char* variable : {"LD_PRELOAD", "CUDA_INJECTION64_PATH"})
        if (const char* value = std::getenv(variable); value != nullptr && *value != 0)
            return {State::warn, fmt::format("{} is set: {}", variable, value),
                    "another tool injects into CUDA programs; unset it if numbers look odd"};
    return {State::ok, "no other tool injects (LD_PRELOAD, CUDA_INJECTION64_PATH)", {}};
}

CheckResult check_shared_memory() {
    struct statvfs info {};
    if (::statvfs("/dev/shm", &info) != 0)
        return {State::fail, "/dev/shm is missing: sessions need shared memory", "mount a tmpfs there"};
    const std::uint64_t free = std::uint64_t{info.f_bavail} * info.f_frsize;
    if (free < kSegmentBytes)
        return {
            State::fail,
            fmt::format("/dev/shm has {} free, a session needs {}", format_memory(free), format_memory(kSegmentBytes)),
            "docker run --shm-size=1g ..., or remove files from it"};
    if (::access("/dev/shm", W_OK) != 0)
        return {State::fail, "/dev/shm is not writable for this user", "chmod 1777 /dev/shm"};
    return {State::ok, fmt::format("/dev/shm has {} free", format_memory(free)), {}};
}

}  // namespace

std::vector<CheckResult> examine_machine() {
    return {check_driver(), check_installation(), check_compiler(),     check_cache(),
            check_clang(),  check_injectors(),    check_shared_memory()};
}

}  // namespace egpu::host

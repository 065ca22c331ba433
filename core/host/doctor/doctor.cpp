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
#include "host/programs/programs.hpp"
#include "host/session/session.hpp"
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
    for (const char* file : {"libegpu-agent.so", "simulated/libcuda.so.1", "simulated/libcudart.so.13"})
        if (!fs::exists(library / file, failed))
            return {State::fail, fmt::format("{} is missing", (library / file).string()), "install egpu again"};
    return {State::ok, fmt::format("agent and simulated GPU; {} programs installed", installed_programs().size()), {}};
}

CheckResult check_ptxas() {
    const auto ptxas = inject::find_ptxas();
    if (!ptxas)
        return {driver_present() ? State::fail : State::warn,
                "no PTX compiler (ptxas): needed to observe kernels on a GPU",
                "install a CUDA Toolkit, or set EGPU_PTXAS"};
    return {State::ok, "PTX compiler: ptxas " + inject::ptxas_version(*ptxas), {}};
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
    return {check_driver(), check_installation(), check_ptxas(),
            check_clang(),  check_injectors(),    check_shared_memory()};
}

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
// egpu-launches TABLE FOLDER FILE: loads FOLDER/FILE.ptx through the CUDA driver, launches its kernels as the lines of
// TABLE say, and prints a digest of what each launch leaves: one line a launch, the same in every run, so that the
// output of a run under egpu can be compared with one without. Exit code 0, or 1 where a launch fails.
//
//     matmul_tiled matmul<float, 16> 3x3x1 16x16x1: buffers 8c51f3..., variables 0
//
// "variables" is what the launch changed in the module's variables: their values may be addresses, which no two
// runs share.
#include <cstdio>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/names.hpp"
#include "device.hpp"
#include "ptx/syntax/parser.hpp"
#include "workloads/workload.hpp"

namespace {

using namespace egpu;
using namespace egpu::launches;
using Contents = std::vector<std::vector<std::byte>>;

/// FNV-1a, 64 bits (RFC 9923).
class Digest {
public:
    void add(std::byte byte) { value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3; }
    std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 0xcbf29ce484222325;
};

std::uint64_t digest_of(const Contents& all) {
    Digest digest;
    for (const auto& one : all)
        for (const std::byte byte : one)
            digest.add(byte);
    return digest.value();
}

/// 0: nothing changed.
std::uint64_t digest_of_change(const Contents& before, const Contents& after) {
    Digest digest;
    for (std::size_t at = 0; at < before.size(); ++at)
        for (std::size_t byte = 0; byte < before[at].size(); ++byte)
            digest.add(before[at][byte] ^ after[at][byte]);
    return before == after ? 0 : digest.value();
}

class File {
public:
    /// Loads the module.
    Status open(const std::string& folder, const std::string& name);
    /// Launches a line once and prints what it leaves.
    Status run(const LaunchLine& line);

private:
    Result<Contents> variables();
    const ptx::Function* kernel_of(const LaunchLine& line) const;

    std::string name_, text_;
    ptx::Module tree_;
    CUmodule module_ = nullptr;
    DriverMemory memory_;
    std::vector<std::pair<CUdeviceptr, std::size_t>> places_;  // of variables
};

Diagnostic failed(CUresult result, const std::string& what) {
    const char* name = nullptr;
    workload::Api::get().cuGetErrorName(result, &name);
    return error("", fmt::format("{}: {}", what, name == nullptr ? "an unknown error" : name));
}

Status File::open(const std::string& folder, const std::string& name) {
    name_ = name;
    auto text = read_text(fmt::format("{}/{}.ptx", folder, name));
    if (!text)
        return text.error();
    text_ = std::move(*text);
    auto tree = ptx::parse(text_, name);
    if (!tree)
        return tree.error();
    tree_ = std::move(*tree);
    const auto& api = workload::Api::get();
    if (const auto result = api.cuModuleLoadData(&module_, text_.c_str()); result != CUDA_SUCCESS)
        return failed(result, fmt::format("cuModuleLoadData of {}.ptx", name));
    for (const auto& variable : tree_.variables) {
        CUdeviceptr address = 0;
        std::size_t bytes = 0;
        if (api.cuModuleGetGlobal_v2(&address, &bytes, module_, std::string(variable.name).c_str()) == CUDA_SUCCESS)
            places_.emplace_back(address, bytes);
    }
    return ok();
}

Result<Contents> File::variables() {
    Contents all;
    for (const auto& [address, bytes] : places_) {
        all.emplace_back(bytes);
        if (auto copied = memory_.copy_out(all.back().data(), address, bytes); !copied)
            return copied.error();
    }
    return all;
}

const ptx::Function* File::kernel_of(const LaunchLine& line) const {
    for (const auto& function : tree_.functions)
        if (function.is_entry && function.body != nullptr && glob_matches(line.kernel, function.name))
            return &function;
    return nullptr;
}

Status File::run(const LaunchLine& line) {
    const auto* const kernel = kernel_of(line);
    if (kernel == nullptr)
        return error("", fmt::format("{} has no kernel {}", name_, line.kernel));
    CUfunction function = nullptr;
    if (const auto result =
            workload::Api::get().cuModuleGetFunction(&function, module_, std::string(kernel->name).c_str());
        result != CUDA_SUCCESS)
        return failed(result, "cuModuleGetFunction");
    const auto places = parameters_of(function);
    if (!places)
        return places.error();
    Buffers buffers(memory_);
    auto parameters = buffers.place(line.arguments, *places);
    if (!parameters)
        return parameters.error();
    const auto before = variables();
    if (!before)
        return before.error();
    if (auto launched = launch_and_wait(function, line, *parameters, *places); !launched)
        return launched;
    auto left = buffers.contents();
    const auto after = variables();
    const auto objects = memory_.take_objects();
    if (!left || !after || !objects)
        return !left ? left.error() : !after ? after.error() : objects.error();
    left->insert(left->end(), objects->begin(), objects->end());
    const auto& [grid, block] = std::pair(line.grid, line.block);
    fmt::print("{} {} {}x{}x{} {}x{}x{}: ", name_, short_name(demangle(kernel->name)), grid.x, grid.y, grid.z, block.x,
               block.y, block.z);
    if (line.results.empty())
        fmt::print("buffers {:016x}, variables {:x}\n", digest_of(*left), digest_of_change(*before, *after));
    else
        fmt::print("not compared: {}\n", line.results);
    std::fflush(stdout);
    return ok();
}

int run_table(const std::string& table, const std::string& folder, const std::string& name) {
    const auto lines = read_launches(table);
    if (!lines) {
        fmt::print(stderr, "egpu-launches: {}\n", lines.error().message);
        return 1;
    }
    const workload::Session session;
    const bool simulated = device_name() == "egpu simulated GPU";
    File file;
    bool opened = false;
    int failures = 0;
    std::size_t launched = 0;
    for (const auto& line : *lines) {
        const auto& cannot = !line.skip.empty() ? line.skip : simulated ? line.simulated : line.gpu;
        if (line.file != name)
            continue;
        if (!cannot.empty() || !line.has_launch) {
            fmt::print("{} {} is not launched: {}\n", name, line.kernel, cannot.empty() ? "no arguments" : cannot);
            continue;
        }
        auto result = opened ? ok() : file.open(folder, name);
        if (result) {
            opened = true;
            result = file.run(line);
        }
        ++launched;
        if (!result) {
            fmt::print(stderr, "egpu-launches: {} {}: {}\n", name, line.kernel, result.error().message);
            ++failures;
            if (!opened)
                break;
        }
    }
    if (launched == 0 && failures == 0)
        fmt::print("nothing of {} is launched here\n", name);
    return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    if (count != 4) {
        fmt::print(stderr, "usage: egpu-launches TABLE FOLDER FILE\n");
        return 2;
    }
    try {
        return run_table(words[1], words[2], words[3]);
    } catch (const workload::NoDriver& none) {
        fmt::print(stderr, "egpu-launches: {}\n", none.what());
        return 77;
    } catch (const std::exception& failure) {
        fmt::print(stderr, "egpu-launches: {}\n", failure.what());
        return 1;
    }
}

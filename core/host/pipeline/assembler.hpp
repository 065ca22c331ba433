// SPDX-License-Identifier: Apache-2.0
// Compiles texts: with the compiler that this machine has, from the cache where they were compiled before, several at
// the same time.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "inject/cache/cache.hpp"
#include "inject/compile/compile.hpp"

namespace egpu::host {

struct CompileJob {
    std::string ptx;
    std::string entry;  ///< mangled name: whose figures are wanted
    inject::CompileOptions options;
};

struct CompileCounts {
    std::uint64_t compiled = 0;  ///< by the compiler, successes only
    std::uint64_t from_cache = 0;
};

/// Safe to use from several threads.
class Assembler {
public:
    Assembler();

    /// The compiler, chosen at the first call (the driver doesn't change in a session).
    const Result<inject::Compiler>& compiler(std::uint32_t driver_version);

    /// Where this ptxas is too old for the text or the device, the driver's compiler is asked.
    Result<inject::Compiled> compile(const inject::Compiler& compiler, const CompileJob& job,
                                     const std::stop_token& stop = {});
    /// The results in the order of the jobs; as many at a time as this machine has processors.
    std::vector<Result<inject::Compiled>> compile_all(const inject::Compiler& compiler,
                                                      const std::vector<CompileJob>& jobs);

    CompileCounts counts() const { return {compiled_.load(), from_cache_.load()}; }
    inject::CompileCache& cache() { return cache_; }

private:
    Result<inject::Compiled> compile_by(const inject::Compiler& compiler, const CompileJob& job,
                                        const std::stop_token& stop);
    /// The driver's compiler beside a ptxas; nullptr where there is none.
    const inject::Compiler* second_compiler();

    inject::CompileCache cache_;
    std::mutex mutex_;
    std::optional<Result<inject::Compiler>> compiler_, second_;
    std::atomic<std::uint64_t> compiled_{0}, from_cache_{0};
};

}  // namespace egpu::host

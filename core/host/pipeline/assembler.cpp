// SPDX-License-Identifier: Apache-2.0
#include "host/pipeline/assembler.hpp"

#include <algorithm>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include "host/programs/programs.hpp"

namespace egpu::host {
namespace {

std::string driver_tool() {
    return install_folders().library + "/egpu-driver-compile";
}

/// True where a newer compiler may take what this one refuses.
bool is_too_old(const Diagnostic& refusal) {
    return refusal.code == "EGPU-P304" || refusal.detail.find("Unsupported .version") != std::string::npos;
}

/// True where the driver's compiler would make other code than the options ask for.
bool may_round_differently(const inject::Compiler& compiler, const CompileJob& job) {
    const auto untold = inject::untold_options(compiler, job.options.options);
    return std::find(untold.begin(), untold.end(), "--fmad=false") != untold.end() && inject::fusing_matters(job.ptx);
}

}  // namespace

Assembler::Assembler() : cache_(inject::cache_settings()) {}

const Result<inject::Compiler>& Assembler::compiler(std::uint32_t driver_version) {
    const std::lock_guard lock(mutex_);
    if (!compiler_)
        compiler_ = inject::choose_compiler(driver_tool(), driver_version);
    return *compiler_;
}

const inject::Compiler* Assembler::second_compiler() {
    const std::lock_guard lock(mutex_);
    if (!second_)
        second_ = inject::driver_compiler(driver_tool(), "this ptxas is too old");
    return *second_ ? &**second_ : nullptr;
}

Result<inject::Compiled> Assembler::compile(const inject::Compiler& compiler, const CompileJob& job,
                                            const std::stop_token& stop) {
    auto compiled = compile_by(compiler, job, stop);
    if (compiled || compiler.kind != inject::Compiler::Kind::ptxas || !is_too_old(compiled.error()))
        return compiled;
    const auto* second = second_compiler();
    if (second == nullptr || may_round_differently(*second, job))
        return compiled;
    auto other = compile_by(*second, job, stop);
    return other ? std::move(other) : std::move(compiled);
}

Result<inject::Compiled> Assembler::compile_by(const inject::Compiler& compiler, const CompileJob& job,
                                               const std::stop_token& stop) {
    const auto key = inject::CompileCache::key_of(compiler, job.ptx, job.entry, job.options);
    if (auto kept = cache_.find(key)) {
        ++from_cache_;
        return std::move(*kept);
    }
    auto compiled = inject::compile_ptx(compiler, job.ptx, job.entry, job.options, stop);
    if (compiled) {
        ++compiled_;
        cache_.store(key, *compiled);
    }
    return compiled;
}

std::vector<Result<inject::Compiled>> Assembler::compile_all(const inject::Compiler& compiler,
                                                             const std::vector<CompileJob>& jobs) {
    std::vector<std::optional<Result<inject::Compiled>>> slots(jobs.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t at = next++; at < jobs.size(); at = next++) {
            try {
                slots[at] = compile(compiler, jobs[at]);
            } catch (const std::exception& failure) {
                slots[at] = error("EGPU-P308", fmt::format("internal error while compiling ({})", failure.what()));
            }
        }
    };
    const std::size_t threads = std::min<std::size_t>(jobs.size(), std::max(1U, std::thread::hardware_concurrency()));
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i)
        others.emplace_back(work);
    work();
    others.clear();
    std::vector<Result<inject::Compiled>> results;
    for (auto& slot : slots)
        results.push_back(std::move(*slot));
    return results;
}

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
#include "cli/inject/all_sites.hpp"

#include <unordered_map>

#include <fmt/format.h>

#include "cli/inject/trial.hpp"
#include "inject/compile/compile.hpp"

namespace egpu::cli {

/// The trials of one module: those of a kernel are collected and then assembled together.
class KernelTrials {
public:
    KernelTrials(const AllSitesCheck& check, const NamedModule& module, const std::string& architecture)
        : check_(check), module_(module.module) {
        options_.architecture = architecture.empty() ? std::string(module_.target) : architecture;
        options_.timeout_seconds = 600;
    }

    AllSites run(host::Assembler& assembler, const inject::Compiler& compiler) {
        for (const auto* kernel : kernels_of(module_)) {
            ++result_.kernels;
            jobs_.clear();
            job_of_text_.clear();
            tried_.clear();
            collect(std::string(kernel->name));
            assemble(assembler, compiler);
        }
        return std::move(result_);
    }

private:
    struct Tried {
        std::string kernel, kind, program;
        Trial trial;
        std::size_t job = 0;
        std::size_t bodies = 1;

        std::string name() const { return fmt::format("{}, {}, {}", kernel, kind, program); }
    };

    void collect(const std::string& kernel) {
        const auto plain = inject::reassembled_copy(module_, kernel);
        if (!plain) {
            result_.refused.emplace_back(kernel, plain.error());
            return;
        }
        tried_.push_back({kernel, "reassembled", "no program", {}, job_for(*plain, kernel), 1});
        for (std::size_t kind = 0; kind < check_.kinds_.size(); ++kind)
            for (const auto* programs : {&check_.nothing_, &check_.count_}) {
                Tried tried{kernel, check_.kinds_[kind].name, word_of(*programs), {}, 0, 1};
                for (const std::size_t program : programs->programs[kind])
                    tried.trial.add(programs->object, program);
                attempt(std::move(tried));
            }
        Tried all{kernel, "all kinds", "all programs", {}, 0, 1};
        for (const auto* programs : {&check_.nothing_, &check_.count_})
            for (std::size_t program = 0; program < programs->object.programs.size(); ++program)
                all.trial.add(programs->object, program);
        attempt(std::move(all));
    }

    /// The first of those tried is the copy without programs.
    void assemble(host::Assembler& assembler, const inject::Compiler& compiler) {
        result_.texts += jobs_.size();
        const auto compiled = assembler.compile_all(compiler, jobs_);
        for (const Tried& tried : tried_) {
            const auto& answer = compiled[tried.job];
            const auto& plain = compiled.front();
            if (!answer)
                result_.failed.emplace_back(tried.name(), answer.error());
            else if (is_advised_against(*answer, plain, tried.bodies))
                spare(tried, plain, assembler, compiler);
        }
    }

    const char* word_of(const KindPrograms& programs) const {
        return &programs == &check_.nothing_ ? "do nothing" : "count";
    }

    void attempt(Tried tried) {
        tried.trial.sample(check_.sampling_);
        const auto copy = tried.trial.copy_of(module_, tried.kernel);
        if (!copy) {
            // A kernel that can't have two bodies is no failure: it runs as it is, and says why.
            const bool has_one_body_only = copy.error().code == "EGPU-P260";
            if (!has_one_body_only)
                result_.failed.emplace_back(tried.name(), copy.error());
            else if (result_.refused.empty() || result_.refused.back().first != tried.kernel)
                result_.refused.emplace_back(tried.kernel, copy.error());
            return;
        }
        tried.bodies = copy->bodies;
        ++result_.copies;
        const bool alone = tried.program == "count";
        for (const auto& outcome : copy->outcomes) {
            if (!alone)
                continue;
            result_.sites[tried.kind] += outcome.sites;
            add_notes(tried.kind, outcome);
        }
        tried.job = job_for(copy->ptx, tried.kernel);
        tried_.push_back(std::move(tried));
    }

    void add_notes(const std::string& kind, const inject::ProbeOutcome& outcome) {
        for (const auto& note : outcome.notes) {
            const std::string reason = fmt::format("{}  [{}]", note.message, note.code);
            if (note.code == "EGPU-P255" || note.code == "EGPU-P256")
                ++result_.skipped[{kind, reason}];
            else
                result_.not_counted[reason].insert(kind);
        }
    }

    /// A program at no site, or one that leaves no text, is the same copy as another.
    std::size_t job_for(const std::string& text, const std::string& kernel) {
        const auto [place, added] = job_of_text_.emplace(text, jobs_.size());
        if (added)
            jobs_.push_back({text, kernel, options_});
        return place->second;
    }

    static bool is_advised_against(const inject::Compiled& copy, const Result<inject::Compiled>& plain,
                                   std::size_t bodies) {
        const std::size_t advice = inject::advice_count(copy.messages);
        return advice > 0 && plain && advice > inject::advice_count(plain->messages) * bodies;
    }

    /// ptxas serialises wgmma instructions in the copy and not in the original: it is built without the sites between
    /// them, which are listed.
    void spare(const Tried& tried, const Result<inject::Compiled>& plain, host::Assembler& assembler,
               const inject::Compiler& compiler) {
        const auto copy = tried.trial.copy_of(module_, tried.kernel, true);
        if (!copy) {
            result_.failed.emplace_back(tried.name(), copy.error());
            return;
        }
        const auto compiled = assembler.compile(compiler, {copy->ptx, tried.kernel, options_});
        if (!compiled)
            result_.failed.emplace_back(tried.name(), compiled.error());
        else if (is_advised_against(*compiled, plain, copy->bodies))
            result_.failed.emplace_back(
                tried.name(),
                error("EGPU-X063", "ptxas serialises wgmma in the copy, also without sites between them"));
        for (const auto& outcome : copy->outcomes)
            add_notes(tried.kind, outcome);
    }

    const AllSitesCheck& check_;
    const ptx::Module& module_;
    inject::CompileOptions options_;
    AllSites result_;
    std::vector<host::CompileJob> jobs_;
    std::unordered_map<std::string, std::size_t> job_of_text_;
    std::vector<Tried> tried_;
};

Result<AllSitesCheck> AllSitesCheck::make(std::vector<Kind> kinds, const Sampling& sampling) {
    AllSitesCheck check;
    check.sampling_ = sampling;
    check.kinds_ = std::move(kinds);
    auto nothing = programs_that_do_nothing(check.kinds_);
    if (!nothing)
        return nothing.errors();
    auto count = programs_that_count(check.kinds_);
    if (!count)
        return count.errors();
    check.nothing_ = std::move(*nothing);
    check.count_ = std::move(*count);
    return check;
}

AllSites AllSitesCheck::run(const NamedModule& module, host::Assembler& assembler, const inject::Compiler& compiler,
                            const std::string& architecture) const {
    return KernelTrials(*this, module, architecture).run(assembler, compiler);
}

}  // namespace egpu::cli

// SPDX-License-Identifier: Apache-2.0
// The part of the pipeline that makes copies.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/names.hpp"
#include "host/pipeline/eligibility.hpp"
#include "host/pipeline/pipeline.hpp"
#include "host/pipeline/proof.hpp"
#include "inject/compile/options.hpp"

namespace egpu::host {
namespace {

std::string first_line(const Diagnostic& diagnostic) {
    return diagnostic.message.substr(0, diagnostic.message.find('\n'));
}

/// Sites of one kernel and their numbers: a copy that is built again has the same.
class SiteNumbers {
public:
    void start_again() { next_ = 0; }
    std::optional<std::uint32_t> known(const inject::SiteRecord& site) {
        for (std::size_t i = next_; i < sites_.size(); ++i)
            if (sites_[i].line == site.line && sites_[i].opcode == site.opcode && sites_[i].file == site.file &&
                sites_[i].function == site.function) {
                next_ = i + 1;
                return sites_[i].site_id;
            }
        return std::nullopt;
    }
    void add(inject::SiteRecord site, std::uint32_t id) {
        site.site_id = id;
        sites_.push_back(std::move(site));
        next_ = sites_.size();
    }

private:
    std::vector<inject::SiteRecord> sites_;
    std::size_t next_ = 0;
};

/// What the copy without programs needs.
std::vector<KernelInsight> reassemble(Assembler& assembler, const inject::Compiler& compiler, const ImageBuild& image,
                                      std::uint32_t kernel_id, const std::string& entry, const std::stop_token& stop) {
    KernelInsight insight(kernel_id);
    const auto text = inject::reassembled_copy(*image.module, entry);
    if (!text)
        return {};
    const auto compiled = assembler.compile(compiler, {*text, entry, image.options}, stop);
    if (!compiled)
        return {};
    insight.registers = compiled->registers;
    insight.spill_bytes = compiled->spill_bytes;
    insight.local_bytes = known_bytes(compiled->stack_bytes);
    return {std::move(insight)};
}

/// What proof needs of an image: nothing of the pipeline's, which may have gone on by then.
struct ProofRequest {
    std::shared_ptr<const ptx::Module> module;
    inject::CompileOptions options;
    std::string tool_version;                                    ///< of the running code
    std::map<std::string, ContentHash> code;                     ///< of the running code
    std::vector<std::pair<std::uint32_t, std::string>> kernels;  ///< id, mangled name
};

std::vector<KernelInsight> prove(Assembler& assembler, const inject::Compiler& compiler, const ProofRequest& request,
                                 const std::stop_token& stop) {
    const auto all = [&](const std::string& reason) {
        std::vector<KernelInsight> insights;
        for (const auto& [id, name] : request.kernels)
            insights.emplace_back(id).proof_reason = reason;
        return insights;
    };
    if (compiler.kind != inject::Compiler::Kind::ptxas)
        return all("not proved: that takes ptxas");
    if (request.tool_version != compiler.version)
        return all(fmt::format("not proved: it was compiled by ptxas {}, this machine has {}",
                               request.tool_version.empty() ? "of an unknown version" : request.tool_version,
                               compiler.version));
    const auto whole =
        assembler.compile(compiler, {*request.module->text, request.kernels.front().second, request.options}, stop);
    if (!whole)
        return stop.stop_requested() ? std::vector<KernelInsight>() : all("not proved: " + first_line(whole.error()));
    const auto code = code_of_kernels(whole->cubin);
    std::vector<KernelInsight> insights;
    for (const auto& [id, name] : request.kernels) {
        KernelInsight insight(id);
        const auto ours = code.find(name), theirs = request.code.find(name);
        const bool same = ours != code.end() && theirs != request.code.end() && ours->second == theirs->second;
        insight.proof = same ? Proof::proved : Proof::differs;
        if (!same)
            insight.proof_reason = "its PTX, compiled as recorded, gives other code than runs";
        insights.push_back(std::move(insight));
    }
    return insights;
}

}  // namespace

std::uint32_t Pipeline::site_id(const inject::SiteRecord& site) {
    const auto id = static_cast<std::uint32_t>(catalogue_.sites.size()) + 1;
    const std::string file = std::filesystem::path(site.file).lexically_normal().string();
    catalogue_.sites.push_back({id, site.kernel_id, file, site.line, site.opcode, site.function});
    return id;
}

inject::CopyRequest Pipeline::copy_request(const Kernel& kernel, const ptx::Module& module) {
    inject::CopyRequest request;
    request.module = &module;
    request.entry = kernel.mangled;
    request.kernel_id = kernel.id;
    request.layouts = &layouts_;
    request.slot_of_key = [this](std::uint32_t map, std::span<const std::byte> key) {
        return keys_.at(map).slot_of(key);
    };
    for (const auto& running : programs_) {
        const auto& object = *probes_[running.loaded].object;
        const auto& program = object.programs[running.program];
        if (!program.point.kernel_pattern.empty() && !kernel_name_matches(program.point.kernel_pattern, kernel.mangled))
            continue;
        request.programs.push_back({&object, &program, running.map_base, running.probe});
    }
    return request;
}

std::optional<CopyBuild> Pipeline::begin_copy(Kernel& kernel, const ptx::Function& function, const ImageWork& work) {
    auto request = copy_request(kernel, *work.build.module);
    if (request.programs.empty())
        return std::nullopt;
    CopyBuild build;
    build.kernel_id = kernel.id;
    build.entry = kernel.mangled;
    build.bounds = bounds_of(function);
    if (const auto* code = kernel_of(work.choice.cubin, kernel.mangled))
        build.original = CodeFigures{code->registers, code->stack_bytes, code->static_shared_bytes};
    const auto numbers = std::make_shared<SiteNumbers>();
    request.new_site_id = [this, numbers](const inject::SiteRecord& site) {
        if (const auto known = numbers->known(site))
            return *known;
        const auto id = site_id(site);
        numbers->add(site, id);
        return id;
    };
    build.rebuild = [request, numbers](const Knobs& knobs) {
        numbers->start_again();
        auto changed = request;
        changed.spare_wgmma = knobs.spare_wgmma;
        if (!knobs.accumulators)
            changed.accumulator_budget = 0;
        return inject::build_copy(changed);
    };
    auto copy = build.rebuild({});
    if (!copy) {
        kernel.state = KernelState::refused;
        kernel.reason = first_line(copy.error());
        kernel.fix = copy.error().fix;
        return std::nullopt;
    }
    if (copy->sites == 0) {
        kernel.reason = "has no place that a probe asks for";
        return std::nullopt;
    }
    build.chosen.copy = std::move(*copy);
    return build;
}

void Pipeline::assemble(const ImageWork& work, std::vector<CopyBuild>& builds) {
    if (work.device.simulated || builds.empty())
        return;
    const auto& compiler = assembler_->compiler(work.device.driver_version);
    std::vector<std::string> notes;
    for (const auto& option : work.dropped_options)
        notes.push_back(fmt::format("recorded option {} was not passed on: egpu does not know it", option));
    const auto untold =
        compiler ? inject::untold_options(*compiler, work.build.options.options) : std::vector<std::string>();
    const bool fuses = std::find(untold.begin(), untold.end(), "--fmad=false") != untold.end();
    for (const auto& option : untold)
        notes.push_back(fmt::format("recorded option {} was not passed on: the driver's compiler has no such", option));
    for (auto& build : builds) {
        build.notes = notes;
        if (!compiler) {
            build.refusal = compiler.error();
            build.failed = true;
        } else if (fuses && inject::fusing_matters(build.chosen.copy.ptx)) {
            build.refusal = error(
                "EGPU-A017",
                "compiled with -fmad=false, which the driver's compiler can't be told: it would round differently");
            build.refusal->fix = "install the CUDA Toolkit's ptxas, or set EGPU_PTXAS";
        }
    }
    if (compiler)
        build_copies(*assembler_, *compiler, work.build, builds);
}

void Pipeline::finish_copy(CopyBuild& build, const ImageWork& work, ImageAnswer& answer) {
    Kernel& kernel = catalogue_.kernels.at(build.kernel_id - 1);
    if (!work.device.simulated)
        kernel.architecture = work.build.architecture;
    kernel.notes = build.notes;
    if (build.reassembled) {
        kernel.registers.reassembled = build.reassembled->registers;
        kernel.spill_bytes.reassembled = build.reassembled->spill_bytes;
        kernel.local_bytes.reassembled = known_bytes(build.reassembled->stack_bytes);
    }
    if (build.refusal) {
        kernel.state = build.failed ? KernelState::failed : KernelState::refused;
        kernel.reason = first_line(*build.refusal);
        kernel.fix = build.refusal->fix;
        return;
    }
    const auto& copy = build.chosen.copy;
    CopyImage ready{kernel.id, kernel.mangled, copy.table, {}};
    if (build.chosen.compiled) {
        auto& compiled = *build.chosen.compiled;
        kernel.registers.instrumented = compiled.registers;
        kernel.spill_bytes.instrumented = compiled.spill_bytes;
        kernel.local_bytes.instrumented = known_bytes(compiled.stack_bytes);
        ready.image = std::move(compiled.cubin);
    } else {
        const auto* begin = reinterpret_cast<const std::byte*>(copy.ptx.c_str());
        ready.image.assign(begin, begin + copy.ptx.size() + 1);
    }
    kernel.state = KernelState::instrumented;
    kernel.reason.clear();
    kernel.sites = copy.sites;
    kernel.accumulators = copy.accumulators;
    for (const auto& outcome : copy.outcomes) {
        Probe& probe = catalogue_.probes.at(outcome.probe);
        probe.sites += outcome.sites;
        probe.kernels += outcome.sites != 0 ? 1 : 0;
        if (outcome.sites != 0)
            probe.state = ProbeState::attached;
        for (const auto& note : outcome.notes)
            probe.notes.push_back(fmt::format("{}: {}", kernel.name, note.message));
    }
    answer.copies.push_back(std::move(ready));
}

/// What nobody waits for: figures without programs, and whether the PTX is the source of the running code.
void Pipeline::look_into(const ImageWork& work, const std::vector<CopyBuild>& builds, const ImageAnswer& answer) {
    if (work.device.simulated || builds.empty())
        return;
    const auto& compiler = assembler_->compiler(work.device.driver_version);
    if (!compiler)
        return;
    Assembler* assembler = assembler_.get();
    for (const auto& build : builds)
        if (!build.reassembled)
            background_->add([assembler, compiler = *compiler, image = work.build, id = build.kernel_id,
                              entry = build.entry](const std::stop_token& stop) {
                return reassemble(*assembler, compiler, image, id, entry, stop);
            });
    ProofRequest proof{.module = work.build.module,
                       .options = work.build.options,
                       .tool_version = {},
                       .code = {},
                       .kernels = answer.kernels};
    if (work.choice.cubin == nullptr) {
        for (const auto& [id, name] : answer.kernels)
            catalogue_.kernels.at(id - 1).proof_reason = "the driver compiles this PTX itself";
        return;
    }
    proof.tool_version = work.choice.cubin->tool_version;
    proof.code = code_of_kernels(work.choice.cubin->bytes);
    background_->add([assembler, compiler = *compiler, proof](const std::stop_token& stop) {
        return prove(*assembler, compiler, proof, stop);
    });
}

bool Pipeline::take_insights() {
    const auto insights = background_->take();
    for (const auto& insight : insights) {
        Kernel& kernel = catalogue_.kernels.at(insight.kernel_id - 1);
        if (insight.registers) {
            kernel.registers.reassembled = insight.registers;
            kernel.spill_bytes.reassembled = insight.spill_bytes;
            kernel.local_bytes.reassembled = insight.local_bytes;
        } else {
            kernel.proof = insight.proof;
            kernel.proof_reason = insight.proof_reason;
        }
        // Code that is the same spills the same.
        if (kernel.proof == Proof::proved && kernel.registers.reassembled == kernel.registers.original)
            kernel.spill_bytes.original = kernel.spill_bytes.reassembled;
    }
    return !insights.empty();
}

bool Pipeline::finish_insights(std::chrono::milliseconds limit) {
    background_->finish(limit);
    take_insights();
    return !background_->busy();
}

std::string Pipeline::compile_report() const {
    const auto counts = assembler_->counts();
    const std::string problem = assembler_->cache().problem();
    std::string text;
    if (counts.compiled + counts.from_cache != 0)
        text = fmt::format("{} texts compiled, {} found in the cache", counts.compiled, counts.from_cache);
    if (!problem.empty())
        text += fmt::format("{}the cache is not used: {}", text.empty() ? "" : "; ", problem);
    return text;
}

}  // namespace egpu::host

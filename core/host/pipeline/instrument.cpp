// SPDX-License-Identifier: Apache-2.0
// The part of the pipeline that makes copies: which one a kernel is to run, and how it is built.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/names.hpp"
#include "host/pipeline/eligibility.hpp"
#include "host/pipeline/pipeline.hpp"
#include "inject/compile/options.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::host {
namespace {

constexpr std::uint32_t kMostCopies = 16384;  // EGPU_SEGMENT_MAX_COPIES: each has a counter in the segment

}  // namespace

Pipeline::ProgramSet Pipeline::programs_for(const Kernel& kernel) const {
    ProgramSet set;
    for (std::uint32_t i = 0; i < programs_.size(); ++i) {
        const auto& running = programs_[i];
        const auto& probe = probes_[running.loaded];
        const auto& point = probe.object->programs[running.program].point;
        if (running.active && all_take(probe.kernels, kernel.mangled) &&
            (point.kernel_pattern.empty() || kernel_name_matches(point.kernel_pattern, kernel.mangled)))
            set.push_back(i);
    }
    return set;
}

/// A place keeps its number in every copy of its kernel, so that what was counted there goes on. Places that are
/// written alike are told apart by their order in the text.
std::uint32_t Pipeline::site_number(const inject::SiteRecord& site, std::map<std::string, std::uint32_t>& occurrences) {
    const std::string file = std::filesystem::path(site.file).lexically_normal().string();
    const std::string place =
        fmt::format("{}|{}|{}|{}|{}", site.kernel_id, site.function, site.opcode, site.line, file);
    const auto id = static_cast<std::uint32_t>(catalogue_.sites.size()) + 1;
    const auto [known, is_new] = site_numbers_.emplace(fmt::format("{}|{}", place, occurrences[place]++), id);
    if (is_new)
        catalogue_.sites.push_back({id, site.kernel_id, file, site.line, site.opcode, site.function});
    return known->second;
}

inject::CopyRequest Pipeline::copy_request(const Kernel& kernel, const ptx::Module& module,
                                           const ProgramSet& programs) {
    inject::CopyRequest request;
    request.module = &module;
    request.entry = kernel.mangled;
    request.kernel_id = kernel.id;
    request.layouts = &layouts_;
    request.slot_of_key = [this](std::uint32_t map, std::span<const std::byte> key) {
        return keys_.at(map).slot_of(key);
    };
    for (const std::uint32_t index : programs) {
        const auto& running = programs_[index];
        const auto& object = *probes_[running.loaded].object;
        const Sampling& sampling = probes_[running.loaded].sampling;
        request.programs.push_back(
            {&object, &object.programs[running.program], running.map_base, running.probe, !sampling.is_all()});
        if (!sampling.is_all())
            request.sampling = sampling;  // of a session, all that are sampled have the same
    }
    return request;
}

void Pipeline::find_copies(Source& source, std::vector<Wish>& wishes) {
    std::vector<CopyBuild> builds;
    std::vector<Wish*> owners;
    for (auto& wish : wishes) {
        auto build = begin_copy(source, wish);
        if (!build)
            continue;
        builds.push_back(std::move(*build));
        owners.push_back(&wish);
    }
    assemble(source, builds);
    for (std::size_t i = 0; i < builds.size(); ++i)
        finish_copy(source, builds[i], *owners[i]);
    look_into(source, builds);
}

std::optional<CopyBuild> Pipeline::begin_copy(Source& source, Wish& wish) {
    if (wish.programs.empty())
        return std::nullopt;
    if (const auto known = copy_of_set_.find({wish.kernel_id, wish.programs}); known != copy_of_set_.end()) {
        wish.copy = known->second;
        return std::nullopt;
    }
    if (!source.build.module) {
        auto parsed =
            ptx::parse(source.text, source.module_name.empty() ? "the application's PTX" : source.module_name);
        if (!parsed) {
            wish.copy = parsed.errors();
            return std::nullopt;
        }
        source.build.module = std::make_shared<const ptx::Module>(std::move(*parsed));
    }
    const Kernel& kernel = catalogue_.kernels.at(wish.kernel_id - 1);
    CopyBuild build;
    build.kernel_id = kernel.id;
    build.entry = kernel.mangled;
    build.bounds = kernel.bounds;
    if (const auto original = source.originals.find(kernel.id); original != source.originals.end())
        build.original = original->second;
    auto request = copy_request(kernel, *source.build.module, wish.programs);
    request.tensor_maps_known = source.device.tensor_maps_known;
    const auto occurrences = std::make_shared<std::map<std::string, std::uint32_t>>();
    request.new_site_id = [this, occurrences](const inject::SiteRecord& site) {
        return site_number(site, *occurrences);
    };
    build.rebuild = [request = std::move(request), occurrences](const Knobs& knobs) {
        occurrences->clear();
        auto changed = request;
        changed.spare_wgmma = knobs.spare_wgmma;
        changed.constants_in_bank = knobs.constants_in_bank;
        if (!knobs.accumulators)
            changed.accumulator_budget = 0;
        return inject::build_copy(changed);
    };
    auto copy = build.rebuild({});
    if (!copy) {
        wish.copy = copy.errors();
        return std::nullopt;
    }
    // Programs without a place here change nothing: a copy with the same others is the same.
    for (const std::uint32_t index : wish.programs)
        for (const auto& outcome : copy->outcomes)
            if (outcome.probe == programs_[index].probe && outcome.sites != 0)
                wish.places.push_back(index);
    for (const auto& outcome : copy->outcomes)
        if (outcome.sites == 0 && !outcome.notes.empty())
            unplaced_[{kernel.id, outcome.probe}] = outcome.notes;
    const auto same = copy_of_places_.find({kernel.id, wish.places});
    if (copy->sites == 0 || same != copy_of_places_.end()) {
        wish.copy = copy->sites == 0 ? 0 : same->second;
        copy_of_set_[{kernel.id, wish.programs}] = *wish.copy;
        return std::nullopt;
    }
    build.chosen.copy = std::move(*copy);
    return build;
}

void Pipeline::assemble(const Source& source, std::vector<CopyBuild>& builds) {
    if (source.device.simulated)
        add_banks(*assembler_, nullptr, source.build, constant_form_, builds);
    if (source.device.simulated || builds.empty())
        return;
    const auto& compiler = assembler_->compiler(source.device.driver_version);
    std::vector<std::string> notes;
    for (const auto& option : source.dropped_options)
        notes.push_back(fmt::format("recorded option {} was not passed on: egpu does not know it", option));
    const auto untold =
        compiler ? inject::untold_options(*compiler, source.build.options.options) : std::vector<std::string>();
    const bool fuses = std::find(untold.begin(), untold.end(), "--fmad=false") != untold.end();
    for (const auto& option : untold)
        notes.push_back(fmt::format("recorded option {} was not passed on: the driver's compiler has no such", option));
    for (auto& build : builds) {
        build.notes = notes;
        build.common_notes = notes.size();
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
    if (!compiler)
        return;
    build_copies(*assembler_, *compiler, source.build, builds);
    add_banks(*assembler_, &*compiler, source.build, constant_form_, builds);
}

namespace {

/// A cubin, or for the simulated GPU the text with its closing NUL.
std::vector<std::byte> image_of(Attempt& attempt) {
    if (attempt.compiled)
        return std::move(attempt.compiled->cubin);
    const auto* begin = reinterpret_cast<const std::byte*>(attempt.copy.ptx.c_str());
    return {begin, begin + attempt.copy.ptx.size() + 1};
}

}  // namespace

namespace {

std::string bodies_note(std::uint32_t warps_of_a_group) {
    std::string text = "two bodies: blocks or warps that are not sampled run the one without the sampled programs";
    if (warps_of_a_group > 1)
        text += fmt::format("; chosen by {} warps together, since it has instructions of warpgroups", warps_of_a_group);
    return text;
}

}  // namespace

Pipeline::BuiltFigures Pipeline::figures_of(const Attempt& attempt) {
    if (!attempt.compiled)
        return {};
    return {attempt.compiled->registers, attempt.compiled->spill_bytes, known_bytes(attempt.compiled->stack_bytes)};
}

void Pipeline::finish_copy(const Source& source, CopyBuild& build, Wish& wish) {
    Kernel& kernel = catalogue_.kernels.at(build.kernel_id - 1);
    if (!source.device.simulated)
        kernel.architecture = source.build.architecture;
    if (build.reassembled) {
        kernel.registers.reassembled = build.reassembled->registers;
        kernel.spill_bytes.reassembled = build.reassembled->spill_bytes;
        kernel.local_bytes.reassembled = known_bytes(build.reassembled->stack_bytes);
    }
    const auto id = static_cast<std::uint32_t>(built_.size()) + 1;
    if (!build.refusal && id > kMostCopies)
        build.refusal = error("EGPU-A047", fmt::format("a session holds at most {} instrumented copies", kMostCopies),
                              "start it again with the probes that you want");
    if (build.refusal) {
        wish.notes = std::move(build.notes);
        wish.copy = *build.refusal;
        return;
    }
    auto& copy = build.chosen.copy;
    BuiltCopy built;
    built.by_address = figures_of(build.chosen);
    built.figures = figures_of(build.banked ? *build.banked : build.chosen);
    built.accumulators = (build.banked ? build.banked->copy : copy).accumulators;
    built.image = {kernel.id, id, kernel.mangled, std::move(copy.table), image_of(build.chosen), {}, {}, {}};
    if (build.banked) {
        built.image.bank = std::move(build.banked->copy.bank);
        built.image.bank_table = std::move(build.banked->copy.table);
        built.image.bank_image = image_of(*build.banked);
    }
    if (copy.bodies > 1)
        build.notes.push_back(bodies_note(copy.warps_of_a_group));
    Copy holds{kernel.id, {}};
    for (const auto& outcome : copy.outcomes)
        if (outcome.sites != 0)
            holds.probes.push_back(outcome.probe);
    built.sites = copy.sites;
    built.outcomes = std::move(copy.outcomes);
    built.notes = std::move(build.notes);
    built_.push_back(std::move(built));
    catalogue_.copies.push_back(std::move(holds));
    copy_of_places_[{kernel.id, wish.places}] = id;
    copy_of_set_[{kernel.id, wish.programs}] = id;
    wish.copy = id;
}

/// What nobody waits for: figures without programs, and whether the PTX is the source of the running code. Once each.
void Pipeline::look_into(Source& source, const std::vector<CopyBuild>& builds) {
    if (source.device.simulated || builds.empty())
        return;
    const auto& compiler = assembler_->compiler(source.device.driver_version);
    if (!compiler)
        return;
    Assembler* assembler = assembler_.get();
    for (const auto& build : builds)
        if (source.reassembly_asked.insert(build.kernel_id).second && !build.reassembled)
            background_->add([assembler, compiler = *compiler, image = source.build, id = build.kernel_id,
                              entry = build.entry](const std::stop_token& stop) {
                return reassemble(*assembler, compiler, image, id, entry, stop);
            });
    if (std::exchange(source.proof_asked, true))
        return;
    if (!source.code) {
        for (const auto& [id, name] : source.all_kernels)
            catalogue_.kernels.at(id - 1).proof_reason = "the driver compiles this PTX itself";
        return;
    }
    background_->add([assembler, compiler = *compiler,
                      proof = ProofRequest{source.text, source.build.options, *source.code, source.all_kernels}](
                         const std::stop_token& stop) { return prove(*assembler, compiler, proof, stop); });
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
    const auto& cache = assembler_->cache();
    if (const std::string problem = cache.problem();
        !problem.empty() && !cache.settings().asked_off && assembler_->counts().compiled != 0)
        note_once(fmt::format("compiled copies are not kept for the next run: {}", problem));
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

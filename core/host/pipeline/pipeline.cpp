// SPDX-License-Identifier: Apache-2.0
#include "host/pipeline/pipeline.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/version.hpp"
#include "host/pipeline/eligibility.hpp"
#include "inject/clone/clone.hpp"
#include "inject/compile/compile.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::host {
namespace {

bool any_matches(const std::vector<std::string>& patterns, const std::string& mangled) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return kernel_name_matches(pattern, mangled); });
}

constexpr std::uint32_t kMostCopies = 16384;  // EGPU_SEGMENT_MAX_COPIES: each has a counter in the segment

std::string first_line(const Diagnostic& diagnostic) {
    return diagnostic.message.substr(0, diagnostic.message.find('\n'));
}

}  // namespace

bool KernelSelection::takes(const std::string& mangled) const {
    return (include.empty() || any_matches(include, mangled)) && !any_matches(exclude, mangled);
}

Pipeline::Pipeline(std::vector<LoadedProbe> probes, KernelSelection selection, std::uint32_t assumed_sm_count)
    : probes_(std::move(probes)), selection_(std::move(selection)), assumed_sm_count_(assumed_sm_count) {
    catalogue_.egpu_version = version();
    for (std::uint32_t loaded = 0; loaded < probes_.size(); ++loaded) {
        catalogue_.probe_names.push_back(probes_[loaded].name);
        add_maps(loaded);
        add_probe_entries(loaded, map_bases_.back());
    }
}

void Pipeline::add_maps(std::uint32_t loaded) {
    map_bases_.push_back(static_cast<std::uint32_t>(catalogue_.maps.size()));
    for (const auto& definition : probes_[loaded].object->maps) {
        catalogue_.maps.push_back({probes_[loaded].name + "/" + definition.name, definition});
        layouts_.push_back(
            maps::make_layout(definition.value_bytes, definition.max_entries, definition.per_sm(), assumed_sm_count_));
        keys_.emplace_back(definition.is_array(), definition.key_bytes, definition.max_entries);
    }
}

void Pipeline::add_probe_entries(std::uint32_t loaded, std::uint32_t map_base) {
    const auto& probe = probes_[loaded];
    for (const auto& checked : probe.programs) {
        const auto& program = probe.object->programs[checked.index];
        Probe state;
        state.probe = probe.name;
        state.program = program.name;
        state.section = program.section;
        // A program of that name that was set aside goes on in its entry: its maps do.
        const auto same = std::find_if(catalogue_.probes.begin(), catalogue_.probes.end(), [&](const Probe& each) {
            return each.probe == probe.name && each.program == program.name;
        });
        const auto index = static_cast<std::uint32_t>(same - catalogue_.probes.begin());
        if (!checked.verification) {
            state.state = ProbeState::refused;
            state.reason = checked.refusal.front().message;
            for (const auto& refusal : checked.refusal)
                add_diagnostic(refusal);
        } else {
            programs_.push_back({index, loaded, checked.index, map_base, true});
        }
        if (same == catalogue_.probes.end())
            catalogue_.probes.push_back(std::move(state));
        else
            *same = std::move(state);
    }
}

ImageAnswer Pipeline::answer_of(const std::vector<std::pair<std::uint32_t, std::string>>& kernels) const {
    ImageAnswer answer;
    answer.kernels = kernels;
    for (const auto& [id, name] : kernels)
        if (const std::uint32_t copy_id = catalogue_.kernels[id - 1].copy; copy_id != 0)
            answer.copies.push_back(copy(copy_id));
    return answer;
}

ImageAnswer Pipeline::add_image(std::span<const std::byte> bytes, const std::string& module, const Device& device) {
    const ContentHash hash = content_hash(bytes);
    if (auto known = known_image(hash))
        return *known;
    ImageAnswer answer;
    const auto image = ptx::read_image(bytes);
    if (!image) {
        Diagnostic failed = image.error();
        failed.severity = Severity::warning;
        failed.message = fmt::format("an image of {} can't be read, its kernels are not observed: {}",
                                     module.empty() ? "the application" : module, failed.message);
        add_diagnostic(failed);
    } else {
        add_images_kernels(*image, module, device, answer);
    }
    images_.emplace(hash, answer.kernels);
    return answer;
}

std::optional<ImageAnswer> Pipeline::known_image(const ContentHash& hash) const {
    const auto known = images_.find(hash);
    return known != images_.end() ? std::optional(answer_of(known->second)) : std::nullopt;
}

ImageAnswer Pipeline::add_parsed_image(const ptx::Image& image, const std::string& module, const Device& device) {
    ImageAnswer answer;
    add_images_kernels(image, module, device, answer);
    return answer;
}

void Pipeline::add_images_kernels(const ptx::Image& image, const std::string& module, const Device& device,
                                  ImageAnswer& answer) {
    const ptx::Choice choice = choose_for(image, device.compute_capability, device.simulated);
    if (choice.ptx != nullptr)
        add_ptx_kernels(image, choice, module, device, answer);
    // Kernels that only the machine code has.
    std::vector<std::string> known;
    for (const auto& [id, name] : answer.kernels)
        known.push_back(name);
    for (const auto& [name, cubin] : cubin_kernels(image, choice)) {
        if (std::find(known.begin(), known.end(), name) != known.end())
            continue;
        known.push_back(name);
        Kernel& kernel = new_kernel(name, module, answer);
        kernel.registers.original = registers_of(*cubin, name);
        kernel.state = KernelState::no_ptx;
        kernel.reason = no_ptx_reason(image, *cubin);
        kernel.fix = "build it with PTX: nvcc -gencode arch=compute_XX,code=compute_XX beside the machine code";
    }
}

void Pipeline::add_ptx_kernels(const ptx::Image& image, const ptx::Choice& choice, const std::string& module,
                               const Device& device, ImageAnswer& answer) {
    const auto parsed = ptx::parse(choice.ptx->text, module.empty() ? "the application's PTX" : module);
    if (!parsed) {
        Diagnostic failed = parsed.error();
        failed.severity = Severity::warning;
        add_diagnostic(failed);
        return;
    }
    const auto mismatch = source_mismatch(image, choice);
    Source source{std::string(choice.ptx->text), module, device, {}};
    for (const auto& function : parsed->functions) {
        if (!function.is_entry || !function.body)
            continue;
        Kernel& kernel = new_kernel(std::string(function.name), module, answer);
        kernel.source = "PTX";
        if (choice.cubin != nullptr)
            kernel.registers.original = registers_of(*choice.cubin, kernel.mangled);
        if (mismatch) {
            kernel.state = KernelState::refused;
            kernel.reason = mismatch->message;
            kernel.fix = mismatch->fix;
        } else if (!selection_.takes(kernel.mangled)) {
            kernel.reason = "not among the kernels asked for";
        } else {
            source.kernels.push_back(kernel.id);
            instrument(*parsed, kernel, device, answer);
        }
    }
    if (!source.kernels.empty())
        sources_.push_back(std::move(source));
}

Kernel& Pipeline::new_kernel(const std::string& mangled, const std::string& module, ImageAnswer& answer) {
    Kernel kernel;
    kernel.id = static_cast<std::uint32_t>(catalogue_.kernels.size()) + 1;
    kernel.mangled = mangled;
    kernel.signature = demangle(mangled);
    kernel.name = short_name(kernel.signature);
    kernel.module = module;
    kernel.reason = "no probe names it";
    answer.kernels.emplace_back(kernel.id, mangled);
    catalogue_.kernels.push_back(std::move(kernel));
    return catalogue_.kernels.back();
}

Pipeline::ProgramSet Pipeline::programs_for(const Kernel& kernel) const {
    ProgramSet set;
    for (std::uint32_t i = 0; i < programs_.size(); ++i) {
        const auto& running = programs_[i];
        const auto& point = probes_[running.loaded].object->programs[running.program].point;
        if (running.active &&
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

Result<std::uint32_t> Pipeline::copy_with(const ptx::Module& module, const Kernel& kernel, const ProgramSet& programs,
                                          const Device& device) {
    if (programs.empty())
        return std::uint32_t{0};
    const auto known = copy_of_set_.find({kernel.id, programs});
    if (known != copy_of_set_.end())
        return known->second;
    auto built = build(module, kernel, programs, device);
    if (built)
        copy_of_set_[{kernel.id, programs}] = *built;
    return built;
}

Result<std::uint32_t> Pipeline::build(const ptx::Module& module, const Kernel& kernel, const ProgramSet& programs,
                                      const Device& device) {
    inject::CopyRequest request;
    request.module = &module;
    request.entry = kernel.mangled;
    request.kernel_id = kernel.id;
    request.layouts = &layouts_;
    request.slot_of_key = [this](std::uint32_t map, std::span<const std::byte> key) {
        return keys_.at(map).slot_of(key);
    };
    std::map<std::string, std::uint32_t> occurrences;
    request.new_site_id = [&](const inject::SiteRecord& site) { return site_number(site, occurrences); };
    for (const std::uint32_t index : programs) {
        const auto& running = programs_[index];
        const auto& object = *probes_[running.loaded].object;
        request.programs.push_back({&object, &object.programs[running.program], running.map_base, running.probe});
    }
    auto copy = inject::build_copy(request);
    if (!copy)
        return copy.errors();
    if (copy->sites == 0)
        return std::uint32_t{0};
    // Programs without a place here change nothing: a copy with the same others is the same.
    ProgramSet with_places;
    Copy holds{kernel.id, {}};
    for (const std::uint32_t index : programs)
        for (const auto& outcome : copy->outcomes)
            if (outcome.probe == programs_[index].probe && outcome.sites != 0) {
                with_places.push_back(index);
                holds.probes.push_back(outcome.probe);
            }
    if (const auto same = copy_of_places_.find({kernel.id, with_places}); same != copy_of_places_.end())
        return same->second;
    const auto id = static_cast<std::uint32_t>(built_.size()) + 1;
    if (id > kMostCopies)
        return error("EGPU-A047", fmt::format("a session holds at most {} instrumented copies", kMostCopies),
                     "start it again with the probes that you want");
    BuiltCopy built;
    built.image = {kernel.id, id, kernel.mangled, copy->table, {}};
    if (Status finished = finish_image(kernel, copy->ptx, module, device, built); !finished)
        return finished.errors();
    built.sites = copy->sites;
    built.accumulators = copy->accumulators;
    built.outcomes = std::move(copy->outcomes);
    built_.push_back(std::move(built));
    catalogue_.copies.push_back(std::move(holds));
    copy_of_places_[{kernel.id, with_places}] = id;
    return id;
}

void Pipeline::runs(Kernel& kernel, std::uint32_t copy_id) {
    kernel.copy = copy_id;
    kernel.waiting = false;
    kernel.fix.clear();
    if (copy_id == 0) {
        kernel.state = KernelState::not_matched;
        kernel.sites = kernel.accumulators = 0;
        return;
    }
    const BuiltCopy& built = built_[copy_id - 1];
    kernel.state = KernelState::instrumented;
    kernel.reason.clear();
    kernel.sites = built.sites;
    kernel.accumulators = built.accumulators;
    kernel.registers.instrumented = built.registers.instrumented;
}

void Pipeline::could_not_build(Kernel& kernel, const Diagnostic& why) {
    const bool compiler = why.code.starts_with("EGPU-P3") || why.code.starts_with("EGPU-A04");
    kernel.state = compiler ? KernelState::failed : KernelState::refused;
    kernel.reason = first_line(why);
    kernel.fix = why.fix;
}

void Pipeline::instrument(const ptx::Module& module, Kernel& kernel, const Device& device, ImageAnswer& answer) {
    const ProgramSet programs = programs_for(kernel);
    if (programs.empty())
        return;
    const auto copy_id = copy_with(module, kernel, programs, device);
    if (!copy_id) {
        could_not_build(kernel, copy_id.error());
        return;
    }
    if (*copy_id == 0) {
        kernel.reason = "has no place that a probe asks for";
        return;
    }
    runs(kernel, *copy_id);
    for (const auto& outcome : built_[*copy_id - 1].outcomes) {
        Probe& probe = catalogue_.probes.at(outcome.probe);
        probe.sites += outcome.sites;
        probe.kernels += outcome.sites != 0 ? 1 : 0;
        if (outcome.sites != 0)
            probe.state = ProbeState::attached;
        for (const auto& note : outcome.notes)
            probe.notes.push_back(fmt::format("{}: {}", kernel.name, note.message));
    }
    answer.copies.push_back(copy(*copy_id));
}

Status Pipeline::finish_image(const Kernel& kernel, const std::string& ptx, const ptx::Module& module,
                              const Device& device, BuiltCopy& built) {
    if (device.simulated) {
        const auto* begin = reinterpret_cast<const std::byte*>(ptx.c_str());
        built.image.image.assign(begin, begin + ptx.size() + 1);
        return ok();
    }
    const auto ptxas = inject::find_ptxas();
    if (!ptxas) {
        Diagnostic missing = error("EGPU-A046", "no ptxas to compile its instrumented copy with");
        missing.fix = "install a CUDA Toolkit, or set EGPU_PTXAS";
        return missing;
    }
    inject::CompileOptions options;
    options.architecture = fmt::format("sm_{}{}", device.compute_capability, architecture_suffix(module));
    auto compiled = inject::compile_ptx(*ptxas, ptx, kernel.mangled, options);
    if (!compiled)
        return compiled.errors();
    built.registers.instrumented = compiled->registers;
    built.image.image = std::move(compiled->cubin);
    return ok();
}

void Pipeline::copy_failed(std::uint32_t kernel_id, const std::string& reason) {
    if (kernel_id < 1 || kernel_id > catalogue_.kernels.size())
        return;
    Kernel& kernel = catalogue_.kernels[kernel_id - 1];
    kernel.waiting = false;
    if (kernel.state != KernelState::instrumented)
        return;
    kernel.state = KernelState::failed;
    kernel.reason = reason;
}

void Pipeline::copy_loaded(std::uint32_t kernel_id, std::uint32_t original_registers, std::uint32_t copy_registers) {
    if (kernel_id < 1 || kernel_id > catalogue_.kernels.size())
        return;
    Kernel& kernel = catalogue_.kernels[kernel_id - 1];
    kernel.waiting = false;
    if (original_registers != 0)
        kernel.registers.original = original_registers;
    if (copy_registers != 0)
        kernel.registers.instrumented = copy_registers;
}

void Pipeline::note_once(const std::string& text) {
    Diagnostic note;
    note.severity = Severity::warning;
    note.message = text;
    const std::string line = to_text(note);
    if (std::find(catalogue_.diagnostics.begin(), catalogue_.diagnostics.end(), line) == catalogue_.diagnostics.end())
        catalogue_.diagnostics.push_back(line);
}

void Pipeline::add_diagnostic(const Diagnostic& diagnostic) {
    catalogue_.diagnostics.push_back(to_text(diagnostic));
}

}  // namespace egpu::host

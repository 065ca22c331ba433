// SPDX-License-Identifier: Apache-2.0
#include "host/pipeline/pipeline.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/version.hpp"
#include "host/pipeline/eligibility.hpp"
#include "host/pipeline/map_uses.hpp"
#include "inject/compile/options.hpp"
#include "maps/storage/storage.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::host {
namespace {

/// What the running code says of itself.
void set_original(Kernel& kernel, const ptx::CubinMember& cubin) {
    const auto* code = kernel_of(&cubin, kernel.mangled);
    if (code == nullptr)
        return;
    kernel.architecture = cubin.architecture;
    if (code->registers != 0) {
        kernel.registers.original = code->registers;
        kernel.local_bytes.original = known_bytes(code->stack_bytes);
    }
}

constexpr const char* kNoPlace = "has no place that a probe asks for";

}  // namespace

Pipeline::Pipeline(std::vector<LoadedProbe> probes, KernelSelection selection, std::uint32_t assumed_sm_count)
    : probes_(std::move(probes)),
      selection_(std::move(selection)),
      assumed_sm_count_(assumed_sm_count),
      assembler_(std::make_unique<Assembler>()),
      background_(std::make_unique<Background>()) {
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
        layouts_.push_back(maps::layout_of(definition, assumed_sm_count_));
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
        state.selections = probe.kernels;
        state.maps = map_uses(program, checked, map_base);
        state.sampling = probe.sampling;
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

ImageAnswer Pipeline::add_image(std::span<const std::byte> bytes, const std::string& module, const Device& device,
                                const LoadOptions& options) {
    if (const auto name = misnamed_constant_form(); !name.empty())
        note_once(fmt::format("EGPU_CONSTANTS={} is neither bank nor address: chosen by figures", name));
    const ContentHash hash = content_hash(bytes);
    if (auto known = known_image(hash, options))
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
        // Machine code is what it is, whatever the options of the call that loads it.
        if (choose_for(*image, device.compute_capability, device.simulated).cubin == nullptr)
            load_options_[hash] = options;
        add_images_kernels(*image, module, device, options, answer);
    }
    images_.emplace(hash, answer.kernels);
    return answer;
}

std::optional<ImageAnswer> Pipeline::known_image(const ContentHash& hash, const LoadOptions& options) {
    if (const auto first = load_options_.find(hash); first != load_options_.end() && first->second != options)
        note_once(
            "an image was loaded again with other JIT options: copies of its kernels are compiled with those of the "
            "first load");
    const auto known = images_.find(hash);
    return known != images_.end() ? std::optional(answer_of(known->second)) : std::nullopt;
}

ImageAnswer Pipeline::add_parsed_image(const ptx::Image& image, const std::string& module, const Device& device) {
    ImageAnswer answer;
    add_images_kernels(image, module, device, {}, answer);
    return answer;
}

void Pipeline::add_images_kernels(const ptx::Image& image, const std::string& module, const Device& device,
                                  const LoadOptions& options, ImageAnswer& answer) {
    const ptx::Choice choice = choose_for(image, device.compute_capability, device.simulated);
    std::optional<Source> source;
    if (choice.ptx != nullptr)
        source = add_ptx_kernels(image, choice, module, device, options, answer);
    // Kernels that only the machine code has.
    std::vector<std::string> known;
    for (const auto& [id, name] : answer.kernels)
        known.push_back(name);
    for (const auto& [name, cubin] : cubin_kernels(image, choice)) {
        if (std::find(known.begin(), known.end(), name) != known.end())
            continue;
        known.push_back(name);
        Kernel& kernel = new_kernel(name, module, answer);
        set_original(kernel, *cubin);
        kernel.state = KernelState::no_ptx;
        auto why = no_ptx(image, *cubin);
        kernel.reason = std::move(why.reason);
        kernel.fix = std::move(why.fix);
    }
    if (!source)
        return;
    instrument(*source, answer);
    sources_.push_back(std::move(*source));
}

std::optional<Pipeline::Source> Pipeline::add_ptx_kernels(const ptx::Image& image, const ptx::Choice& choice,
                                                          const std::string& module, const Device& device,
                                                          const LoadOptions& options, ImageAnswer& answer) {
    auto parsed = ptx::parse(choice.ptx->text, module.empty() ? "the application's PTX" : module);
    if (!parsed) {
        Diagnostic failed = parsed.error();
        failed.severity = Severity::warning;
        add_diagnostic(failed);
        return std::nullopt;
    }
    Source source;
    source.module_name = module;
    source.device = device;
    auto& build = source.build;
    build.module = std::make_shared<const ptx::Module>(std::move(*parsed));
    // Code for an older chip of the family runs as it is: its copy is compiled for that chip, too.
    build.architecture = choice.cubin != nullptr ? choice.cubin->architecture : device.compute_capability;
    build.options.architecture = fmt::format("sm_{}{}", build.architecture, architecture_suffix(*build.module));
    build.options.options = inject::options_of_original(
        original_options(choice, options.max_registers, options.optimisation_level), &source.dropped_options);
    const auto mismatch = source_mismatch(image, choice);
    for (const auto& function : build.module->functions) {
        if (!function.is_entry || !function.body)
            continue;
        Kernel& kernel = new_kernel(std::string(function.name), module, answer);
        kernel.source = "PTX";
        kernel.bounds = bounds_of(function);
        const auto* code = kernel_of(choice.cubin, kernel.mangled);
        if (code != nullptr) {
            set_original(kernel, *choice.cubin);
            source.originals[kernel.id] = {code->registers, code->stack_bytes, code->static_shared_bytes};
        }
        auto refusal = mismatch;
        if (!refusal && code != nullptr)
            refusal = kernel_mismatch(function, *code, build.options.options);
        if (refusal) {
            kernel.state = KernelState::refused;
            kernel.reason = refusal->message;
            kernel.fix = refusal->fix;
        } else if (!selection_.takes(kernel.mangled)) {
            kernel.reason = "not among the kernels asked for";
        } else {
            source.kernels.push_back(kernel.id);
        }
    }
    if (source.kernels.empty())
        return std::nullopt;
    source.text = choice.ptx->text;
    source.all_kernels = answer.kernels;
    if (choice.cubin != nullptr && !device.simulated)
        source.code = running_code(*choice.cubin);
    return source;
}

/// The first copies of its kernels, with the programs of now.
void Pipeline::instrument(Source& source, ImageAnswer& answer) {
    std::vector<Wish> wishes;
    for (const std::uint32_t id : source.kernels)
        if (auto programs = programs_for(catalogue_.kernels[id - 1]); !programs.empty())
            wishes.push_back({.kernel_id = id, .programs = std::move(programs), .places = {}, .notes = {}});
    for (const auto& wish : wishes) {
        Kernel& kernel = catalogue_.kernels[wish.kernel_id - 1];
        kernel.waiting = true;
        kernel.reason = "its instrumented copy is being built";
    }
    if (on_named_ && !wishes.empty())
        on_named_(answer);
    find_copies(source, wishes);
    source.build.module.reset();
    for (const auto& wish : wishes) {
        Kernel& kernel = catalogue_.kernels[wish.kernel_id - 1];
        kernel.waiting = false;
        if (!wish.copy) {
            could_not_build(kernel, wish);
        } else if (*wish.copy == 0) {
            kernel.reason = kNoPlace;
            count_places_of(kernel);
        } else {
            runs(kernel, *wish.copy);
            count_places_of(kernel);
            answer.copies.push_back(copy(*wish.copy));
        }
    }
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

/// What stands in the catalogue of a kernel's copy is that of the copy that it runs.
void Pipeline::runs(Kernel& kernel, std::uint32_t copy_id) {
    kernel.copy = copy_id;
    kernel.waiting = false;
    kernel.fix.clear();
    const BuiltCopy none;
    const BuiltCopy& built = copy_id != 0 ? built_[copy_id - 1] : none;
    kernel.state = copy_id != 0 ? KernelState::instrumented : KernelState::not_matched;
    if (copy_id != 0)
        kernel.reason.clear();
    kernel.sites = built.sites;
    kernel.accumulators = built.accumulators;
    show(kernel, built.figures);
    kernel.notes = built.notes;
}

void Pipeline::show(Kernel& kernel, const BuiltFigures& figures) {
    kernel.registers.instrumented = figures.registers;
    kernel.spill_bytes.instrumented = figures.spill_bytes;
    kernel.local_bytes.instrumented = figures.local_bytes;
}

void Pipeline::could_not_build(Kernel& kernel, const Wish& wish) {
    const Diagnostic& why = wish.copy.error();
    const bool accident = why.code.starts_with("EGPU-P3") || why.code.starts_with("EGPU-A04");
    kernel.state = accident ? KernelState::failed : KernelState::refused;
    kernel.reason = first_line(why);
    kernel.fix = why.fix;
    kernel.notes = wish.notes;
}

/// Adds a kernel's places to those of its probes, and what they can't count there; of removed probes they stay as they
/// were.
void Pipeline::count_places_of(const Kernel& kernel) {
    const auto add_notes = [&](Probe& probe, const std::vector<Diagnostic>& notes) {
        for (const auto& note : notes)
            probe.notes.push_back(fmt::format("{}: {}", kernel.name, note.message));
        if (!notes.empty())
            probe.in_part.push_back(kernel.id);
    };
    for (auto at = unplaced_.lower_bound({kernel.id, 0}); at != unplaced_.end() && at->first.first == kernel.id; ++at)
        if (Probe& probe = catalogue_.probes.at(at->first.second); probe.state != ProbeState::detached)
            add_notes(probe, at->second);
    if (kernel.copy == 0)
        return;
    for (const auto& outcome : built_[kernel.copy - 1].outcomes) {
        Probe& probe = catalogue_.probes.at(outcome.probe);
        if (probe.state == ProbeState::detached || outcome.sites == 0)
            continue;
        add_notes(probe, outcome.notes);
        probe.sites += outcome.sites;
        ++probe.kernels;
        probe.state = ProbeState::attached;
    }
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

void Pipeline::constants_by_address(std::uint32_t kernel_id, const std::string& reason) {
    if (kernel_id < 1 || kernel_id > catalogue_.kernels.size() || catalogue_.kernels[kernel_id - 1].copy == 0)
        return;
    Kernel& kernel = catalogue_.kernels[kernel_id - 1];
    show(kernel, built_[kernel.copy - 1].by_address);
    const std::string note = "constants by address in every launch: " + reason;
    if (std::find(kernel.notes.begin(), kernel.notes.end(), note) == kernel.notes.end())
        kernel.notes.push_back(note);
}

void Pipeline::note_once(const std::string& text, const std::string& code) {
    Diagnostic note;
    note.code = code;
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

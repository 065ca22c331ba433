// SPDX-License-Identifier: Apache-2.0
#include "host/pipeline/pipeline.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/version.hpp"
#include "host/pipeline/eligibility.hpp"
#include "inject/compile/options.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::host {
namespace {

bool any_matches(const std::vector<std::string>& patterns, const std::string& mangled) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return kernel_name_matches(pattern, mangled); });
}

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

}  // namespace

bool KernelSelection::takes(const std::string& mangled) const {
    return (include.empty() || any_matches(include, mangled)) && !any_matches(exclude, mangled);
}

Pipeline::Pipeline(std::vector<LoadedProbe> probes, KernelSelection selection, std::uint32_t assumed_sm_count)
    : probes_(std::move(probes)),
      selection_(std::move(selection)),
      assumed_sm_count_(assumed_sm_count),
      assembler_(std::make_unique<Assembler>()),
      background_(std::make_unique<Background>()) {
    catalogue_.egpu_version = version();
    add_maps_and_programs();
}

void Pipeline::add_maps_and_programs() {
    for (std::uint32_t loaded = 0; loaded < probes_.size(); ++loaded) {
        const auto& probe = probes_[loaded];
        catalogue_.probe_names.push_back(probe.name);
        const auto map_base = static_cast<std::uint32_t>(catalogue_.maps.size());
        for (const auto& definition : probe.object->maps) {
            catalogue_.maps.push_back({probe.name + "/" + definition.name, definition});
            layouts_.push_back(maps::make_layout(definition.value_bytes, definition.max_entries, definition.per_sm(),
                                                 assumed_sm_count_));
            keys_.emplace_back(definition.is_array(), definition.key_bytes, definition.max_entries);
        }
        for (const auto& checked : probe.programs) {
            const auto& program = probe.object->programs[checked.index];
            Probe state{
                .probe = probe.name, .program = program.name, .section = program.section, .reason = {}, .notes = {}};
            if (!checked.verification) {
                state.state = ProbeState::refused;
                state.reason = checked.refusal.front().message;
                for (const auto& refusal : checked.refusal)
                    add_diagnostic(refusal);
            } else {
                programs_.push_back(
                    {static_cast<std::uint32_t>(catalogue_.probes.size()), loaded, checked.index, map_base});
            }
            catalogue_.probes.push_back(std::move(state));
        }
    }
}

const ImageAnswer& Pipeline::add_image(std::span<const std::byte> bytes, const std::string& module,
                                       const Device& device, const LoadOptions& options) {
    const ContentHash hash = content_hash(bytes);
    if (const auto known = answers_.find(hash); known != answers_.end())
        return known->second;
    ImageAnswer& answer = answers_[hash];
    const auto image = ptx::read_image(bytes);
    if (!image) {
        Diagnostic failed = image.error();
        failed.severity = Severity::warning;
        failed.message = fmt::format("an image of {} can't be read, its kernels are not observed: {}",
                                     module.empty() ? "the application" : module, failed.message);
        add_diagnostic(failed);
        return answer;
    }
    // Machine code is what it is, whatever the options of the call that loads it.
    if (choose_for(*image, device.compute_capability, device.simulated).cubin == nullptr)
        load_options_[hash] = options;
    add_images_kernels(*image, module, device, options, answer);
    return answer;
}

const ImageAnswer* Pipeline::known_image(const ContentHash& hash, const LoadOptions& options) {
    const auto known = answers_.find(hash);
    if (const auto first = load_options_.find(hash); first != load_options_.end() && first->second != options)
        note_once(
            "an image was loaded again with other JIT options: copies of its kernels are compiled with those of the "
            "first "
            "load");
    return known != answers_.end() ? &known->second : nullptr;
}

ImageAnswer Pipeline::add_parsed_image(const ptx::Image& image, const std::string& module, const Device& device) {
    ImageAnswer answer;
    add_images_kernels(image, module, device, {}, answer);
    return answer;
}

void Pipeline::add_images_kernels(const ptx::Image& image, const std::string& module, const Device& device,
                                  const LoadOptions& options, ImageAnswer& answer) {
    ImageWork work;
    work.choice = choose_for(image, device.compute_capability, device.simulated);
    work.module_name = module;
    work.device = device;
    if (work.choice.ptx != nullptr)
        add_ptx_kernels(image, work, options, answer);
    // Kernels that only the machine code has.
    std::vector<std::string> known;
    for (const auto& [id, name] : answer.kernels)
        known.push_back(name);
    for (const auto& [name, cubin] : cubin_kernels(image, work.choice)) {
        if (std::find(known.begin(), known.end(), name) != known.end())
            continue;
        known.push_back(name);
        Kernel& kernel = new_kernel(name, module, answer);
        set_original(kernel, *cubin);
        kernel.state = KernelState::no_ptx;
        kernel.reason = no_ptx_reason(image, *cubin);
        kernel.fix = "build it with PTX: nvcc -gencode arch=compute_XX,code=compute_XX beside the machine code";
    }
}

void Pipeline::add_ptx_kernels(const ptx::Image& image, ImageWork& work, const LoadOptions& options,
                               ImageAnswer& answer) {
    const auto& name = work.module_name;
    auto parsed = ptx::parse(work.choice.ptx->text, name.empty() ? "the application's PTX" : name);
    if (!parsed) {
        Diagnostic failed = parsed.error();
        failed.severity = Severity::warning;
        add_diagnostic(failed);
        return;
    }
    const auto module = std::make_shared<const ptx::Module>(std::move(*parsed));
    work.build.module = module;
    // Code for an older chip of the family runs as it is: its copy is compiled for that chip, too.
    work.build.architecture =
        work.choice.cubin != nullptr ? work.choice.cubin->architecture : work.device.compute_capability;
    work.build.options.architecture = fmt::format("sm_{}{}", work.build.architecture, architecture_suffix(*module));
    work.build.options.options = inject::options_of_original(
        original_options(work.choice, options.max_registers, options.optimisation_level), &work.dropped_options);
    const auto mismatch = source_mismatch(image, work.choice);
    std::vector<CopyBuild> builds;
    for (const auto& function : module->functions) {
        if (!function.is_entry || !function.body)
            continue;
        Kernel& kernel = new_kernel(std::string(function.name), name, answer);
        kernel.source = "PTX";
        kernel.bounds = bounds_of(function);
        const auto* code = kernel_of(work.choice.cubin, kernel.mangled);
        if (code != nullptr)
            set_original(kernel, *work.choice.cubin);
        auto refusal = mismatch;
        if (!refusal && code != nullptr)
            refusal = kernel_mismatch(function, *code, work.build.options.options);
        if (refusal) {
            kernel.state = KernelState::refused;
            kernel.reason = refusal->message;
            kernel.fix = refusal->fix;
        } else if (!selection_.takes(kernel.mangled)) {
            kernel.reason = "not among the kernels asked for";
        } else if (auto build = begin_copy(kernel, function, work)) {
            builds.push_back(std::move(*build));
        }
    }
    assemble(work, builds);
    for (auto& build : builds)
        finish_copy(build, work, answer);
    look_into(work, builds, answer);
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

void Pipeline::copy_failed(std::uint32_t kernel_id, const std::string& reason) {
    if (kernel_id < 1 || kernel_id > catalogue_.kernels.size())
        return;
    Kernel& kernel = catalogue_.kernels[kernel_id - 1];
    if (kernel.state != KernelState::instrumented)
        return;
    kernel.state = KernelState::failed;
    kernel.reason = reason;
}

void Pipeline::copy_loaded(std::uint32_t kernel_id, std::uint32_t original_registers, std::uint32_t copy_registers) {
    if (kernel_id < 1 || kernel_id > catalogue_.kernels.size())
        return;
    Kernel& kernel = catalogue_.kernels[kernel_id - 1];
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

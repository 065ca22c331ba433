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
                                       const Device& device) {
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
    add_images_kernels(*image, module, device, answer);
    return answer;
}

const ImageAnswer* Pipeline::known_image(const ContentHash& hash) const {
    const auto known = answers_.find(hash);
    return known != answers_.end() ? &known->second : nullptr;
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
            instrument(*parsed, kernel, choice, device, answer);
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

void Pipeline::instrument(const ptx::Module& module, Kernel& kernel, const ptx::Choice& choice, const Device& device,
                          ImageAnswer& answer) {
    inject::CopyRequest request;
    request.module = &module;
    request.entry = kernel.mangled;
    request.kernel_id = kernel.id;
    request.layouts = &layouts_;
    request.slot_of_key = [this](std::uint32_t map, std::span<const std::byte> key) {
        return keys_.at(map).slot_of(key);
    };
    request.new_site_id = [this](const inject::SiteRecord& site) {
        const auto id = static_cast<std::uint32_t>(catalogue_.sites.size()) + 1;
        const std::string file = std::filesystem::path(site.file).lexically_normal().string();
        catalogue_.sites.push_back({id, site.kernel_id, file, site.line, site.opcode, site.function});
        return id;
    };
    for (const auto& running : programs_) {
        const auto& object = *probes_[running.loaded].object;
        const auto& program = object.programs[running.program];
        if (!program.point.kernel_pattern.empty() && !kernel_name_matches(program.point.kernel_pattern, kernel.mangled))
            continue;
        request.programs.push_back({&object, &program, running.map_base, running.probe});
    }
    if (request.programs.empty())
        return;
    auto copy = inject::build_copy(request);
    if (!copy) {
        kernel.state = KernelState::refused;
        kernel.reason = first_line(copy.error());
        kernel.fix = copy.error().fix;
        return;
    }
    if (copy->sites == 0) {
        kernel.reason = "has no place that a probe asks for";
        return;
    }
    CopyImage ready{kernel.id, kernel.mangled, copy->table, {}};
    if (!finish_image(kernel, copy->ptx, module, device, ready.image))
        return;
    kernel.state = KernelState::instrumented;
    kernel.reason.clear();
    kernel.sites = copy->sites;
    kernel.accumulators = copy->accumulators;
    for (const auto& outcome : copy->outcomes) {
        Probe& probe = catalogue_.probes.at(outcome.probe);
        probe.sites += outcome.sites;
        probe.kernels += outcome.sites != 0 ? 1 : 0;
        if (outcome.sites != 0)
            probe.state = ProbeState::attached;
        for (const auto& note : outcome.notes)
            probe.notes.push_back(fmt::format("{}: {}", kernel.name, note.message));
    }
    static_cast<void>(choice);
    answer.copies.push_back(std::move(ready));
}

bool Pipeline::finish_image(Kernel& kernel, const std::string& ptx, const ptx::Module& module, const Device& device,
                            std::vector<std::byte>& image) {
    if (device.simulated) {
        const auto* begin = reinterpret_cast<const std::byte*>(ptx.c_str());
        image.assign(begin, begin + ptx.size() + 1);
        return true;
    }
    const auto ptxas = inject::find_ptxas();
    if (!ptxas) {
        kernel.state = KernelState::failed;
        kernel.reason = "no ptxas to compile its instrumented copy with";
        kernel.fix = "install a CUDA Toolkit, or set EGPU_PTXAS";
        return false;
    }
    inject::CompileOptions options;
    options.architecture = fmt::format("sm_{}{}", device.compute_capability, architecture_suffix(module));
    auto compiled = inject::compile_ptx(*ptxas, ptx, kernel.mangled, options);
    if (!compiled) {
        kernel.state = KernelState::failed;
        kernel.reason = first_line(compiled.error());
        return false;
    }
    kernel.registers.instrumented = compiled->registers;
    image = std::move(compiled->cubin);
    return true;
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

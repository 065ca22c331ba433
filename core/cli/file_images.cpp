// SPDX-License-Identifier: Apache-2.0
#include "cli/file_images.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "cli/terminal.hpp"
#include "host/installation/folders.hpp"
#include "host/session/program_file.hpp"
#include "ptx/fatbin/image.hpp"

namespace egpu::cli {
namespace {

Diagnostic without_kernels(const std::string& file, bool no_code, std::uint32_t architecture) {
    Diagnostic note = no_code ? error("EGPU-X056", fmt::format("{} holds no device code", file),
                                      "code that is loaded while a program runs is seen by egpu kernels -- PROGRAM")
                              : error("EGPU-X056", fmt::format("{} holds no kernel for sm_{}", file, architecture),
                                      "--arch names another architecture");
    // The bundled workloads load their kernels as text.
    if (no_code && std::filesystem::path(file).filename() == "egpu-workload") {
        const auto texts = std::filesystem::path(host::install_folders().data) / "workloads";
        std::error_code failed;
        note.hints.insert(note.hints.begin(),
                          fmt::format("its kernels are in {}/NAME.ptx{}", texts.string(),
                                      std::filesystem::is_directory(texts, failed) ? "" : " of an installed egpu"));
    }
    note.severity = Severity::warning;
    return note;
}

/// A bare name that is no file here is a command, as in egpu run.
std::string file_or_program(const std::string& name) {
    std::error_code failed;
    if (std::filesystem::exists(name, failed))
        return name;
    const std::string path = host::program_path(name);
    return path.empty() ? name : path;
}

}  // namespace

Result<std::uint32_t> parse_architecture(const std::string& text) {
    const std::string_view digits = text.starts_with("sm_") ? std::string_view(text).substr(3) : std::string_view(text);
    std::uint32_t value = 0;
    for (const char c : digits) {
        if (c < '0' || c > '9' || value > 999)
            return error("EGPU-X052", fmt::format("--arch '{}' is no architecture", text), "write it as sm_90");
        value = value * 10 + static_cast<std::uint32_t>(c - '0');
    }
    if (value < 50)
        return error("EGPU-X052", fmt::format("--arch '{}' is no architecture", text), "write it as sm_90");
    return value;
}

bool add_file_images(host::Pipeline& pipeline, const std::vector<std::string>& files, const host::Device& device) {
    bool failed = false;
    for (const auto& name : files) {
        const std::string file = file_or_program(name);
        const auto images = ptx::read_images_of_file(file);
        if (!images) {
            print_errors(images.errors());
            failed = true;
            continue;
        }
        const std::size_t before = pipeline.catalogue().kernels.size();
        for (const auto& image : *images)
            pipeline.add_parsed_image(image, file.substr(file.rfind('/') + 1), device);
        if (pipeline.catalogue().kernels.size() == before)
            print_errors({without_kernels(file, images->empty(), device.compute_capability)});
    }
    return !failed;
}

}  // namespace egpu::cli

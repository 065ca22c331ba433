// SPDX-License-Identifier: Apache-2.0
// Which kind of image some bytes or a file hold.
#include "ptx/fatbin/image.hpp"

#include <algorithm>

#include "base/files.hpp"
#include "ptx/fatbin/container.hpp"
#include "ptx/fatbin/cubin.hpp"
#include "ptx/fatbin/elf.hpp"

namespace egpu::ptx {
namespace {

/// PTX begins with blanks and comments and then .version (PTX ISA 11.1.1).
bool looks_like_ptx(std::string_view text) {
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\f\v"), text.size()));
        const bool line = text.starts_with("//");
        if (!line && !text.starts_with("/*"))
            return text.starts_with(".version");
        const std::size_t end = line ? text.find('\n') : text.find("*/", 2);
        if (end == std::string_view::npos)
            return false;
        text.remove_prefix(end + (line ? 1 : 2));
    }
}

/// "sm_90a" of `.target sm_90a, debug`, read without the parser (ptx/syntax is another part).
void read_target(PtxMember& member) {
    constexpr std::string_view kTarget = ".target";
    std::string_view text = member.text;
    const std::size_t found = text.find(kTarget);
    if (found == std::string_view::npos)
        return;
    text.remove_prefix(found + kTarget.size());
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with("sm_"))
        return;
    text.remove_prefix(3);
    while (!text.empty() && text.front() >= '0' && text.front() <= '9' && member.architecture < 100'000) {
        member.architecture = member.architecture * 10 + static_cast<std::uint32_t>(text.front() - '0');
        text.remove_prefix(1);
    }
    if (text.starts_with('a') || text.starts_with('f'))
        member.suffix = text.front();
}

Image text_image(Bytes bytes) {
    Image image;
    image.kind = ImageKind::ptx_text;
    const std::string_view text = as_text(bytes);
    PtxMember member;
    member.text = std::string(text.substr(0, text.find_last_not_of('\0') + 1));
    read_target(member);
    image.ptx.push_back(std::move(member));
    return image;
}

Result<Image> cubin_image(Bytes bytes) {
    auto cubin = read_cubin(bytes);
    if (!cubin)
        return cubin.errors();
    Image image;
    image.kind = ImageKind::cubin;
    image.relocatable = cubin->relocatable;
    cubin->member.bytes.assign(bytes.begin(), bytes.end());
    image.cubins.push_back(std::move(cubin->member));
    return image;
}

Result<Image> read_with_budget(Bytes bytes, std::uint64_t& budget) {
    switch (image_kind(bytes)) {
        case ImageKind::ptx_text:
            return text_image(bytes);
        case ImageKind::fatbinary:
            return read_container(bytes, budget);
        case ImageKind::cubin:
            return cubin_image(bytes);
        case ImageKind::unknown:
            break;
    }
    return error("EGPU-P101", "neither PTX text nor a fatbinary nor a cubin");
}

/// The containers of a section, one behind the other, with zeros between them.
Status read_section(std::vector<Image>& images, const ElfSection& section, bool relocatable, std::uint64_t& budget) {
    Bytes rest = section.data;
    while (!rest.empty()) {
        if (rest.front() == std::byte{0}) {
            rest = rest.subspan(1);
            continue;
        }
        auto image = read_container(rest, budget);
        if (!image)
            return image.errors();
        rest = rest.subspan(static_cast<std::size_t>(*container_bytes(rest)));
        image->relocatable = image->relocatable || relocatable;
        if (!image->ptx.empty() || !image->cubins.empty() || image->skipped != 0)
            images.push_back(std::move(*image));
    }
    return ok();
}

Result<std::vector<Image>> read_host_file(Bytes bytes) {
    const auto file = read_elf(bytes);
    if (!file)
        return file.errors();
    std::vector<Image> images;
    std::uint64_t budget = kMostDecompressedBytes;
    for (const ElfSection& section : file->sections) {
        const bool relocatable = section.name == "__nv_relfatbin";
        if (!relocatable && section.name != ".nv_fatbin")
            continue;
        if (auto read = read_section(images, section, relocatable, budget); !read)
            return read.errors();
    }
    return images;
}

}  // namespace

ImageKind image_kind(std::span<const std::byte> bytes) {
    if (is_container(bytes))
        return ImageKind::fatbinary;
    if (is_cubin(bytes))
        return ImageKind::cubin;
    return looks_like_ptx(as_text(bytes)) ? ImageKind::ptx_text : ImageKind::unknown;
}

Result<Image> read_image(std::span<const std::byte> bytes) {
    std::uint64_t budget = kMostDecompressedBytes;
    return read_with_budget(bytes, budget);
}

Result<std::vector<Image>> read_images(std::span<const std::byte> file) {
    if (is_elf(file) && !is_cubin(file))
        return read_host_file(file);
    auto image = read_image(file);
    if (!image)
        return image.errors();
    std::vector<Image> images;
    images.push_back(std::move(*image));
    return images;
}

Result<std::vector<Image>> read_images_of_file(const std::string& path) {
    const auto bytes = read_file(path);
    if (!bytes)
        return bytes.errors();
    auto images = read_images(*bytes);
    if (images)
        return images;
    std::vector<Diagnostic> errors = images.errors();
    for (Diagnostic& diagnostic : errors)
        diagnostic.where.file = path;
    return errors;
}

}  // namespace egpu::ptx

// SPDX-License-Identifier: Apache-2.0
// What an application hands to the driver: PTX text, a fatbinary (wrapper or container), a cubin; and what is in it.
// Layout: our own reading, described in container.cpp and cubin.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace egpu::ptx {

enum class ImageKind { ptx_text, fatbinary, cubin, unknown };
ImageKind image_kind(std::span<const std::byte> bytes);

/// A PTX member of a fatbinary, decompressed.
struct PtxMember {
    std::string text;
    std::uint32_t architecture = 0;  ///< 90
    char suffix = 0;                 ///< 'a', 'f' or 0
    std::string options;             ///< option record ("-lineinfo ..."), may be empty
};

/// A kernel that a cubin holds, with what its ELF says of it.
struct CubinKernel {
    std::string name;
    std::uint32_t registers = 0;            ///< 0: not recorded
    std::uint32_t static_shared_bytes = 0;  ///< without the 1,024 that the system takes from sm_90 on
    std::uint32_t parameter_bytes = 0;
    std::uint32_t stack_bytes = 0;         ///< per thread, with callees; UINT32_MAX: recursion; relocatable: 0
    std::array<std::uint32_t, 3> block{};  ///< .maxntid or .reqntid; 0: none
    bool block_is_required = false;        ///< .reqntid
};

/// A cubin (member).
struct CubinMember {
    std::vector<std::byte> bytes;    ///< decompressed ELF
    std::uint32_t architecture = 0;  ///< real architecture, 90
    char suffix = 0;
    std::uint32_t virtual_architecture =
        0;                     ///< from .note.nv.cuinfo: the PTX architecture it was compiled from; 0: not recorded
    std::string tool_version;  ///< .note.nv.tkinfo: "13.0"; empty if absent
    std::string tool_options;  ///< .note.nv.tkinfo: "-arch sm_90 -maxrregcount 32 ..."
    bool linked = false;       ///< nvlink made it of relocatable parts (-rdc)
    std::vector<CubinKernel> kernels;
};

struct Image {
    ImageKind kind = ImageKind::unknown;
    bool relocatable = false;  ///< -rdc: must be linked, wrapper version 2
    std::vector<PtxMember> ptx;
    std::vector<CubinMember> cubins;
    std::uint32_t skipped = 0;  ///< members of other kinds (LTO-IR)
};

/// Reads an image (PTX text, container bytes, cubin). Every offset is checked; bad input is an error:
/// EGPU-P101 no known image, P102 a damaged container, P103 a damaged ELF file or cubin, P104 a member that does not
/// decompress, P105 more decompressed bytes than any real image has. A container may be empty.
Result<Image> read_image(std::span<const std::byte> bytes);

/// The fatbinary containers in an executable, object or shared library (.nv_fatbin and __nv_relfatbin sections, empty
/// containers left out), or the file itself where it is a fatbinary, a cubin or PTX text. An ELF file without GPU code
/// gives none.
Result<std::vector<Image>> read_images_of_file(const std::string& path);
/// The same for the bytes of such a file.
Result<std::vector<Image>> read_images(std::span<const std::byte> file);

/// What the driver would run on a device of this architecture, by its own preference: the cubin of the same major
/// version with the highest minor not above; else the PTX with the highest architecture not above. Code for an 'a'
/// target runs on that architecture only, code for an 'f' target on its major version only.
struct Choice {
    const CubinMember* cubin = nullptr;
    /// The PTX that a copy would be made from, may stand beside a cubin: the one that the cubin was compiled from (by
    /// architecture, then by suffix) where the image has it, else the highest not above the device.
    const PtxMember* ptx = nullptr;
};
Choice choose(const Image& image, std::uint32_t architecture);

}  // namespace egpu::ptx

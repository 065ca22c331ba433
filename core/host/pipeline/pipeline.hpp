// SPDX-License-Identifier: Apache-2.0
// From the images that an application loads to instrumented copies, with a state and a reason for every kernel and
// every probe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "host/catalogue/catalogue.hpp"
#include "host/programs/programs.hpp"
#include "inject/codegen/table.hpp"
#include "maps/keys/keys.hpp"
#include "maps/layout/layout.hpp"
#include "ptx/fatbin/image.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::host {

/// Shards of per-SM maps are laid out before the device is known; fewer SMs leave some unused, more share some.
inline constexpr std::uint32_t kAssumedSmCount = 128;

struct Device {
    std::uint32_t compute_capability = 90;
    std::uint32_t sm_count = 0;
    bool simulated = true;
    std::string name;
};

/// Which kernels are looked at, from the command line: globs.
struct KernelSelection {
    std::vector<std::string> include, exclude;
    bool takes(const std::string& mangled) const;
};

/// A copy ready to be loaded.
struct CopyImage {
    std::uint32_t kernel_id = 0;
    std::string entry;  ///< mangled name
    std::vector<inject::TableEntry> table;
    std::vector<std::byte> image;  ///< cubin, or PTX with a closing NUL for the simulated GPU
};

struct ImageAnswer {
    std::vector<std::pair<std::uint32_t, std::string>> kernels;  ///< id, mangled name
    std::vector<CopyImage> copies;
};

/// One session's programs, maps, kernels and sites. Not thread-safe: used by one thread.
class Pipeline {
public:
    /// `assumed_sm_count` sizes the shards of per-SM maps before a device is known.
    Pipeline(std::vector<LoadedProbe> probes, KernelSelection selection, std::uint32_t assumed_sm_count);

    /// Every kernel of an image gets an id and a state; matched ones a copy. The same bytes again: the same answer.
    const ImageAnswer& add_image(std::span<const std::byte> bytes, const std::string& module, const Device& device);

    /// The answer to an image that was added before; nullptr where it wasn't.
    const ImageAnswer* known_image(const ContentHash& hash) const;
    /// The same for an image that was read from a file; nothing is remembered.
    ImageAnswer add_parsed_image(const ptx::Image& image, const std::string& module, const Device& device);

    /// The driver could not load a copy.
    void copy_failed(std::uint32_t kernel_id, const std::string& reason);
    /// The driver loaded it; registers as it says, 0 where it doesn't.
    void copy_loaded(std::uint32_t kernel_id, std::uint32_t original_registers, std::uint32_t copy_registers);
    /// Adds a warning to the session's diagnostics, the same text once.
    void note_once(const std::string& text);

    Catalogue& catalogue() { return catalogue_; }
    const Catalogue& catalogue() const { return catalogue_; }
    const std::vector<maps::Layout>& layouts() const { return layouts_; }
    const std::vector<maps::KeyTable>& keys() const { return keys_; }
    const std::vector<LoadedProbe>& probes() const { return probes_; }

private:
    struct RunningProgram {
        std::uint32_t probe = 0;    ///< index in catalogue().probes
        std::uint32_t loaded = 0;   ///< index in probes_
        std::uint32_t program = 0;  ///< index in the object
        std::uint32_t map_base = 0;
    };
    void add_maps_and_programs();
    void add_images_kernels(const ptx::Image& image, const std::string& module, const Device& device,
                            ImageAnswer& answer);
    void add_ptx_kernels(const ptx::Image& image, const ptx::Choice& choice, const std::string& module,
                         const Device& device, ImageAnswer& answer);
    Kernel& new_kernel(const std::string& mangled, const std::string& module, ImageAnswer& answer);
    void instrument(const ptx::Module& module, Kernel& kernel, const ptx::Choice& choice, const Device& device,
                    ImageAnswer& answer);
    bool finish_image(Kernel& kernel, const std::string& ptx, const ptx::Module& module, const Device& device,
                      std::vector<std::byte>& image);
    void add_diagnostic(const Diagnostic& diagnostic);

    std::vector<LoadedProbe> probes_;
    KernelSelection selection_;
    std::uint32_t assumed_sm_count_;
    Catalogue catalogue_;
    std::vector<RunningProgram> programs_;
    std::vector<maps::Layout> layouts_;
    std::vector<maps::KeyTable> keys_;
    std::map<ContentHash, ImageAnswer> answers_;
};

}  // namespace egpu::host

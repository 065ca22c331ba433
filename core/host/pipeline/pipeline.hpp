// SPDX-License-Identifier: Apache-2.0
// From the images that an application loads to instrumented copies, with a state and a reason for every kernel and
// every probe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "host/catalogue/catalogue.hpp"
#include "host/pipeline/assembler.hpp"
#include "host/pipeline/background.hpp"
#include "host/pipeline/copies.hpp"
#include "host/programs/programs.hpp"
#include "inject/codegen/table.hpp"
#include "maps/keys/keys.hpp"
#include "maps/layout/layout.hpp"
#include "ptx/fatbin/image.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::host {

struct Device {
    std::uint32_t compute_capability = 90;
    std::uint32_t sm_count = 0;
    bool simulated = true;
    std::string name;
    std::uint32_t driver_version = 0;  ///< 13000; 0: not known
};

/// JIT options of the call that loaded an image; they matter where the driver compiles its PTX.
struct LoadOptions {
    std::uint32_t max_registers = 0;         ///< 0: none
    std::uint32_t optimisation_level = ~0U;  ///< over 4: none
    auto operator<=>(const LoadOptions&) const = default;
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
    const ImageAnswer& add_image(std::span<const std::byte> bytes, const std::string& module, const Device& device,
                                 const LoadOptions& options = {});

    /// The answer to an image that was added before; nullptr where it wasn't.
    const ImageAnswer* known_image(const ContentHash& hash, const LoadOptions& options = {});
    /// The same for an image that was read from a file; nothing is remembered.
    ImageAnswer add_parsed_image(const ptx::Image& image, const std::string& module, const Device& device);

    /// The driver could not load a copy.
    void copy_failed(std::uint32_t kernel_id, const std::string& reason);
    /// The driver loaded it; registers as it says, 0 where it doesn't.
    void copy_loaded(std::uint32_t kernel_id, std::uint32_t original_registers, std::uint32_t copy_registers);
    /// Adds a warning to the session's diagnostics, the same text once.
    void note_once(const std::string& text);

    /// Figures of kernels without programs, and whether their PTX is proved to be their source, are found out in the
    /// background, after an answer was given. Takes over what is known by now; true where that was something.
    bool take_insights();
    /// Waits for all of it, at most so long, and takes it over; false where some was still missing.
    bool finish_insights(std::chrono::milliseconds limit);
    /// How copies were compiled: for a person who asks. "" where nothing was.
    std::string compile_report() const;

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
    /// An image under way: what its kernels have in common.
    struct ImageWork {
        ptx::Choice choice;
        std::string module_name;
        Device device;
        ImageBuild build;
        std::vector<std::string> dropped_options;
    };
    void add_images_kernels(const ptx::Image& image, const std::string& module, const Device& device,
                            const LoadOptions& options, ImageAnswer& answer);
    void add_ptx_kernels(const ptx::Image& image, ImageWork& work, const LoadOptions& options, ImageAnswer& answer);
    Kernel& new_kernel(const std::string& mangled, const std::string& module, ImageAnswer& answer);
    /// The first build of a kernel's copy; nullopt where it has none, with its state set.
    std::optional<CopyBuild> begin_copy(Kernel& kernel, const ptx::Function& function, const ImageWork& work);
    inject::CopyRequest copy_request(const Kernel& kernel, const ptx::Module& module);
    std::uint32_t site_id(const inject::SiteRecord& site);
    /// To machine code, unless the device is simulated; copies that failed are left out.
    void assemble(const ImageWork& work, std::vector<CopyBuild>& builds);
    void finish_copy(CopyBuild& build, const ImageWork& work, ImageAnswer& answer);
    void look_into(const ImageWork& work, const std::vector<CopyBuild>& builds, const ImageAnswer& answer);
    void add_diagnostic(const Diagnostic& diagnostic);

    std::vector<LoadedProbe> probes_;
    KernelSelection selection_;
    std::uint32_t assumed_sm_count_;
    Catalogue catalogue_;
    std::vector<RunningProgram> programs_;
    std::vector<maps::Layout> layouts_;
    std::vector<maps::KeyTable> keys_;
    std::map<ContentHash, ImageAnswer> answers_;
    std::map<ContentHash, LoadOptions> load_options_;  ///< of images that the driver compiles
    // Behind pointers, so that a pipeline can be moved. The assembler outlives the work that uses it.
    std::unique_ptr<Assembler> assembler_;
    std::unique_ptr<Background> background_;
};

}  // namespace egpu::host

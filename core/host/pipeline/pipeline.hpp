// SPDX-License-Identifier: Apache-2.0
// From the images that an application loads to instrumented copies, with a state and a reason for every kernel and
// every probe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/hash.hpp"
#include "host/catalogue/catalogue.hpp"
#include "host/programs/programs.hpp"
#include "inject/clone/clone.hpp"
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
    std::uint32_t copy_id = 0;  ///< in the catalogue, from 1
    std::string entry;          ///< mangled name
    std::vector<inject::TableEntry> table;
    std::vector<std::byte> image;  ///< cubin, or PTX with a closing NUL for the simulated GPU
};

struct ImageAnswer {
    std::vector<std::pair<std::uint32_t, std::string>> kernels;  ///< id, mangled name
    std::vector<CopyImage> copies;
};

/// What a change of the probes asks of the agent, and what it means.
struct ProbeChange {
    std::string probe;                     ///< its name in the session
    std::vector<std::uint32_t> copies;     ///< ids of copies that their kernels are to run from now on
    std::vector<std::uint32_t> originals;  ///< ids of kernels that are to run their originals
    std::vector<std::uint32_t> attached;   ///< kernels in which it now has a place
    std::vector<std::pair<std::uint32_t, std::string>> refused;  ///< kernel, why it does not run there
    enum class Maps { none, fresh, kept } maps = Maps::none;     ///< whether its maps go on with what they hold
};

/// Room for maps of a running session: their layouts, in the order given; they get the next indices.
using MapRoom = std::function<Result<std::vector<maps::Layout>>(const std::vector<Map>&)>;

/// One session's programs, maps, kernels and sites. Not thread-safe: used by one thread.
class Pipeline {
public:
    /// `assumed_sm_count` sizes the shards of per-SM maps before a device is known.
    Pipeline(std::vector<LoadedProbe> probes, KernelSelection selection, std::uint32_t assumed_sm_count);

    /// Every kernel of an image gets an id and a state; matched ones a copy. The same bytes again: the same answer.
    ImageAnswer add_image(std::span<const std::byte> bytes, const std::string& module, const Device& device);

    /// The answer to an image that was added before, with the copies of now; nullopt where it wasn't.
    std::optional<ImageAnswer> known_image(const ContentHash& hash) const;
    /// The same for an image that was read from a file; nothing is remembered.
    ImageAnswer add_parsed_image(const ptx::Image& image, const std::string& module, const Device& device);

    /// While the application runs (live.cpp). Refused with EGPU-A04x and without any change: a name that is taken or
    /// unknown (with "did you mean"), no program that the verifier accepts, no room for its maps.
    Result<ProbeChange> add_probe(LoadedProbe probe, const MapRoom& room, std::int64_t now_unix_ms);
    Result<ProbeChange> remove_probe(const std::string& name, std::int64_t now_unix_ms);
    /// `probe` takes the place of the probe `name`. Its maps go on with what they hold where they have the same shapes.
    Result<ProbeChange> replace_probe(const std::string& name, LoadedProbe probe, const MapRoom& room,
                                      std::int64_t now_unix_ms);
    /// A copy by its id.
    const CopyImage& copy(std::uint32_t copy_id) const { return built_.at(copy_id - 1).image; }
    /// The kernel waits for what it is to run until the agent says what became of it.
    void kernel_waits(std::uint32_t kernel_id) { catalogue_.kernels.at(kernel_id - 1).waiting = true; }

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
    std::uint32_t assumed_sm_count() const { return assumed_sm_count_; }

private:
    struct RunningProgram {
        std::uint32_t probe = 0;    ///< index in catalogue().probes
        std::uint32_t loaded = 0;   ///< index in probes_
        std::uint32_t program = 0;  ///< index in the object
        std::uint32_t map_base = 0;
        bool active = true;  ///< false: its probe was removed; it stays, and may come back
    };
    /// By index in programs_, ascending.
    using ProgramSet = std::vector<std::uint32_t>;
    /// A copy that was built: what stands in the catalogue while its kernel runs it.
    struct BuiltCopy {
        CopyImage image;
        std::uint32_t sites = 0, accumulators = 0;
        std::vector<inject::ProbeOutcome> outcomes;
        Registers registers;
    };
    /// PTX that kernels can be instrumented from, kept for probes that come later.
    struct Source {
        std::string text, module;
        Device device;
        std::vector<std::uint32_t> kernels;
    };
    void add_probe_entries(std::uint32_t loaded, std::uint32_t map_base);
    void add_maps(std::uint32_t loaded);
    ProgramSet programs_for(const Kernel& kernel) const;
    /// The id of a copy of the kernel with these programs, 0 where none of them has a place in it.
    Result<std::uint32_t> copy_with(const ptx::Module& module, const Kernel& kernel, const ProgramSet& programs,
                                    const Device& device);
    Result<std::uint32_t> build(const ptx::Module& module, const Kernel& kernel, const ProgramSet& programs,
                                const Device& device);
    std::uint32_t site_number(const inject::SiteRecord& site, std::map<std::string, std::uint32_t>& occurrences);
    void runs(Kernel& kernel, std::uint32_t copy_id);
    static void could_not_build(Kernel& kernel, const Diagnostic& why);
    ImageAnswer answer_of(const std::vector<std::pair<std::uint32_t, std::string>>& kernels) const;
    // live.cpp
    std::optional<std::uint32_t> attached_probe(const std::string& name) const;
    std::optional<std::uint32_t> latest_probe(const std::string& name) const;
    Result<std::uint32_t> take_in(LoadedProbe probe, const MapRoom& room, ProbeChange::Maps* maps);
    void set_active(std::uint32_t loaded, bool active, std::int64_t now_unix_ms);
    void set_aside(std::uint32_t loaded);
    void rebuild(const ProgramSet& added, ProbeChange& change);
    void rebuild_source(const Source& source, const ProgramSet& added, ProbeChange& change);
    void count_places();
    Diagnostic unknown_probe(const std::string& name) const;
    void add_images_kernels(const ptx::Image& image, const std::string& module, const Device& device,
                            ImageAnswer& answer);
    void add_ptx_kernels(const ptx::Image& image, const ptx::Choice& choice, const std::string& module,
                         const Device& device, ImageAnswer& answer);
    Kernel& new_kernel(const std::string& mangled, const std::string& module, ImageAnswer& answer);
    void instrument(const ptx::Module& module, Kernel& kernel, const Device& device, ImageAnswer& answer);
    Status finish_image(const Kernel& kernel, const std::string& ptx, const ptx::Module& module, const Device& device,
                        BuiltCopy& built);
    void add_diagnostic(const Diagnostic& diagnostic);

    std::vector<LoadedProbe> probes_;
    KernelSelection selection_;
    std::uint32_t assumed_sm_count_;
    Catalogue catalogue_;
    std::vector<RunningProgram> programs_;
    std::vector<maps::Layout> layouts_;
    std::vector<maps::KeyTable> keys_;
    std::vector<std::uint32_t> map_bases_;                                              ///< by index in probes_
    std::map<ContentHash, std::vector<std::pair<std::uint32_t, std::string>>> images_;  ///< ids and names of kernels
    std::vector<Source> sources_;
    std::vector<BuiltCopy> built_;                                                  ///< by copy id - 1
    std::map<std::pair<std::uint32_t, ProgramSet>, std::uint32_t> copy_of_set_;     ///< kernel and programs asked for
    std::map<std::pair<std::uint32_t, ProgramSet>, std::uint32_t> copy_of_places_;  ///< programs that have a place
    std::map<std::string, std::uint32_t> site_numbers_;
};

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
// From the images that an application loads to instrumented copies, with a state and a reason for every kernel and
// every probe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/hash.hpp"
#include "host/catalogue/catalogue.hpp"
#include "host/catalogue/selection.hpp"
#include "host/pipeline/assembler.hpp"
#include "host/pipeline/background.hpp"
#include "host/pipeline/constants.hpp"
#include "host/pipeline/copies.hpp"
#include "host/pipeline/proof.hpp"
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
    std::uint32_t driver_version = 0;  ///< 13000; 0: not known
    bool tensor_maps_known = false;    ///< the driver lays them out as copies read them
};

/// JIT options of the call that loaded an image; they matter where the driver compiles its PTX.
struct LoadOptions {
    std::uint32_t max_registers = 0;         ///< 0: none
    std::uint32_t optimisation_level = ~0U;  ///< over 4: none
    auto operator<=>(const LoadOptions&) const = default;
};

/// A copy ready to be loaded.
struct CopyImage {
    std::uint32_t kernel_id = 0;
    std::uint32_t copy_id = 0;  ///< in the catalogue, from 1
    std::string entry;          ///< mangled name
    std::vector<inject::TableEntry> table;
    std::vector<std::byte> image;  ///< cubin, or PTX with a closing NUL for the simulated GPU
    /// The same copy with constants in its own bank: which these are, its table and its image; empty where it has no
    /// such form.
    std::vector<inject::BankedConstant> bank;
    std::vector<inject::TableEntry> bank_table;
    std::vector<std::byte> bank_image;
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
    bool graphs_hold_former = false;  ///< why they do not: graphs may go on with the program before, and into its maps
};

/// Room for maps of a running session: their layouts, in the order given; they get the next indices.
using MapRoom = std::function<Result<std::vector<maps::Layout>>(const std::vector<Map>&)>;

/// One session's programs, maps, kernels and sites. Not thread-safe: used by one thread.
class Pipeline {
public:
    /// `assumed_sm_count` sizes the shards of per-SM maps before a device is known.
    Pipeline(std::vector<LoadedProbe> probes, KernelSelection selection, std::uint32_t assumed_sm_count);

    /// Every kernel of an image gets an id and a state; matched ones a copy. The same bytes again: the same answer.
    ImageAnswer add_image(std::span<const std::byte> bytes, const std::string& module, const Device& device,
                          const LoadOptions& options = {});

    /// Called inside add_image when an image's kernels have their ids, and before their copies are built, which may
    /// take longer than anybody waits.
    void when_named(std::function<void(const ImageAnswer&)> on_named) { on_named_ = std::move(on_named); }

    /// The answer to an image that was added before, with the copies of now; nullopt where it wasn't.
    std::optional<ImageAnswer> known_image(const ContentHash& hash, const LoadOptions& options = {});
    /// The same for an image that was read from a file; nothing is remembered.
    ImageAnswer add_parsed_image(const ptx::Image& image, const std::string& module, const Device& device);

    /// While the application runs (live.cpp). Refused with EGPU-A04x and without any change: a name that is taken or
    /// unknown (with "did you mean"), no program that the verifier accepts, no room for its maps.
    Result<ProbeChange> add_probe(LoadedProbe probe, const MapRoom& room, std::int64_t now_unix_ms);
    /// A probe that was removed, attached again as it was. EGPU-A041, EGPU-A042.
    Result<ProbeChange> restore_probe(const std::string& name, std::int64_t now_unix_ms);
    Result<ProbeChange> remove_probe(const std::string& name, std::int64_t now_unix_ms);
    /// `probe` takes the place of the probe `name`. Its maps go on with what they hold where they have the same shapes.
    Result<ProbeChange> replace_probe(const std::string& name, LoadedProbe probe, const MapRoom& room,
                                      std::int64_t now_unix_ms);
    /// Whether a copy stands in CUDA graphs that may still be launched; before this is set, none does.
    void look_into_graphs(std::function<bool(std::uint32_t copy_id)> holds) { graphs_hold_ = std::move(holds); }
    /// A copy by its id.
    const CopyImage& copy(std::uint32_t copy_id) const { return built_.at(copy_id - 1).image; }
    /// The kernel waits for what it is to run until the agent says what became of it.
    void kernel_waits(std::uint32_t kernel_id) { catalogue_.kernels.at(kernel_id - 1).waiting = true; }

    /// The driver could not load a copy.
    void copy_failed(std::uint32_t kernel_id, const std::string& reason);
    /// The driver loaded it; registers as it says, 0 where it doesn't.
    void copy_loaded(std::uint32_t kernel_id, std::uint32_t original_registers, std::uint32_t copy_registers);
    /// Its form with constants in its own bank could not be loaded, the other one was.
    void constants_by_address(std::uint32_t kernel_id, const std::string& reason);
    /// Adds a warning to the session's diagnostics, the same text once.
    void note_once(const std::string& text, const std::string& code = {});

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
    /// nullopt on the simulated GPU.
    struct BuiltFigures {
        std::optional<std::uint32_t> registers, spill_bytes, local_bytes;
    };
    /// A copy that was built: what stands in the catalogue while its kernel runs it.
    struct BuiltCopy {
        CopyImage image;
        std::uint32_t sites = 0, accumulators = 0;
        std::vector<inject::ProbeOutcome> outcomes;
        BuiltFigures figures;     ///< of the form with a bank where there is one: what a plain launch runs
        BuiltFigures by_address;  ///< of the other
        std::vector<std::string> notes;
    };
    /// PTX that kernels can be instrumented from, kept for probes that come later.
    struct Source {
        std::string text, module_name;
        Device device;
        ImageBuild build;  ///< its module is there only while copies are built
        std::vector<std::string> dropped_options;
        std::vector<std::uint32_t> kernels;                              ///< that may be instrumented
        std::vector<std::pair<std::uint32_t, std::string>> all_kernels;  ///< id, mangled name
        std::map<std::uint32_t, CodeFigures> originals;  ///< by kernel id; none where the driver compiles the PTX
        std::optional<RunningCode> code;                 ///< nullopt: the driver compiles the PTX
        bool proof_asked = false;
        std::set<std::uint32_t> reassembly_asked;  ///< kernel ids
    };
    /// A copy that a kernel should have, and what that comes to.
    struct Wish {
        std::uint32_t kernel_id = 0;
        ProgramSet programs;
        Result<std::uint32_t> copy = 0U;  ///< its id, 0 where none of the programs has a place in the kernel
        ProgramSet places;                ///< of a copy under way: programs that have one
        std::vector<std::string> notes;   ///< of a copy that could not be built
    };
    void add_probe_entries(std::uint32_t loaded, std::uint32_t map_base);
    void add_maps(std::uint32_t loaded);
    ImageAnswer answer_of(const std::vector<std::pair<std::uint32_t, std::string>>& kernels) const;
    void add_images_kernels(const ptx::Image& image, const std::string& module, const Device& device,
                            const LoadOptions& options, ImageAnswer& answer);
    /// nullopt where none of them may be instrumented.
    std::optional<Source> add_ptx_kernels(const ptx::Image& image, const ptx::Choice& choice, const std::string& module,
                                          const Device& device, const LoadOptions& options, ImageAnswer& answer);
    void instrument(Source& source, ImageAnswer& answer);
    Kernel& new_kernel(const std::string& mangled, const std::string& module, ImageAnswer& answer);
    void runs(Kernel& kernel, std::uint32_t copy_id);
    static void could_not_build(Kernel& kernel, const Wish& wish);
    void count_places_of(const Kernel& kernel);
    void add_diagnostic(const Diagnostic& diagnostic);
    // instrument.cpp
    ProgramSet programs_for(const Kernel& kernel) const;
    /// Grants wishes for kernels of a source: copies that are there, or new ones, built side by side.
    void find_copies(Source& source, std::vector<Wish>& wishes);
    /// The first build of a copy; nullopt where there is none to assemble, and the wish says what it comes to.
    std::optional<CopyBuild> begin_copy(Source& source, Wish& wish);
    inject::CopyRequest copy_request(const Kernel& kernel, const ptx::Module& module, const ProgramSet& programs);
    std::uint32_t site_number(const inject::SiteRecord& site, std::map<std::string, std::uint32_t>& occurrences);
    /// To machine code, unless the device is simulated.
    void assemble(const Source& source, std::vector<CopyBuild>& builds);
    static BuiltFigures figures_of(const Attempt& attempt);
    static void show(Kernel& kernel, const BuiltFigures& figures);
    void finish_copy(const Source& source, CopyBuild& build, Wish& wish);
    void look_into(Source& source, const std::vector<CopyBuild>& builds);
    // live.cpp
    std::optional<std::uint32_t> attached_probe(const std::string& name) const;
    std::optional<std::uint32_t> latest_probe(const std::string& name) const;
    Result<std::uint32_t> take_in(LoadedProbe probe, const MapRoom& room, ProbeChange& change);
    bool stands_in_graphs(const std::string& name) const;
    void set_active(std::uint32_t loaded, bool active, std::int64_t now_unix_ms);
    void set_aside(std::uint32_t loaded);
    void rebuild(const ProgramSet& added, ProbeChange& change);
    void rebuild_source(Source& source, const ProgramSet& added, ProbeChange& change);
    void apply(const Wish& wish, const Wish& granted, ProbeChange& change);
    void count_places();
    Diagnostic unknown_probe(const std::string& name) const;

    std::vector<LoadedProbe> probes_;
    KernelSelection selection_;
    ConstantForm constant_form_ = constant_form();
    std::uint32_t assumed_sm_count_;
    Catalogue catalogue_;
    std::vector<RunningProgram> programs_;
    std::vector<maps::Layout> layouts_;
    std::vector<maps::KeyTable> keys_;
    std::vector<std::uint32_t> map_bases_;                                              ///< by index in probes_
    std::map<ContentHash, std::vector<std::pair<std::uint32_t, std::string>>> images_;  ///< ids and names of kernels
    std::map<ContentHash, LoadOptions> load_options_;                                   ///< where the driver compiles
    std::vector<Source> sources_;
    std::vector<BuiltCopy> built_;                                                  ///< by copy id - 1
    std::map<std::pair<std::uint32_t, ProgramSet>, std::uint32_t> copy_of_set_;     ///< kernel and programs asked for
    std::map<std::pair<std::uint32_t, ProgramSet>, std::uint32_t> copy_of_places_;  ///< programs that have a place
    /// By kernel and probe without a place in it: what it would have counted and can't.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Diagnostic>> unplaced_;
    std::map<std::string, std::uint32_t> site_numbers_;
    std::function<bool(std::uint32_t)> graphs_hold_;
    std::function<void(const ImageAnswer&)> on_named_;
    // Behind pointers, so that a pipeline can be moved. The assembler outlives the work that uses it.
    std::unique_ptr<Assembler> assembler_;
    std::unique_ptr<Background> background_;
};

}  // namespace egpu::host

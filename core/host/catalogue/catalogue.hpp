// SPDX-License-Identifier: Apache-2.0
// What a session knows by name: kernels and probes with their states, sites, maps with their shapes. The egpu process
// publishes it in the segment as JSON; every reader (map dump, probe list, summary, window) starts from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/sampling.hpp"
#include "ebpf/object/object.hpp"
#include "host/catalogue/residency.hpp"
#include "host/catalogue/selection.hpp"

namespace egpu::host {

/// Every kernel ends a session in one of these, with a reason unless instrumented.
enum class KernelState { instrumented, not_matched, no_ptx, refused, failed };
/// Every probe ends a session in one of these.
enum class ProbeState { attached, matched_nothing, refused, failed, detached };

const char* to_name(KernelState state);  ///< as in the summary: "not_matched"
const char* to_name(ProbeState state);
const char* to_words(KernelState state);  ///< as in tables: "not matched", "no PTX"
const char* to_words(ProbeState state);

/// Of the original, of its PTX compiled again without programs, and of the instrumented copy.
struct Figures {
    std::optional<std::uint32_t> original, reassembled, instrumented;
};

/// Is the PTX the source of the code that runs? Proved: the same compiler gave the same code from it.
enum class Proof { unknown, proved, differs };
const char* to_name(Proof proof);

struct Kernel {
    std::uint32_t id = 0;  ///< from 1; index in the segment's counters + 1
    std::string mangled;
    std::string signature;  ///< demangled
    std::string name;       ///< short
    std::string module;     ///< file name of the object that holds it
    std::uint32_t device = 0;
    KernelState state = KernelState::not_matched;
    std::string reason;  ///< why not; "" for instrumented
    std::string fix;     ///< what to do about it; may be ""
    std::string source;  ///< where its PTX comes from: "PTX"
    std::uint32_t sites = 0;
    std::uint32_t accumulators = 0;
    std::uint32_t copy = 0;  ///< id of the copy that its launches are to run; 0: the original
    bool waiting = false;    ///< for the agent, or a quiet moment, to put that in place: what ran before goes on
    Figures registers;       ///< a thread
    Figures spill_bytes;     ///< spill stores and loads; an original has none recorded: n/a unless proved
    Figures local_bytes;     ///< local memory of a thread
    std::uint32_t architecture = 0;  ///< that the copy was compiled for: 90; 0: none
    BlockBounds bounds;
    Proof proof = Proof::unknown;
    std::string proof_reason;        ///< why it is not proved; "" where it is, or nobody looked yet
    std::vector<std::string> notes;  ///< how the copy differs from a first build: "registers capped at 64"

    /// Warps an SM holds, as far as registers decide it.
    Figures resident_warps() const;
};

/// An instrumented copy of a kernel: each set of probes gives one, which stays. Its index is its id - 1, and that of
/// its counter in the segment.
struct Copy {
    std::uint32_t kernel_id = 0;
    std::vector<std::uint32_t> probes;  ///< indices in Catalogue::probes of those that run in it
};

/// A map that a program uses, and what it may write of a value.
struct MapUse {
    std::uint32_t map = 0;                                         ///< index in Catalogue::maps
    std::vector<std::pair<std::uint32_t, std::uint32_t>> written;  ///< bytes: first, end; of a refused one not known
    bool writes(const ebpf::TypeField& field) const;
};

struct Probe {
    std::string probe;                        ///< "bandwidth"
    std::string program;                      ///< "count_traffic"
    std::string section;                      ///< "gpu/mem"
    std::vector<KernelSelection> selections;  ///< of its set and its own: all of them take a kernel that it may run in
    ProbeState state = ProbeState::matched_nothing;
    std::string reason;
    std::uint32_t sites = 0;
    std::uint32_t kernels = 0;
    std::vector<std::string> notes;      ///< "2 tensor copies: unknown size"
    std::vector<std::uint32_t> in_part;  ///< ids of kernels in which it counts a part of what it asks for: see notes
    std::int64_t attached_unix_ms = 0;   ///< when it was added to the running session, last; 0: there from the start
    std::int64_t detached_unix_ms = 0;   ///< when it was removed; 0: it was not
    /// Maps that the program names, a refused one's too; nullopt in a recording of an older build.
    std::optional<std::vector<MapUse>> maps;
    Sampling sampling;  ///< which blocks or warps run it: what it counts is of these only, never scaled up
};

struct Site {
    std::uint32_t id = 0;
    std::uint32_t kernel_id = 0;
    std::string file;  ///< as the compiler recorded it; "" without line information
    std::uint32_t line = 0;
    std::string opcode;
    std::string function;
    /// "gather.cu:14": without folders; "" without line information.
    std::string place() const;
};

/// A map of the session; its index is that of the segment's entries.
struct Map {
    std::string name;  ///< "bandwidth/traffic"
    ebpf::MapDefinition definition;
};

/// What a plugin's code found out, at its last call.
struct ReportedFinding {
    std::string plugin;  ///< its id
    std::string id;      ///< "small-grid"
    Severity severity = Severity::hint;
    std::uint32_t kernel_id = 0;  ///< 0: of no kernel
    std::uint32_t site_id = 0;    ///< 0: of no place
    std::string text;
    bool operator==(const ReportedFinding&) const = default;
};

struct Catalogue {
    std::uint32_t session = 0;
    std::string egpu_version;
    std::vector<std::string> command;
    std::vector<std::string> probe_names;  ///< "bandwidth", "hello"
    std::vector<std::string> probe_sets;   ///< as asked for: names of sets, and of probes that no set brought
    std::int64_t started_unix_ms = 0;
    std::vector<Kernel> kernels;  ///< by id - 1
    std::vector<Probe> probes;
    std::vector<Site> sites;   ///< by id - 1
    std::vector<Copy> copies;  ///< by id - 1
    std::vector<Map> maps;
    std::vector<ReportedFinding> findings;  ///< of plugins; those of egpu's own rules are made by who reads
    std::uint32_t sample_launches = 1;      ///< one launch in so many of each kernel runs its copy
    Sampling sampling;                      ///< --sample blocks=1/N, warps=1/N: of probes that are added, too
    std::uint64_t launch_skip = 0;          ///< not the first so many,
    std::uint64_t launch_count = 0;         ///< only the so many after them; 0: all
    bool measure_overhead = false;          ///< asked for: on a device that knows time, launches alternate
    std::uint32_t changes = 0;              ///< times that probes were added, removed or replaced while it ran
    std::int64_t stopped_unix_ms = 0;       ///< when egpu session stop took all probes off; 0: it did not
    std::vector<std::string> diagnostics;   ///< what was said to the user, in text form

    const Kernel* kernel(std::uint64_t id) const {
        return id >= 1 && id <= kernels.size() ? &kernels[id - 1] : nullptr;
    }
    /// Of the programs of a probe, by its name.
    Sampling sampling_of(std::string_view probe) const;
    const Site* site(std::uint64_t id) const { return id >= 1 && id <= sites.size() ? &sites[id - 1] : nullptr; }
};

std::string to_json(const Catalogue& catalogue);
/// EGPU-M010 where the text isn't a catalogue (a damaged segment).
Result<Catalogue> catalogue_from_json(std::string_view text);

}  // namespace egpu::host

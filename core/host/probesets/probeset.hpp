// SPDX-License-Identifier: Apache-2.0
// A probe set (TARGETS E5) as it stands in its files: every value with its place. What it names is looked up later
// (resolve.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/quantities.hpp"
#include "base/sampling.hpp"
#include "host/probesets/place.hpp"

namespace egpu::host {

/// Kernels of one level (a set's, a probe's): patterns, each a glob or "regex:...".
struct KernelPatterns {
    std::vector<Text> include, exclude;
};

/// Which launches of each kernel run its copy: those from number `skip` (from 0), at most `count`.
struct LaunchWindow {
    std::uint64_t skip = 0;
    std::optional<std::uint64_t> count;
    bool operator==(const LaunchWindow&) const = default;
};

struct ProbeEntry {
    enum class Kind { plugin, object, source, code } kind = Kind::plugin;
    Text what;            ///< a plugin's name, a file relative to the set's, or source text
    Place place;          ///< of the whole entry
    bool broken = false;  ///< a problem of it was said
    std::optional<Text> name, version;
    std::optional<std::vector<Text>> programs;  ///< nullopt: all
    std::vector<std::pair<Text, Text>> options;
    KernelPatterns kernels;
    std::optional<Placed<std::uint32_t>> sample_launches;  ///< one in so many
    std::optional<Placed<Sampling>> sampling;              ///< of blocks or warps
};

struct MapEntry {
    Text name;  ///< "PROBE/MAP"
    std::optional<Placed<std::uint32_t>> max_entries;
    bool broken = false;  ///< a problem of it was said
};

enum class Bound { at_least, at_most, equals };
const char* to_name(Bound bound);   ///< "at_least"
const char* to_words(Bound bound);  ///< "at least"

struct Expectation {
    Text metric;                               ///< "bandwidth.requested_bytes", "session.launches"
    std::vector<std::pair<Text, Text>> where;  ///< labels that a value must have; a kernel's is a pattern
    Bound bound = Bound::at_least;
    Placed<Quantity> value;  ///< in the base unit of `dimension`
    Dimension dimension = Dimension::number;
    std::string set;      ///< the set that says so
    bool broken = false;  ///< a problem of it was said
};

struct ProbeSet {
    std::string name, description;
    std::string file;
    std::vector<KernelPatterns> kernels;  ///< each narrows the others
    std::optional<Placed<LaunchWindow>> launches;
    std::vector<ProbeEntry> probes;
    std::vector<MapEntry> maps;
    std::optional<Placed<std::uint64_t>> wait_ns, gpu_memory_bytes;
    std::optional<Placed<bool>> strict;
    std::optional<Text> summary, record;
    std::vector<Expectation> expectations;
};

}  // namespace egpu::host

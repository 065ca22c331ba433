// SPDX-License-Identifier: Apache-2.0
// THE table of a probe set's keys (TARGETS E5): the loader refuses what is not in it, the JSON Schema and the chapter
// are made from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace egpu::host {

struct Key {
    std::string_view name;
    std::string_view schema;   ///< of its value, JSON Schema
    std::string_view help;     ///< one sentence
    std::string_view option;   ///< of egpu run; "" where there is none
    std::string_view missing;  ///< why no value of it is taken in this version; "" where it works
};

/// The keys of one kind of map.
struct KeyGroup {
    std::string_view id;    ///< "probe": its name in the schema
    std::string_view what;  ///< "A probe": as errors call it
    std::span<const Key> keys;
    std::vector<std::string_view> required;

    const Key* find(std::string_view name) const;
    std::vector<std::string> names() const;  ///< sorted; without those that this version has not
};

const KeyGroup& set_keys();
const KeyGroup& kernels_keys();
const KeyGroup& launches_keys();
const KeyGroup& probe_keys();
const KeyGroup& sample_keys();
const KeyGroup& map_keys();
const KeyGroup& output_keys();
const KeyGroup& expectation_keys();
std::vector<const KeyGroup*> all_key_groups();

}  // namespace egpu::host

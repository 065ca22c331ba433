// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/schema.hpp"

#include <nlohmann/json.hpp>

#include "host/probesets/keys.hpp"

namespace egpu::host {
namespace {

using nlohmann::ordered_json;

/// Keys that this version refuses are left out: an editor marks them as unknown, egpu says why.
ordered_json schema_of(const KeyGroup& group) {
    ordered_json schema = {{"type", "object"}, {"additionalProperties", false}};
    for (const auto& key : group.keys) {
        if (!key.missing.empty())
            continue;
        ordered_json value = ordered_json::parse(key.schema);
        value["description"] = key.help;
        schema["properties"][std::string(key.name)] = std::move(value);
    }
    for (const auto required : group.required)
        schema["required"].push_back(required);
    return schema;
}

ordered_json one_of(std::initializer_list<const char*> keys) {
    ordered_json choices = ordered_json::array();
    for (const char* key : keys)
        choices.push_back({{"required", {key}}});
    return choices;
}

}  // namespace

std::string probe_set_schema() {
    ordered_json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                           {"title", "egpu probe set"},
                           {"description", "Questions to a GPU program, kept as YAML (configs/README.md)."}};
    const ordered_json set = schema_of(set_keys());
    for (const auto& [key, value] : set.items())
        schema[key] = value;
    schema["anyOf"] = one_of({"probes", "include"});
    for (const auto* group : all_key_groups())
        if (group != &set_keys())
            schema["$defs"][std::string(group->id)] = schema_of(*group);
    schema["$defs"]["probe"]["oneOf"] = one_of({"plugin", "object", "source", "code"});
    schema["$defs"]["expectation"]["oneOf"] = one_of({"at_least", "at_most", "equals"});
    return schema.dump(2) + "\n";
}

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/keys.hpp"

#include <algorithm>

namespace egpu::host {
namespace {

// Values of many keys, as JSON Schema says them.
constexpr std::string_view kText = R"({"type": "string", "minLength": 1})";
constexpr std::string_view kTexts = R"({"type": "array", "items": {"type": "string", "minLength": 1}})";
constexpr std::string_view kKernels =
    R"({"anyOf": [{"$ref": "#/$defs/kernels"}, {"type": "array", "items": {"type": "string", "minLength": 1}}]})";
constexpr std::string_view kWhole = R"({"type": "integer", "minimum": 0})";
constexpr std::string_view kDuration = R"({"type": "string", "pattern": "^[0-9.]+ *(ns|us|ms|s|min)$"})";
constexpr std::string_view kMemory = R"({"type": "string", "pattern": "^[0-9.]+ *([kMGTP]?B|[KMGT]iB)$"})";
constexpr std::string_view kShare = R"({"type": "string", "pattern": "^1/[1-9][0-9]*$"})";
constexpr std::string_view kBound = R"({"type": ["string", "number"]})";

constexpr Key kSetKeys[] = {
    {"egpu", R"({"const": 1})", "Version of this format.", "", ""},
    {"name", R"({"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]*$"})", "The set's name: that of its file.", "", ""},
    {"description", kText, "What the set answers, in a sentence.", "", ""},
    {"include", kTexts, "Sets, by name or file, that are read first; the rest of this file is laid over them.", "", ""},
    {"kernels", kKernels, "Which kernels; all where it is left out.", "--kernel", ""},
    {"devices", kTexts, "Which devices.", "--devices", "this version observes the devices that the application uses"},
    {"processes", R"({"enum": ["first"]})", "Which processes of the application: first, the one that uses CUDA first.",
     "--processes", ""},
    {"launches", R"({"$ref": "#/$defs/launches"})", "Which launches of each kernel run its copy.", "--launch-skip", ""},
    {"ranges", kTexts, "Only inside these NVTX ranges.", "--range", "this version does not see NVTX ranges"},
    {"probes", R"({"type": "array", "items": {"$ref": "#/$defs/probe"}})", "What runs in the kernels.", "--probe", ""},
    {"maps", R"({"type": "object", "additionalProperties": {"$ref": "#/$defs/map"}})", "Sizes of maps, by PROBE/MAP.",
     "", ""},
    {"backend", R"({"type": "array", "items": {"enum": ["ptx"]}})", "How kernels are instrumented.", "--backend", ""},
    {"sources", kTexts, "Sources beside probes.", "--sources",
     "this version has no cupti-activity, pm-sampling or nvml"},
    {"wait", kDuration, "The longest that a module load waits for its instrumented copies.", "--wait", ""},
    {"gpu_memory", kMemory, "What egpu may allocate on each device.", "--gpu-memory", ""},
    {"strict", R"({"type": "boolean"})",
     "Whether a probe that ran nowhere, or a missed launch, makes egpu exit with 125.", "--strict", ""},
    {"allow", kTexts, "Lifts a rule of safety.", "--allow-spills",
     "this version never spills more nor keeps fewer blocks resident than the original"},
    {"ptx_path", kText, "A folder with PTX of kernels that carry none.", "--ptx-path",
     "this version takes PTX from the application's own images"},
    {"output", R"({"$ref": "#/$defs/output"})", "Files that a run writes.", "", ""},
    {"expect", R"({"type": "array", "items": {"$ref": "#/$defs/expectation"}})",
     "Checked at the end; one that fails makes egpu exit with 3 where the application returned 0.", "--no-expect", ""},
};

constexpr Key kKernelsKeys[] = {
    {"include", kTexts, "Globs, or regex:PATTERN, on a kernel's name; a match on any counts.", "--kernel", ""},
    {"exclude", kTexts, "Patterns of kernels that are left out.", "--exclude-kernel", ""},
};

constexpr Key kLaunchesKeys[] = {
    {"skip", kWhole, "So many launches of each kernel run the original first.", "--launch-skip", ""},
    {"count", R"({"type": "integer", "minimum": 1})", "So many run the copy then; all where it is left out.",
     "--launch-count", ""},
};

constexpr Key kProbeKeys[] = {
    {"plugin", kText, "A plugin or installed program, by name.", "", ""},
    {"object", kText, "A .bpf.o file, from the folder of the set's file on.", "", ""},
    {"source", kText, "A .bpf.c file, from the folder of the set's file on.", "", ""},
    {"code", kText, "The program itself; egpu's header is included for it.", "", ""},
    {"name", R"({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$"})",
     "What the probe is called: its maps, its metrics.", "", ""},
    {"version", kText, "The plugin's version: \">=0.1, <1\".", "", ""},
    {"programs", kTexts, "Which programs of the object; all where it is left out.", "", ""},
    {"options", R"({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})",
     "Values of the object's options.", "", ""},
    {"kernels", kKernels, "Narrows the set's own kernels.", "", ""},
    {"sample", R"({"$ref": "#/$defs/sample"})",
     "Which launches, and which blocks or warps of them, run the probe; all where it is left out.", "--sample", ""},
};

constexpr Key kSampleKeys[] = {
    {"launches", kShare, "One launch in N of each kernel: the first, and every N-th after it.", "--sample", ""},
    {"blocks", kShare, "One thread block in N; the others run without the probe.", "--sample", ""},
    {"warps", kShare, "One warp in N; the others run without the probe.", "--sample", ""},
};

constexpr Key kMapKeys[] = {
    {"max_entries", R"({"type": "integer", "minimum": 1, "maximum": 4294967295})", "How many keys the map holds.", "",
     ""},
    {"placement", R"({"enum": ["device"]})", "Where the map lives: device, the GPU's own memory.", "", ""},
    {"drain", kText, "How often it is copied from the GPU.", "", "this version copies every map 20 times a second"},
};

constexpr Key kOutputKeys[] = {
    {"summary", kText, "A JSON summary; %p pid, %h host, %n set, %q{VAR} environment.", "--summary", ""},
    {"record", kText, "A recording of the session.", "--record", ""},
};

constexpr Key kExpectationKeys[] = {
    {"metric", kText, "As the summary names it: PROBE.FIELD, or session.launches and the like.", "", ""},
    {"where", R"({"type": "object", "additionalProperties": {"type": ["string", "number"]}})",
     "Labels that a value must have: kernel (a pattern), space, access, line, ...", "", ""},
    {"at_least", kBound, "The least that the sum may be.", "", ""},
    {"at_most", kBound, "The most that the sum may be.", "", ""},
    {"equals", kBound, "What the sum must be.", "", ""},
};

}  // namespace

const Key* KeyGroup::find(std::string_view name) const {
    const auto found = std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.name == name; });
    return found != keys.end() ? &*found : nullptr;
}

std::vector<std::string> KeyGroup::names() const {
    std::vector<std::string> all;
    for (const auto& key : keys)
        if (key.missing.empty())
            all.emplace_back(key.name);
    std::sort(all.begin(), all.end());
    return all;
}

const KeyGroup& set_keys() {
    static const KeyGroup group{"set", "A probe set", kSetKeys, {"egpu", "name"}};
    return group;
}
const KeyGroup& kernels_keys() {
    static const KeyGroup group{"kernels", "A selection of kernels", kKernelsKeys, {}};
    return group;
}
const KeyGroup& launches_keys() {
    static const KeyGroup group{"launches", "A selection of launches", kLaunchesKeys, {}};
    return group;
}
const KeyGroup& probe_keys() {
    static const KeyGroup group{"probe", "A probe", kProbeKeys, {}};
    return group;
}
const KeyGroup& sample_keys() {
    static const KeyGroup group{"sample", "A sample", kSampleKeys, {}};
    return group;
}
const KeyGroup& map_keys() {
    static const KeyGroup group{"map", "A map", kMapKeys, {}};
    return group;
}
const KeyGroup& output_keys() {
    static const KeyGroup group{"output", "Output", kOutputKeys, {}};
    return group;
}
const KeyGroup& expectation_keys() {
    static const KeyGroup group{"expectation", "An expectation", kExpectationKeys, {"metric"}};
    return group;
}

std::vector<const KeyGroup*> all_key_groups() {
    return {&set_keys(),    &kernels_keys(), &launches_keys(), &probe_keys(),
            &sample_keys(), &map_keys(),     &output_keys(),   &expectation_keys()};
}

}  // namespace egpu::host

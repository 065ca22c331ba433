// SPDX-License-Identifier: Apache-2.0
#include "host/catalogue/catalogue.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace egpu::host {
namespace {

using nlohmann::json;

template <typename Enum, std::size_t N>
Enum named(const std::array<const char*, N>& names, const std::string& name) {
    for (std::size_t i = 0; i < N; ++i)
        if (name == names[i])
            return static_cast<Enum>(i);
    throw std::invalid_argument("unknown name " + name);
}

constexpr std::array kKernelStates = {"instrumented", "not_matched", "no_ptx", "refused", "failed"};
constexpr std::array kKernelWords = {"instrumented", "not matched", "no PTX", "refused", "failed"};
constexpr std::array kProofs = {"unknown", "proved", "differs"};
constexpr std::array kProbeStates = {"attached", "matched_nothing", "refused", "failed", "detached"};
constexpr std::array kProbeWords = {"attached", "matched nothing", "refused", "failed", "detached"};

json shape_to_json(const ebpf::TypeShape& shape) {
    json fields = json::array();
    for (const auto& field : shape.fields) {
        json enumerators = json::array();
        for (const auto& [value, name] : field.enumerators)
            enumerators.push_back({value, name});
        fields.push_back({{"name", field.name},
                          {"offset", field.offset},
                          {"bytes", field.bytes},
                          {"elements", field.elements},
                          {"signed", field.is_signed},
                          {"role", static_cast<int>(field.role)},
                          {"enumerators", enumerators},
                          {"histogram", field.histogram}});
    }
    return {{"name", shape.name}, {"bytes", shape.bytes}, {"fields", fields}};
}

ebpf::TypeShape shape_from_json(const json& value) {
    ebpf::TypeShape shape{.name = value.at("name"), .bytes = value.at("bytes"), .fields = {}};
    for (const auto& entry : value.at("fields")) {
        ebpf::TypeField field;
        field.name = entry.at("name");
        field.offset = entry.at("offset");
        field.bytes = entry.at("bytes");
        field.elements = entry.at("elements");
        field.is_signed = entry.at("signed");
        field.role = static_cast<ebpf::Role>(entry.at("role").get<int>());
        field.histogram = entry.at("histogram");
        for (const auto& enumerator : entry.at("enumerators"))
            field.enumerators.emplace_back(enumerator.at(0), enumerator.at(1));
        // Whoever reads a value by this shape must stay inside it, whatever the text says.
        const bool known_size = field.bytes == 1 || field.bytes == 2 || field.bytes == 4 || field.bytes == 8;
        if (!known_size || std::uint64_t{field.offset} + std::uint64_t{field.bytes} * field.elements > shape.bytes)
            throw std::invalid_argument("field outside its type");
        shape.fields.push_back(std::move(field));
    }
    return shape;
}

json optional_to_json(const std::optional<std::uint32_t>& value) {
    return value ? json(*value) : json(nullptr);
}

std::optional<std::uint32_t> optional_from_json(const json& value) {
    return value.is_null() ? std::nullopt : std::optional<std::uint32_t>(value.get<std::uint32_t>());
}

json figures_to_json(const Figures& figures) {
    return {optional_to_json(figures.original), optional_to_json(figures.reassembled),
            optional_to_json(figures.instrumented)};
}

Figures figures_from_json(const json& value) {
    return {optional_from_json(value.at(0)), optional_from_json(value.at(1)), optional_from_json(value.at(2))};
}

json kernel_to_json(const Kernel& kernel) {
    return {{"id", kernel.id},
            {"mangled", kernel.mangled},
            {"signature", kernel.signature},
            {"name", kernel.name},
            {"module", kernel.module},
            {"device", kernel.device},
            {"state", to_name(kernel.state)},
            {"reason", kernel.reason},
            {"fix", kernel.fix},
            {"source", kernel.source},
            {"sites", kernel.sites},
            {"accumulators", kernel.accumulators},
            {"copy", kernel.copy},
            {"waiting", kernel.waiting},
            {"registers", figures_to_json(kernel.registers)},
            {"spill_bytes", figures_to_json(kernel.spill_bytes)},
            {"local_bytes", figures_to_json(kernel.local_bytes)},
            {"architecture", kernel.architecture},
            {"most_threads", kernel.bounds.most_threads},
            {"threads_required", kernel.bounds.required},
            {"proof", to_name(kernel.proof)},
            {"proof_reason", kernel.proof_reason},
            {"notes", kernel.notes}};
}

Kernel kernel_from_json(const json& value) {
    Kernel kernel;
    kernel.id = value.at("id");
    kernel.mangled = value.at("mangled");
    kernel.signature = value.at("signature");
    kernel.name = value.at("name");
    kernel.module = value.at("module");
    kernel.device = value.at("device");
    kernel.state = named<KernelState>(kKernelStates, value.at("state"));
    kernel.reason = value.at("reason");
    kernel.fix = value.at("fix");
    kernel.source = value.at("source");
    kernel.sites = value.at("sites");
    kernel.accumulators = value.at("accumulators");
    kernel.copy = value.at("copy");
    kernel.waiting = value.at("waiting");
    kernel.registers = figures_from_json(value.at("registers"));
    kernel.spill_bytes = figures_from_json(value.at("spill_bytes"));
    kernel.local_bytes = figures_from_json(value.at("local_bytes"));
    kernel.architecture = value.at("architecture");
    kernel.bounds = {value.at("most_threads"), value.at("threads_required")};
    kernel.proof = named<Proof>(kProofs, value.at("proof"));
    kernel.proof_reason = value.at("proof_reason");
    kernel.notes = value.at("notes").get<std::vector<std::string>>();
    return kernel;
}

json map_to_json(const Map& map) {
    const auto& definition = map.definition;
    json formats = json::array();
    for (const auto& [place, text] : definition.formats)
        formats.push_back({place, text});
    return {{"name", map.name},
            {"map", definition.name},
            {"type", static_cast<std::uint32_t>(definition.type)},
            {"key_bytes", definition.key_bytes},
            {"value_bytes", definition.value_bytes},
            {"max_entries", definition.max_entries},
            {"keys_at_run_time", definition.keys_at_run_time},
            {"key", shape_to_json(definition.key)},
            {"value", shape_to_json(definition.value)},
            {"record", shape_to_json(definition.record)},
            {"formats", formats}};
}

Map map_from_json(const json& value) {
    Map map;
    map.name = value.at("name");
    auto& definition = map.definition;
    definition.name = value.at("map");
    definition.type = static_cast<ebpf::MapType>(value.at("type").get<std::uint32_t>());
    definition.key_bytes = value.at("key_bytes");
    definition.value_bytes = value.at("value_bytes");
    definition.max_entries = value.at("max_entries");
    definition.keys_at_run_time = value.value("keys_at_run_time", false);
    definition.key = shape_from_json(value.at("key"));
    definition.value = shape_from_json(value.at("value"));
    // Recordings of older builds have neither.
    if (const auto record = value.find("record"); record != value.end())
        definition.record = shape_from_json(*record);
    for (const auto& format : value.value("formats", json::array()))
        definition.formats.emplace(format.at(0), format.at(1));
    if (definition.record.bytes > definition.value_bytes)
        throw std::invalid_argument("record larger than its map says");
    if (definition.key.bytes > definition.key_bytes || definition.value.bytes > definition.value_bytes)
        throw std::invalid_argument("shape larger than its map");
    return map;
}

Severity severity_from_json(const json& value) {
    const int number = value;
    if (number < static_cast<int>(Severity::hint) || number > static_cast<int>(Severity::error))
        throw std::invalid_argument("no such severity");
    return static_cast<Severity>(number);
}

}  // namespace

std::string Site::place() const {
    return file.empty() ? std::string() : fmt::format("{}:{}", file.substr(file.rfind('/') + 1), line);
}

const char* to_name(KernelState state) {
    return kKernelStates[static_cast<std::size_t>(state)];
}
const char* to_words(KernelState state) {
    return kKernelWords[static_cast<std::size_t>(state)];
}
const char* to_name(ProbeState state) {
    return kProbeStates[static_cast<std::size_t>(state)];
}
const char* to_words(ProbeState state) {
    return kProbeWords[static_cast<std::size_t>(state)];
}

const char* to_name(Proof proof) {
    return kProofs[static_cast<std::size_t>(proof)];
}

bool MapUse::writes(const ebpf::TypeField& field) const {
    const std::uint64_t end = field.offset + std::uint64_t{field.bytes} * field.elements;
    return std::any_of(written.begin(), written.end(),
                       [&](const auto& bytes) { return bytes.first < end && field.offset < bytes.second; });
}

Figures Kernel::resident_warps() const {
    const auto of = [this](const std::optional<std::uint32_t>& registers) {
        return registers && architecture != 0 ? std::optional(host::resident_warps(architecture, *registers, bounds))
                                              : std::nullopt;
    };
    return {of(registers.original), of(registers.reassembled), of(registers.instrumented)};
}

namespace {

json selections_to_json(const std::vector<KernelSelection>& selections) {
    json list = json::array();
    for (const auto& selection : selections)
        list.push_back({selection.include, selection.exclude});
    return list;
}

std::vector<KernelSelection> selections_from_json(const json& list) {
    std::vector<KernelSelection> selections;
    for (const auto& entry : list)
        selections.push_back(
            {entry.at(0).get<std::vector<std::string>>(), entry.at(1).get<std::vector<std::string>>(), {}});
    return selections;
}

json uses_to_json(const std::optional<std::vector<MapUse>>& uses) {
    if (!uses)
        return nullptr;
    json list = json::array();
    for (const auto& use : *uses)
        list.push_back({use.map, use.written});
    return list;
}

std::optional<std::vector<MapUse>> uses_from_json(const json& list) {
    if (list.is_null())
        return std::nullopt;
    std::vector<MapUse> uses;
    for (const auto& entry : list)
        uses.push_back({entry.at(0), entry.at(1).get<std::vector<std::pair<std::uint32_t, std::uint32_t>>>()});
    return uses;
}

}  // namespace

Sampling Catalogue::sampling_of(std::string_view probe) const {
    for (const auto& each : probes)
        if (each.probe == probe)
            return each.sampling;
    return {};
}

namespace {

json sampling_to_json(const Sampling& sampling) {
    return {to_name(sampling.unit), sampling.one_in};
}

/// Of a recording of an older build: all.
Sampling sampling_from_json(const json& owner) {
    Sampling sampling;
    if (!owner.contains("sampling"))
        return sampling;
    const json& value = owner.at("sampling");
    const std::string unit = value.at(0);
    for (const auto known : {Sampling::Unit::all, Sampling::Unit::blocks, Sampling::Unit::warps})
        if (unit == to_name(known))
            sampling.unit = known;
    if (unit != to_name(sampling.unit))
        throw std::invalid_argument("no such unit");
    sampling.one_in = value.at(1);
    return sampling;
}

}  // namespace

std::string to_json(const Catalogue& catalogue) {
    json kernels = json::array(), probes = json::array(), sites = json::array(), maps = json::array(),
         copies = json::array();
    for (const auto& kernel : catalogue.kernels)
        kernels.push_back(kernel_to_json(kernel));
    for (const auto& probe : catalogue.probes)
        probes.push_back({{"probe", probe.probe},
                          {"program", probe.program},
                          {"section", probe.section},
                          {"selections", selections_to_json(probe.selections)},
                          {"state", to_name(probe.state)},
                          {"reason", probe.reason},
                          {"sites", probe.sites},
                          {"kernels", probe.kernels},
                          {"notes", probe.notes},
                          {"in_part", probe.in_part},
                          {"attached_unix_ms", probe.attached_unix_ms},
                          {"detached_unix_ms", probe.detached_unix_ms},
                          {"maps", uses_to_json(probe.maps)},
                          {"sampling", sampling_to_json(probe.sampling)}});
    for (const auto& site : catalogue.sites)
        sites.push_back({site.id, site.kernel_id, site.file, site.line, site.opcode, site.function});
    for (const auto& copy : catalogue.copies)
        copies.push_back({copy.kernel_id, copy.probes});
    for (const auto& map : catalogue.maps)
        maps.push_back(map_to_json(map));
    json findings = json::array();
    for (const auto& finding : catalogue.findings)
        findings.push_back({finding.plugin, finding.id, static_cast<int>(finding.severity), finding.kernel_id,
                            finding.site_id, finding.text});
    const json whole = {{"session", catalogue.session},
                        {"egpu_version", catalogue.egpu_version},
                        {"command", catalogue.command},
                        {"probe_names", catalogue.probe_names},
                        {"probe_sets", catalogue.probe_sets},
                        {"started_unix_ms", catalogue.started_unix_ms},
                        {"kernels", kernels},
                        {"probes", probes},
                        {"sites", sites},
                        {"copies", copies},
                        {"maps", maps},
                        {"findings", findings},
                        {"sample_launches", catalogue.sample_launches},
                        {"sampling", sampling_to_json(catalogue.sampling)},
                        {"launch_skip", catalogue.launch_skip},
                        {"launch_count", catalogue.launch_count},
                        {"measure_overhead", catalogue.measure_overhead},
                        {"changes", catalogue.changes},
                        {"stopped_unix_ms", catalogue.stopped_unix_ms},
                        {"diagnostics", catalogue.diagnostics}};
    // Names come from other people's binaries: bytes that aren't UTF-8 are replaced, never thrown on.
    return whole.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Recordings outlive the build that made them: what was added since the first of them may be missing.
Result<Catalogue> catalogue_from_json(std::string_view text) {
    try {
        const json whole = json::parse(text);
        Catalogue catalogue;
        catalogue.session = whole.at("session");
        catalogue.egpu_version = whole.at("egpu_version");
        catalogue.command = whole.at("command").get<std::vector<std::string>>();
        catalogue.probe_names = whole.at("probe_names").get<std::vector<std::string>>();
        catalogue.probe_sets = whole.value("probe_sets", std::vector<std::string>());
        catalogue.started_unix_ms = whole.at("started_unix_ms");
        catalogue.diagnostics = whole.at("diagnostics").get<std::vector<std::string>>();
        for (const auto& kernel : whole.at("kernels"))
            catalogue.kernels.push_back(kernel_from_json(kernel));
        for (const auto& entry : whole.at("probes")) {
            Probe probe;
            probe.probe = entry.at("probe");
            probe.program = entry.at("program");
            probe.section = entry.at("section");
            probe.selections = selections_from_json(entry.value("selections", json::array()));
            probe.state = named<ProbeState>(kProbeStates, entry.at("state"));
            probe.reason = entry.at("reason");
            probe.sites = entry.at("sites");
            probe.kernels = entry.at("kernels");
            probe.notes = entry.at("notes").get<std::vector<std::string>>();
            if (entry.contains("in_part"))  // not in recordings of an older build
                probe.in_part = entry.at("in_part").get<std::vector<std::uint32_t>>();
            probe.attached_unix_ms = entry.at("attached_unix_ms");
            probe.detached_unix_ms = entry.at("detached_unix_ms");
            probe.maps = uses_from_json(entry.value("maps", json()));
            probe.sampling = sampling_from_json(entry);
            catalogue.probes.push_back(std::move(probe));
        }
        for (const auto& entry : whole.at("sites"))
            catalogue.sites.push_back({entry.at(0), entry.at(1), entry.at(2), entry.at(3), entry.at(4), entry.at(5)});
        for (const auto& entry : whole.at("copies"))
            catalogue.copies.push_back({entry.at(0), entry.at(1).get<std::vector<std::uint32_t>>()});
        catalogue.sample_launches = whole.at("sample_launches");
        catalogue.sampling = sampling_from_json(whole);
        catalogue.launch_skip = whole.value("launch_skip", std::uint64_t{0});
        catalogue.launch_count = whole.value("launch_count", std::uint64_t{0});
        catalogue.measure_overhead = whole.at("measure_overhead");
        catalogue.changes = whole.at("changes");
        catalogue.stopped_unix_ms = whole.value("stopped_unix_ms", std::int64_t{0});
        for (const auto& entry : whole.at("maps"))
            catalogue.maps.push_back(map_from_json(entry));
        for (const auto& entry : whole.value("findings", json::array()))
            catalogue.findings.push_back(
                {entry.at(0), entry.at(1), severity_from_json(entry.at(2)), entry.at(3), entry.at(4), entry.at(5)});
        return catalogue;
    } catch (const std::exception&) {  // what the library says of it is about its text, which nobody wrote
        return error("EGPU-M010", "the session's catalogue is damaged");
    }
}

}  // namespace egpu::host

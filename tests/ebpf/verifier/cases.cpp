// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "ebpf/helpers/helpers.hpp"

namespace egpu::ebpf::test {
namespace {

/// Upper half of a 64-bit immediate that stands for an address until the program is assembled.
constexpr std::uint32_t kMapMark = 0x6d617000, kValueMark = 0x76616c00, kConstantsMark = 0x636f6e00;

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \t");
    return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

struct Source {
    const Object& object;
    const std::map<std::string, std::string>& snippets;
    std::string problem;

    /// Snippets put in, names of maps and helpers replaced by numbers.
    std::string expanded(const std::string& code, int depth = 0) {
        std::istringstream lines(code);
        std::string out, line;
        while (std::getline(lines, line)) {
            line = trimmed(line);
            if (line.starts_with('@')) {
                const auto snippet = snippets.find(line.substr(1));
                if (snippet == snippets.end() || depth > 4)
                    problem = "no snippet " + line;
                else
                    out += expanded(snippet->second, depth + 1);
                continue;
            }
            out += numbered(line) + '\n';
        }
        return out;
    }

    std::string numbered(std::string line) {
        if (line.starts_with("call ") && !line.starts_with("call local"))
            for (const Helper& each : helpers())
                if (line == "call " + std::string(each.name))
                    return fmt::format("call {:#x}", static_cast<std::uint32_t>(each.id));
        const auto comma = line.find(", ");
        if (!line.starts_with("lddw ") || comma == std::string::npos)
            return line;
        const std::string operand = line.substr(comma + 2);
        const auto plus = operand.find('+');
        const unsigned long offset = plus == std::string::npos ? 0 : std::stoul(operand.substr(plus + 1));
        const std::string head = line.substr(0, comma + 2);
        if (operand.starts_with("constants"))
            return fmt::format("{}{:#x}{:08x}", head, kConstantsMark, offset);
        const auto open = operand.find('('), close = operand.find(')');
        if (open == std::string::npos || close == std::string::npos)
            return line;
        const std::string name = operand.substr(open + 1, close - open - 1);
        for (std::uint32_t index = 0; index < object.maps.size(); ++index) {
            if (object.maps[index].name != name)
                continue;
            const std::uint32_t mark = operand.starts_with("map(") ? kMapMark : kValueMark;
            return fmt::format("{}{:#x}{:08x}", head, mark + index, offset);
        }
        problem = "no map " + name;
        return line;
    }
};

void put_addresses(std::vector<Instruction>& program) {
    for (std::size_t i = 0; i + 1 < program.size(); ++i) {
        if (program[i].opcode != kLoadImmediate64)
            continue;
        Instruction& second = program[i + 1];
        const auto mark = static_cast<std::uint32_t>(second.immediate) & 0xffffff00u;
        const std::int32_t index = second.immediate & 0xff;
        const std::int32_t offset = program[i].immediate;
        if (mark != kMapMark && mark != kValueMark && mark != kConstantsMark)
            continue;
        program[i].source = mark == kMapMark ? kPseudoMap : kPseudoMapValue;
        program[i].immediate = mark == kConstantsMark ? static_cast<std::int32_t>(Object::kConstantsMap) : index;
        second.immediate = mark == kMapMark ? 0 : offset;
        ++i;
    }
}

MapDefinition map_of(const YAML::Node& node) {
    static const std::map<std::string, MapType> kTypes{{"array", MapType::array},
                                                       {"hash", MapType::hash},
                                                       {"percpu_array", MapType::percpu_array},
                                                       {"percpu_hash", MapType::percpu_hash},
                                                       {"lru_hash", MapType::lru_hash},
                                                       {"ringbuf", MapType::ringbuf}};
    static const std::map<std::string, Placement> kPlacements{
        {"device", Placement::device}, {"mapped", Placement::mapped}, {"linux", Placement::linux_kernel}};
    MapDefinition map;
    map.name = node["name"].as<std::string>();
    map.type = kTypes.at(node["kind"].as<std::string>());
    map.key_bytes = node["key"].as<std::uint32_t>();
    map.value_bytes = node["value"].as<std::uint32_t>();
    map.max_entries = node["entries"].as<std::uint32_t>();
    map.placement = kPlacements.at(node["placement"].as<std::string>("device"));
    return map;
}

std::vector<std::byte> bytes_of(const std::string& hex) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

/// As the loader does it: what bpf_printk sends goes to a ring of this name.
void add_map(Object& object, MapDefinition map) {
    if (map.name == "bpf_printk")
        object.print_map = static_cast<std::uint32_t>(object.maps.size());
    object.maps.push_back(std::move(map));
}

template <typename T>
std::optional<T> maybe(const YAML::Node& node) {
    return node ? std::optional<T>(node.as<T>()) : std::nullopt;
}

/// A key that nobody reads is a mistake in the file.
std::string unknown_key(const YAML::Node& node, const std::set<std::string>& known) {
    for (const auto& each : node)
        if (!known.count(each.first.as<std::string>()))
            return "unknown key " + each.first.as<std::string>();
    return {};
}

void read_expectations(const YAML::Node& node, Case& out) {
    out.expect = node["expect"].as<std::string>();
    out.message = maybe<std::string>(node["message"]);
    out.why = maybe<std::string>(node["why"]);
    out.fix = maybe<std::string>(node["fix"]);
    out.instructions = maybe<std::uint32_t>(node["instructions"]);
    out.lookups = maybe<std::uint32_t>(node["lookups"]);
    out.atomics = maybe<std::uint32_t>(node["atomics"]);
    out.stack = maybe<std::uint32_t>(node["stack"]);
    out.dynamic = maybe<std::uint32_t>(node["dynamic"]);
    out.searched = maybe<std::uint32_t>(node["searched"]);
    out.register_adds = maybe<std::uint32_t>(node["register_adds"]);
    out.notes = maybe<std::vector<std::string>>(node["notes"]);
    out.fields = maybe<std::vector<std::string>>(node["fields"]);
}

Case read_case(const YAML::Node& node, const Object& base, const std::map<std::string, std::string>& snippets) {
    Case out;
    out.name = node["name"].as<std::string>();
    out.object = base;
    for (const auto& map : node["maps"])
        add_map(out.object, map_of(map));
    out.problem = unknown_key(node, {"name", "maps", "code", "section", "expect", "message", "why", "fix", "limit",
                                     "walk_limit", "instructions", "lookups", "atomics", "stack", "dynamic", "searched",
                                     "register_adds", "fields", "notes"});
    read_expectations(node, out);
    out.options.instruction_limit = node["limit"].as<std::uint32_t>(0);
    out.options.walk_limit = node["walk_limit"].as<std::uint32_t>(out.options.walk_limit);
    Source source{out.object, snippets, {}};
    auto assembled = assemble(source.expanded(node["code"].as<std::string>()));
    if (!source.problem.empty())
        out.problem = source.problem;
    Program program;
    program.name = "program";
    program.section = node["section"].as<std::string>("gpu/mem");
    const auto point = parse_section(program.section);
    if (!assembled || !point) {
        out.problem = !assembled ? to_text(assembled.error()) : to_text(point.error());
        return out;
    }
    program.point = *point;
    program.instructions = *assembled;
    put_addresses(program.instructions);
    out.object.programs.push_back(std::move(program));
    return out;
}

std::vector<Case> read_file(const std::filesystem::path& path) {
    const YAML::Node file = YAML::LoadFile(path.string());
    Object base;
    base.path = path.filename().string();
    for (const auto& map : file["maps"])
        add_map(base, map_of(map));
    base.constants = bytes_of(file["constants"].as<std::string>(""));
    std::map<std::string, std::string> snippets;
    for (const auto& snippet : file["snippets"])
        snippets[snippet.first.as<std::string>()] = snippet.second.as<std::string>();
    const std::string problem = unknown_key(file, {"maps", "constants", "snippets", "cases"});
    std::vector<Case> cases;
    for (const auto& node : file["cases"]) {
        cases.push_back(read_case(node, base, snippets));
        cases.back().file = path.stem().string();
        if (!problem.empty())
            cases.back().problem = problem;
    }
    return cases;
}

}  // namespace

const std::vector<Case>& all_cases() {
    static const std::vector<Case> cases = [] {
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::directory_iterator(EGPU_TEST_DATA "/ebpf/verifier"))
            if (entry.path().extension() == ".yaml")
                files.push_back(entry.path());
        std::sort(files.begin(), files.end());
        std::vector<Case> all;
        for (const auto& file : files)
            for (Case& each : read_file(file))
                all.push_back(std::move(each));
        return all;
    }();
    return cases;
}

}  // namespace egpu::ebpf::test

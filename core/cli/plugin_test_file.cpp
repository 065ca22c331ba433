// SPDX-License-Identifier: Apache-2.0
#include "cli/plugin_test_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.hpp"
#include "base/names.hpp"

namespace egpu::cli {
namespace {

constexpr int kTestFormat = 1;
constexpr std::size_t kMostTestBytes = std::size_t{1} << 20;
constexpr std::uint64_t kMostTimes = 1'000'000;

/// Reads the file's parts and gathers what is wrong with them.
class TestReader {
public:
    explicit TestReader(std::string path) { file_.path = std::move(path); }
    Result<PluginTestFile> read(const YAML::Node& root);

private:
    using Keys = std::map<std::string, std::function<void(const YAML::Node&)>>;

    void problem(const YAML::Node& node, const char* code, std::string message, std::string hint = {}) {
        auto diagnostic = error(code, std::move(message), std::move(hint));
        diagnostic.where = location_of(file_.path, node);
        problems_.push_back(std::move(diagnostic));
    }
    /// Calls what stands behind each key; unknown and repeated keys are problems.
    void read_keys(const YAML::Node& node, const char* what, const Keys& keys);
    std::string text(const YAML::Node& node, const char* what);
    std::uint64_t number(const YAML::Node& node, const std::string& what);
    std::uint64_t unsigned_number(const YAML::Node& node, const std::string& what);
    void read_not_run(const YAML::Node& node, PluginTestCase& one);
    void read_case(const YAML::Node& node);
    void read_context(const YAML::Node& node, const std::string& before, PluginTestCase& one);
    void read_expectation(const YAML::Node& node, PluginTestCase& one);
    void check_case(const YAML::Node& node, const PluginTestCase& one);

    PluginTestFile file_;
    std::vector<Diagnostic> problems_;
};

void TestReader::read_keys(const YAML::Node& node, const char* what, const Keys& keys) {
    if (!node.IsMap())
        return problem(node, "EGPU-T002", fmt::format("{} is a mapping of keys", what));
    std::set<std::string> seen;
    std::vector<std::string> known;
    for (const auto& [name, read] : keys)
        known.push_back(name);
    for (const auto& entry : node) {
        const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
        const auto found = keys.find(name);
        if (found == keys.end()) {
            const auto near = nearest(name, known);
            problem(entry.first, "EGPU-T003", fmt::format("{} has no key '{}'", what, name),
                    near.empty() ? fmt::format("it has: {}", fmt::join(known, ", "))
                                 : fmt::format("did you mean '{}'?", near));
        } else if (!seen.insert(name).second) {
            problem(entry.first, "EGPU-T004", fmt::format("'{}' stands here twice", name));
        } else {
            found->second(entry.second);
        }
    }
}

std::string TestReader::text(const YAML::Node& node, const char* what) {
    if (node.IsScalar() && !node.Scalar().empty())
        return node.Scalar();
    problem(node, "EGPU-T002", fmt::format("{} is a text", what));
    return "";
}

std::uint64_t TestReader::number(const YAML::Node& node, const std::string& what) {
    if (const auto value = whole_number(node))
        return *value;
    problem(node, "EGPU-T002", fmt::format("{} is a whole number", what));
    return 0;
}

/// Of what no value is below 0: an argument of a kernel may be.
std::uint64_t TestReader::unsigned_number(const YAML::Node& node, const std::string& what) {
    const std::uint64_t value = number(node, what);
    if (value == 0 || node.Scalar()[0] != '-')
        return value;
    problem(node, "EGPU-T002", fmt::format("{} is not below 0", what));
    return 0;
}

void TestReader::read_not_run(const YAML::Node& node, PluginTestCase& one) {
    if (!node.IsSequence())
        return problem(node, "EGPU-T002", "not_run is a list of programs: [count_atomics]");
    for (const auto& each : node)
        one.not_run.push_back({text(each, "a program's name"), 0, location_of(file_.path, each)});
}

/// Fields as the context has them: { space: global, grid_dim: { x: 4 } }.
void TestReader::read_context(const YAML::Node& node, const std::string& before, PluginTestCase& one) {
    if (!node.IsMap())
        return problem(node, "EGPU-T002", "context is a mapping of a context's fields");
    for (const auto& entry : node) {
        const std::string name = before + (entry.first.IsScalar() ? entry.first.Scalar() : "");
        if (entry.second.IsMap()) {
            read_context(entry.second, name + ".", one);
            continue;
        }
        static const std::map<std::string, std::vector<std::string>> words = {
            {"space", {"global", "shared", "local", "const", "generic"}}, {"access", {"load", "store", "atomic"}}};
        PluginTestCase::Number field{name, 0, location_of(file_.path, entry.first)};
        const auto named = words.find(name);
        const auto word = named == words.end() || !entry.second.IsScalar()
                              ? std::vector<std::string>::const_iterator{}
                              : std::find(named->second.begin(), named->second.end(), entry.second.Scalar());
        if (named != words.end() && entry.second.IsScalar() && word != named->second.end())
            field.value = static_cast<std::uint64_t>(word - named->second.begin());
        else
            field.value = unsigned_number(entry.second, name);
        one.context.push_back(std::move(field));
    }
}

void TestReader::read_expectation(const YAML::Node& node, PluginTestCase& one) {
    PluginExpectation expectation;
    expectation.where = location_of(file_.path, node);
    bool rows = false, findings = false;
    const auto take_rows = [&](const YAML::Node& given, bool all) {
        if (rows)
            problem(given, "EGPU-T005", "an expectation has one of: is, has, findings");
        if (!given.IsSequence())
            problem(given, "EGPU-T002", "rows are a list: [{ key: ..., value: ... }]");
        rows = true;
        expectation.rows.reset(given);
        expectation.all = all;
    };
    read_keys(node, "an expectation",
              {{"map", [&](const YAML::Node& value) { expectation.map = text(value, "map"); }},
               {"is", [&](const YAML::Node& value) { take_rows(value, true); }},
               {"has", [&](const YAML::Node& value) { take_rows(value, false); }},
               {"findings", [&](const YAML::Node& value) {
                    take_rows(value, true);
                    findings = true;
                }}});
    if (!rows)
        problem(node, "EGPU-T005", "an expectation says what is expected: is, has or findings");
    else if (findings != expectation.map.empty())
        problem(node, "EGPU-T005",
                findings ? "findings are the plugin's, not of a map" : "an expectation names its map: map: NAME");
    one.expect.push_back(std::move(expectation));
}

void TestReader::check_case(const YAML::Node& node, const PluginTestCase& one) {
    if (one.name.empty())
        problem(node, "EGPU-T005", "a case has a name");
    if (one.run.empty() == one.program.empty())
        problem(node, "EGPU-T005",
                one.run.empty() ? "a case has something to run: run: [WORKLOAD, ...], or program: NAME"
                                : "a case has one of run and program, not both");
    if (one.program.empty())
        for (const char* key : {"context", "times", "clock", "time_ns", "arguments", "options"})
            if (node[key])
                problem(node[key], "EGPU-T005", fmt::format("'{}' goes with program, not with run", key));
    if (one.run.empty() && node["not_run"])
        problem(node["not_run"], "EGPU-T005", "'not_run' goes with run, not with program");
    if (one.times == 0 || one.times > kMostTimes)
        problem(node["times"], "EGPU-T002", fmt::format("times is from 1 to {}", kMostTimes));
    if (one.expect.empty())
        problem(node, "EGPU-T005", "a case without expect shows nothing");
    for (const auto& expectation : one.expect)
        if (expectation.map.empty() && !one.program.empty())
            problem(node["expect"], "EGPU-T005", "findings need a session: run: [WORKLOAD, ...]");
}

void TestReader::read_case(const YAML::Node& node) {
    PluginTestCase one;
    one.where = location_of(file_.path, node);
    read_keys(
        node, "a case",
        {{"name", [&](const YAML::Node& value) { one.name = text(value, "name"); }},
         {"run",
          [&](const YAML::Node& value) {
              if (!value.IsSequence() || value.size() == 0)
                  return problem(value, "EGPU-T002", "run is a list: [vecadd, --elements, \"1024\"]");
              for (const auto& word : value)
                  one.run.push_back(text(word, "a word of run"));
          }},
         {"program",
          [&](const YAML::Node& value) {
              one.program = text(value, "program");
              one.program_where = location_of(file_.path, value);
          }},
         {"not_run", [&](const YAML::Node& value) { read_not_run(value, one); }},
         {"context", [&](const YAML::Node& value) { read_context(value, "", one); }},
         {"times", [&](const YAML::Node& value) { one.times = number(value, "times"); }},
         {"clock", [&](const YAML::Node& value) { one.clock = unsigned_number(value, "clock"); }},
         {"time_ns", [&](const YAML::Node& value) { one.time_ns = unsigned_number(value, "time_ns"); }},
         {"arguments",
          [&](const YAML::Node& value) {
              if (!value.IsSequence())
                  return problem(value, "EGPU-T002", "arguments is a list of numbers");
              for (const auto& each : value)
                  one.arguments.push_back(number(each, "an argument"));
          }},
         {"options",
          [&](const YAML::Node& value) {
              if (!value.IsMap())
                  return problem(value, "EGPU-T002", "options is a mapping: { name: value }");
              for (const auto& each : value)
                  one.options.push_back({{text(each.first, "an option's name"), 0, location_of(file_.path, each.first)},
                                         text(each.second, "an option's value")});
          }},
         {"expect", [&](const YAML::Node& value) {
              if (!value.IsSequence())
                  return problem(value, "EGPU-T002", "expect is a list");
              for (const auto& each : value)
                  read_expectation(each, one);
          }}});
    if (node.IsMap())
        check_case(node, one);
    file_.cases.push_back(std::move(one));
}

Result<PluginTestFile> TestReader::read(const YAML::Node& root) {
    bool format = false;
    read_keys(root, "a test file",
              {{"egpu-test",
                [&](const YAML::Node& value) {
                    format = true;
                    if (number(value, "egpu-test") != kTestFormat)
                        problem(value, "EGPU-T006", fmt::format("this egpu reads egpu-test: {}", kTestFormat));
                }},
               {"plugin",
                [&](const YAML::Node& value) {
                    file_.plugin = text(value, "plugin");
                    file_.plugin_where = location_of(file_.path, value);
                }},
               {"cases", [&](const YAML::Node& value) {
                    if (!value.IsSequence() || value.size() == 0)
                        return problem(value, "EGPU-T002", "cases is a list of cases");
                    for (const auto& one : value)
                        read_case(one);
                }}});
    if (root.IsMap() && !format)
        problem(root, "EGPU-T006", fmt::format("a test file begins with egpu-test: {}", kTestFormat));
    if (root.IsMap() && file_.plugin.empty())
        problem(root, "EGPU-T005", "a test file names its plugin: plugin: NAME");
    if (root.IsMap() && !root["cases"])
        problem(root, "EGPU-T005", "a test file has cases");
    if (!problems_.empty())
        return std::move(problems_);
    return std::move(file_);
}

}  // namespace

Location location_of(const std::string& path, const YAML::Node& node) {
    const YAML::Mark mark = node.Mark();
    return {path, mark.line >= 0 ? static_cast<std::uint32_t>(mark.line) + 1 : 0,
            mark.column >= 0 ? static_cast<std::uint32_t>(mark.column) + 1 : 0, 0};
}

std::optional<std::uint64_t> whole_number(const YAML::Node& node) {
    if (!node.IsScalar() || node.Scalar().empty())
        return std::nullopt;
    const std::string& text = node.Scalar();
    const bool negative = text[0] == '-';
    const char* digits = text.c_str() + (negative ? 1 : 0);
    if (*digits < '0' || *digits > '9')
        return std::nullopt;
    const bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    char* end = nullptr;
    errno = 0;
    const std::uint64_t value = std::strtoull(digits, &end, hexadecimal ? 16 : 10);
    if (errno != 0 || *end != '\0')
        return std::nullopt;
    return negative ? ~value + 1 : value;
}

Result<PluginTestFile> read_plugin_test(const std::string& path) {
    const auto text = read_text(path, kMostTestBytes);
    if (!text)
        return text.errors();
    try {
        return TestReader(path).read(YAML::Load(*text));
    } catch (const YAML::Exception& failure) {
        auto problem = error("EGPU-T001", failure.msg);
        problem.where = {path, failure.mark.line >= 0 ? static_cast<std::uint32_t>(failure.mark.line) + 1 : 0,
                         failure.mark.column >= 0 ? static_cast<std::uint32_t>(failure.mark.column) + 1 : 0, 0};
        return problem;
    }
}

}  // namespace egpu::cli

// SPDX-License-Identifier: Apache-2.0
// Programs count at every opcode of a kernel and at every event, on the simulated GPU: their counts are those that the
// executor kept of the original, and the copy leaves the memory that the original leaves, to the last bit.
//
// The kernels of the repository always run; those of the corpus where EGPU_PTX_CORPUS names its folder for sm_90
// (tests/data/counts/corpus.launches says how they are launched).
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/names.hpp"
#include "counted_run.hpp"

namespace egpu::inject {
namespace {

using ebpf::Event, ebpf::Granularity;
using testing::Count, testing::CountedRun, testing::LaunchLine, testing::Left, testing::Session;

struct Case {
    std::string folder;
    LaunchLine line;
};
std::ostream& operator<<(std::ostream& stream, const Case& one) {
    return stream << one.line.file << " " << one.line.kernel;
}

std::string corpus() {
    const char* const folder = std::getenv("EGPU_PTX_CORPUS");
    return folder == nullptr ? std::string() : folder;
}

std::vector<Case> cases_of(const std::string& table, const std::string& folder) {
    std::vector<Case> cases;
    if (folder.empty())
        return cases;
    auto lines = launches::read_launches(fmt::format("{}/counts/{}.launches", EGPU_TEST_DATA, table));
    if (!lines) {
        ADD_FAILURE() << to_text(lines.error());
        return cases;
    }
    for (auto& line : *lines)
        cases.push_back({folder, std::move(line)});
    return cases;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
    std::string name = info.param.line.file + "_" + short_name(demangle(info.param.line.kernel));
    for (char& letter : name)
        letter = std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
    return fmt::format("{}_{}", info.index, name);
}

ebpf::InjectionPoint point_at(const std::string& section) {
    auto point = ebpf::parse_section(section);
    EXPECT_TRUE(point) << section;
    return point ? *point : ebpf::InjectionPoint{};
}

/// A program of "counted" at each of these injection points, without "gpu/" or "gpu.warp/", by thread and by warp.
class Counters {
public:
    void attach(const std::vector<std::string>& events) {
        for (const auto& event : events)
            for (const char* granularity : {"gpu/", "gpu.warp/"}) {
                const auto point = point_at(granularity + event);
                const bool at_memory = ebpf::context_of(point.event) == ebpf::ContextKind::mem;
                const bool by_warp = point.granularity == Granularity::warp;
                session_.attach_at(
                    "counted",
                    fmt::format("{}_by_{}", at_memory ? "access" : "instruction", by_warp ? "warp" : "thread"), point,
                    granularity + event);
            }
    }

    void check(CountedRun& run, const std::string& event, const Count& expected) {
        const auto word = [&](const char* granularity, std::uint32_t byte) {
            return run.maps().word_of_slot(session_.map(granularity + event + "/counted"), 0, byte);
        };
        EXPECT_EQ(word("gpu/", 0), expected.threads) << "threads at " << event;
        EXPECT_EQ(word("gpu.warp/", 16), expected.threads) << "lanes of groups at " << event;
        if (expected.groups) {
            EXPECT_EQ(word("gpu.warp/", 8), *expected.groups) << "groups at " << event;
        }
    }
    Session& session() { return session_; }

private:
    Session session_;
};

const std::vector<std::string>& all_events() {
    static const std::vector<std::string> kEvents = [] {
        std::vector<std::string> events = {"kernel_entry",  "kernel_exit", "barrier",       "branch",
                                           "basic_block",   "call",        "mma",           "async_copy",
                                           "instruction/*", "load_return", "atomic_return", "async_copy.global"};
        for (const char* event : {"load", "store", "atomic", "mem"})
            for (const char* space : {"", ".global", ".shared", ".local", ".const", ".generic"})
                events.push_back(std::string(event) + space);
        return events;
    }();
    return kEvents;
}

class Counts : public ::testing::TestWithParam<Case> {
protected:
    void expect_unchanged(const Left& left) {
        if (GetParam().line.results.empty()) {
            EXPECT_EQ(left.buffers == run_.left().buffers, true) << "buffers differ";
            EXPECT_EQ(left.variables == run_.left().variables, true) << "variables differ";
            EXPECT_EQ(left.printed, run_.left().printed);
        }
    }

    /// What the copy that ran last must have counted.
    std::vector<testing::ExecutedInstruction> reference() const {
        return GetParam().line.order.empty() ? run_.executed() : run_.executed_in_copy();
    }

    void check_opcodes() {
        std::set<std::string> opcodes;
        for (const auto& one : run_.executed())
            opcodes.insert("instruction/" + one.opcode);
        const std::vector<std::string> events(opcodes.begin(), opcodes.end());
        Counters counters;
        // First, so that sites get their numbers in the order of the text.
        counters.session().attach_at("counted_sites", "count_site", point_at("gpu/instruction/*"), "sites");
        counters.attach(events);
        expect_unchanged(run_.run_copy(counters.session()));
        if (HasFailure())
            return;
        const auto executed = reference();
        for (const auto& event : events)
            counters.check(run_, event, testing::expected_count(executed, point_at("gpu/" + event)));
        check_sites(counters.session(), executed);
    }

    /// Site by site: the records of a function come in the order of its text.
    void check_sites(Session& session, const std::vector<testing::ExecutedInstruction>& executed) {
        std::map<std::string, std::vector<const SiteRecord*>> records;
        for (const auto& record : session.sites())
            records[record.function].push_back(&record);
        std::map<std::string, std::size_t> seen;
        for (const auto& one : executed) {
            const std::string function(one.function->name);
            const auto at = seen[function]++;
            ASSERT_LT(at, records[function].size()) << function;
            const auto& record = *records[function][at];
            ASSERT_EQ(record.opcode, one.opcode) << function << ", instruction " << at;
            EXPECT_EQ(run_.maps().word(session.map("sites/by_site"), {record.site_id}, 0), one.executed.lanes)
                << function << ", instruction " << at << ": " << one.opcode;
        }
    }

    void check_events() {
        Counters counters;
        counters.attach(all_events());
        expect_unchanged(run_.run_copy(counters.session()));
        if (HasFailure())
            return;
        const auto executed = reference();
        for (const auto& event : all_events()) {
            const auto point = point_at("gpu/" + event);
            const bool ends = point.event == Event::kernel_entry || point.event == Event::kernel_exit;
            counters.check(run_, event,
                           ends ? Count{run_.threads(), std::nullopt} : testing::expected_count(executed, point));
        }
    }

    CountedRun run_;
};

TEST_P(Counts, AreThoseOfTheSimulatedGpu) {
    const auto& [folder, line] = GetParam();
    run_.open(folder, line);
    if (HasFatalFailure())
        return;
    if (const auto& reason = line.skip.empty() ? line.simulated : line.skip; !reason.empty())
        GTEST_SKIP() << "the simulated GPU: " << reason;
    if (!line.refused.empty()) {
        Session session;
        session.attach_at("counted", "instruction_by_thread", point_at("gpu/instruction/*"), "all");
        const auto copy = build_copy(session.request(run_.module(), run_.kernel()));
        ASSERT_FALSE(copy) << "egpu can copy this kernel now";
        EXPECT_EQ(copy.error().code, line.refused) << to_text(copy.error());
        if (!HasFailure())
            GTEST_SKIP() << "no copy: " << copy.error().message;
        return;
    }
    run_.run_original();
    if (HasFatalFailure())
        return;
    check_opcodes();
    check_events();
}

INSTANTIATE_TEST_SUITE_P(Own, Counts, ::testing::ValuesIn(cases_of("own", EGPU_TEST_DATA "/ptx/inject/run")), name_of);
INSTANTIATE_TEST_SUITE_P(Corpus, Counts, ::testing::ValuesIn(cases_of("corpus", corpus())), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Counts);

/// Every kernel of the corpus is in the table.
TEST(CorpusLaunches, NameEveryKernel) {
    if (corpus().empty())
        GTEST_SKIP() << "EGPU_PTX_CORPUS names no folder of .ptx files";
    const auto cases = cases_of("corpus", corpus());
    for (const auto& entry : std::filesystem::directory_iterator(corpus())) {
        const std::string file = entry.path().stem().string();
        if (entry.path().extension() != ".ptx" || file.ends_with(".G") || file.ends_with(".lineinfo"))
            continue;
        for (const auto& function : testing::read_module(entry.path().string()).functions) {
            if (!function.is_entry || function.body == nullptr)
                continue;
            const bool named = std::any_of(cases.begin(), cases.end(), [&](const Case& one) {
                return one.line.file == file && glob_matches(one.line.kernel, function.name);
            });
            EXPECT_TRUE(named) << "how is " << file << " " << function.name << " launched?";
        }
    }
}

}  // namespace
}  // namespace egpu::inject

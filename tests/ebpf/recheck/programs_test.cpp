// SPDX-License-Identifier: Apache-2.0
// Every program that the tests of the verifier accept, made for a site and for none, is confirmed.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "../specializer/programs.hpp"
#include "../verifier/cases.hpp"

namespace egpu::ebpf::testing {
namespace {

/// How many could be made for a site; those that can't be have tests of their own.
struct Confirmed {
    std::uint32_t programs = 0;

    void check(Object object, const Program& program, const std::string& name) {
        const auto verified = verify(object, program);
        if (!verified)
            return;
        for (const std::uint32_t map : verified->searched_maps)
            object.maps[map].keys_at_run_time = true;
        for (const SiteConstants& constants : {global_load(), SiteConstants{}}) {
            SlotGiver slots{&object, 1000, {}, 0};
            const auto made = specialize(object, program, constants, slots.function());
            if (!made)
                continue;
            const auto checked = recheck(*made, constants, verified->worst_instructions);
            EXPECT_TRUE(checked) << name << "\n" << to_text(checked.error());
            ++programs;
        }
    }
};

TEST(Confirmed, EveryCaseOfTheVerifier) {
    Confirmed confirmed;
    for (const auto& each : test::all_cases())
        if (each.problem.empty() && each.expect == "accepted")
            confirmed.check(each.object, each.program(), each.file + ", " + each.name);
    EXPECT_GE(confirmed.programs, 300u);
}

TEST(Confirmed, EveryProgramInC) {
    Confirmed confirmed;
    for (const auto& entry : std::filesystem::directory_iterator(EGPU_OBJECTS "/accepted")) {
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in), {}};
        const auto object = read_object(std::as_bytes(std::span(bytes)), entry.path().string());
        ASSERT_TRUE(object) << to_text(object.error());
        for (const Program& program : object->programs)
            confirmed.check(*object, program, entry.path().filename().string() + ", " + program.name);
    }
    EXPECT_GE(confirmed.programs, 20u);
}

}  // namespace
}  // namespace egpu::ebpf::testing

// SPDX-License-Identifier: Apache-2.0
// What must be refused, with the code and the words that each fixture asks for ("// refused:", "// with:").
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "fixtures.hpp"

namespace egpu::ebpf {
namespace {

using testing::HasSubstr;

std::string note_in(const std::string& source, const std::string& name) {
    std::istringstream lines(source);
    const std::string prefix = "// " + name + ": ";
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(prefix))
            return line.substr(prefix.size());
    return {};
}

TEST(ObjectRefusal, EachBadObjectIsRefusedInItsOwnWords) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(EGPU_TEST_DATA "/ebpf/objects-bad")) {
        const auto source = read_text(entry.path());
        ASSERT_TRUE(source);
        const auto code = note_in(*source, "refused"), words = note_in(*source, "with");
        ASSERT_FALSE(code.empty() || words.empty()) << entry.path();
        const auto object = read_fixture(entry.path().stem().string() + ".o");
        ASSERT_FALSE(object) << entry.path();
        EXPECT_EQ(object.error().code, code) << entry.path();
        EXPECT_THAT(object.error().message, HasSubstr(words)) << entry.path();
        EXPECT_FALSE(object.error().where.file.empty()) << entry.path();
        EXPECT_FALSE(object.error().hints.empty()) << entry.path();
        ++count;
    }
    EXPECT_GE(count, 20u);
}

TEST(ObjectRefusal, NamesTheSourceLine) {
    const auto object = read_fixture("global_of_both.bpf.o");
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().where.line, 20u);
    ASSERT_EQ(object.error().quoted.size(), 1u);
    EXPECT_THAT(object.error().quoted[0].text, HasSubstr("__sync_fetch_and_add(&total"));
}

TEST(ObjectRefusal, NamesWhatIsThereInsteadOfAProgramForAGpu) {
    const auto object = read_fixture("linux_only.bpf.o");
    ASSERT_FALSE(object);
    EXPECT_THAT(object.error().message, HasSubstr("program in SEC(\"uprobe\")"));
    EXPECT_THAT(object.error().where.file, HasSubstr("linux_only.bpf.c"));
    EXPECT_EQ(object.error().where.line, 8u);
}

TEST(ObjectRefusal, AMapsDefinitionIsNotSaidToStandWhereItIsUsed) {
    const auto object = read_fixture("map_bit_field_used.bpf.o");
    ASSERT_FALSE(object);
    EXPECT_EQ(object.errors().size(), 1u);
    EXPECT_THAT(object.error().where.file, HasSubstr("map_bit_field_used.bpf.c"));
    EXPECT_EQ(object.error().where.line, 0u);
    EXPECT_TRUE(object.error().quoted.empty());
}

TEST(ObjectRefusal, SuggestsTheFieldThatWasMeant) {
    const auto object = read_fixture("unknown_field.bpf.o");
    ASSERT_FALSE(object);
    EXPECT_THAT(object.error().hints, testing::Contains("did you mean 'sectors'?"));
}

TEST(ObjectRefusal, SaysWhatToWriteInstead) {
    const auto hint_of = [](const std::string& name) {
        const auto object = read_fixture(name);
        return object ? std::string("accepted") : object.error().hints.at(0);
    };
    EXPECT_EQ(hint_of("own_context.bpf.o"), "take struct egpu_mem_ctx *");
    EXPECT_EQ(hint_of("own_context_relocated.bpf.o"), "take struct egpu_kernel_ctx *");
    EXPECT_EQ(hint_of("static_struct.bpf.o"), "declare it volatile, or not static");
    EXPECT_EQ(hint_of("static_flag.bpf.o"), "declare it volatile, or not static");
    EXPECT_EQ(hint_of("section_of_its_own.bpf.o"), "write SEC(\".data.mydata\"), or leave the SEC out");
    EXPECT_EQ(hint_of("callback.bpf.o"), "write for (int i = 0; i < 10; i++)");
    EXPECT_EQ(hint_of("function_address.bpf.o"), "call the function by its name");
}

TEST(ObjectRefusal, FilesOfOtherKinds) {
    const auto code_of = [](std::span<const std::byte> bytes) {
        const auto object = read_object(bytes, "file");
        return object ? std::string("accepted") : object.error().code;
    };
    EXPECT_EQ(code_of({}), "EGPU-B001");
    const std::string text = "#include <egpu/bpf/egpu.bpf.h>  // a source is no object, however long it may be .......";
    EXPECT_EQ(code_of(std::as_bytes(std::span(text))), "EGPU-B001");
    EXPECT_EQ(code_of(fixture_bytes("other_machine.o")), "EGPU-B002");
    EXPECT_EQ(code_of(fixture_bytes("no_btf.o")), "EGPU-B003");
}

/// Every prefix of an object is refused or read, never a fault; run under ASan by the sanitizer build.
TEST(ObjectRefusal, SurvivesObjectsCutShort) {
    const auto whole = fixture_bytes("everything.bpf.o");
    for (std::size_t size = 0; size < whole.size(); size += 61) {
        const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_FALSE(read_object(part, "cut"));  // the section headers stand at the end
    }
}

TEST(ObjectRefusal, SurvivesDamagedBytes) {
    const auto whole = fixture_bytes("everything.bpf.o");
    std::size_t accepted = 0, refused = 0;
    for (std::size_t at = 0; at < whole.size(); at += 7) {
        auto damaged = whole;
        damaged[at] ^= std::byte{0xff};
        const auto object = read_object(damaged, "damaged");
        ++(object ? accepted : refused);
        if (object) {
            for (const auto& program : object->programs)
                EXPECT_TRUE(check_encoding(program.instructions));
        }
    }
    EXPECT_GT(accepted, 0u);  // debug sections are not read
    EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace egpu::ebpf

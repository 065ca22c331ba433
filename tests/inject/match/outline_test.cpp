// SPDX-License-Identifier: Apache-2.0
#include "inject/match/outline.hpp"

#include <gmock/gmock.h>

#include "module.hpp"

namespace egpu::inject {
namespace {

using testing::kernel;
using Kind = Meaning::Kind;

TEST(Outline, InnerNamesHideOuterOnesFromTheirDeclarationOn) {
    const auto module = kernel(
        "mov.u64 %rd1, counter;\n"
        "{ mov.u64 %rd2, counter; .reg .b32 counter; mov.b32 %r1, counter; }\n"
        "mov.u64 %rd3, counter; ret;",
        ".global .u32 counter;");
    const Outline outline(module, *module.function("k"));
    std::vector<Kind> kinds;
    for (std::size_t index = 0; index < outline.items().size(); ++index)
        if (const auto* instruction = outline.items()[index].instruction();
            instruction && instruction->operands.size() > 1)
            kinds.push_back(outline.meaning_of(base_name(instruction->operands[1]), index).kind);
    EXPECT_THAT(kinds, ::testing::ElementsAre(Kind::module_variable, Kind::module_variable, Kind::local,
                                              Kind::module_variable));
}

TEST(Outline, CountedRegistersEndAtTheirCount) {
    const auto module = kernel("ret;");
    const Outline outline(module, *module.function("k"));
    const std::size_t last = outline.items().size() - 1;
    EXPECT_EQ(outline.register_bits("%rd19", last), 64u);
    EXPECT_EQ(outline.register_bits("%rd20", last), 0u);
    EXPECT_EQ(outline.register_bits("%p4", last), 1u);
    EXPECT_EQ(outline.register_bits("%tid", last), 0u);
    EXPECT_EQ(outline.meaning_of("q", last).kind, Kind::parameter);
    EXPECT_EQ(outline.meaning_of("k", last).kind, Kind::function);
    EXPECT_NE(outline.identity_of("%rd1", last), outline.identity_of("%rd2", last));
}

TEST(Outline, IdentifiersOfRawText) {
    EXPECT_THAT(identifiers_in("generic(counter)+0f3F800000, $str$1 12u"),
                ::testing::ElementsAre("generic", "counter", "$str$1"));
}

}  // namespace
}  // namespace egpu::inject

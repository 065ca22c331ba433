// SPDX-License-Identifier: Apache-2.0
// The grammar of injection points, and the contexts' layout against the header's own BTF.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/files.hpp"
#include "ebpf/events/events.hpp"
#include "ebpf/object/source.hpp"

namespace egpu::ebpf {
namespace {

using testing::HasSubstr;

TEST(Section, EverythingOfTheGrammarThatThisVersionHas) {
    std::size_t count = 0;
    for (const std::string granularity : {"", ".warp", ".grid"})
        for (const std::string event : {"kernel_entry", "kernel_exit", "load", "store", "atomic", "mem", "load_return",
                                        "atomic_return", "async_copy"})
            for (const std::string space : {"", ".global", ".shared", ".local", ".const", ".generic"})
                for (const std::string kernel : {"", "/*gemm*", "/ns::f<int>(float*, a/b)"}) {
                    if (event.starts_with("kernel") ? !space.empty() : granularity == ".grid")
                        continue;
                    const std::string section = "gpu" + granularity + "/" + event + space + kernel;
                    const auto point = parse_section(section);
                    ASSERT_TRUE(point) << section << to_text(point.error());
                    EXPECT_EQ(to_section(*point), section);
                    EXPECT_EQ(point->granularity == Granularity::warp, granularity == ".warp");
                    EXPECT_EQ(point->granularity == Granularity::grid, granularity == ".grid");
                    EXPECT_EQ(point->kernel_pattern, kernel.empty() ? "" : kernel.substr(1));
                    EXPECT_EQ(point->space.has_value(), !space.empty());
                    ++count;
                }
    EXPECT_EQ(count, 2u * 3 * (2 + 7 * 6) + 2 * 3);
}

TEST(Section, EventsThatLookAtInstructions) {
    for (const std::string granularity : {"gpu/", "gpu.warp/"})
        for (const std::string event : {"barrier", "branch", "basic_block", "call", "mma"})
            for (const std::string kernel : {"", "/*gemm*"}) {
                const auto point = parse_section(granularity + event + kernel);
                ASSERT_TRUE(point) << event << to_text(point.error());
                EXPECT_EQ(to_section(*point), granularity + event + kernel);
                EXPECT_EQ(point->kernel_pattern, kernel.empty() ? "" : "*gemm*");
                EXPECT_EQ(context_of(point->event), ContextKind::kernel);
            }
    const auto point = parse_section("gpu.warp/instruction/ld.global.*.v4.*");
    ASSERT_TRUE(point);
    EXPECT_EQ(point->opcode_pattern, "ld.global.*.v4.*");
    EXPECT_EQ(point->kernel_pattern, "");  // the pattern takes its place
    EXPECT_EQ(to_section(*point), "gpu.warp/instruction/ld.global.*.v4.*");
}

TEST(Section, NumbersOfSpacesAreThoseOfTheHeader) {
    EXPECT_EQ(parse_section("gpu/load.const")->space, Space::constant);
    EXPECT_EQ(static_cast<int>(Space::constant), 3);
    EXPECT_EQ(static_cast<int>(Space::generic), 4);
    EXPECT_EQ(static_cast<int>(Access::atomic), 2);
    EXPECT_STREQ(to_name(Access::store), "store");
}

TEST(Section, RefusalsSayWhatWasMeant) {
    struct Row {
        const char *section, *code, *message, *hint;
    };
    for (const auto& row : {
             Row{"gpu/lod", "EGPU-B010", "unknown event 'lod'", "did you mean 'load'?"},
             {"gpu/kernel_enrty", "EGPU-B010", "unknown event", "did you mean 'kernel_entry'?"},
             {"gpu/load.globl", "EGPU-B010", "unknown space 'globl'", "did you mean 'global'?"},
             {"gpu/load.", "EGPU-B010", "names no space", "one of: global"},
             {"gpu.wrap/load", "EGPU-B010", "unknown granularity 'wrap'", "did you mean 'warp'?"},
             {"gpu.thread/load", "EGPU-B010", "unknown granularity 'thread'",
              "gpu/ alone runs for each thread: gpu/load"},
             {"gpu/kernel_entry:vec_add", "EGPU-B010", "unknown event", "did you mean 'gpu/kernel_entry/vec_add'?"},
             {"gpu/kernel_enrty:vec_add", "EGPU-B010", "unknown event", "did you mean 'gpu/kernel_entry/vec_add'?"},
             {"gpu/load,store", "EGPU-B010", "unknown event", "one event; mem is load, store and atomic"},
             {"gpu/kernel", "EGPU-B010", "unknown event 'kernel'", "did you mean 'kernel_entry'?"},
             {"gpu/exit", "EGPU-B010", "unknown event 'exit'", "did you mean 'kernel_exit'?"},
             {"gpu./load", "EGPU-B010", "names no granularity", "one of"},
             {"gpu", "EGPU-B010", "names no event", "one of: kernel_entry"},
             {"gpu/", "EGPU-B010", "names no event", "one of"},
             {"gpu/mem/", "EGPU-B010", "names no kernel", "leave the '/' out"},
             {"gpu/mem.global/", "EGPU-B010", "names no kernel", "glob"},
             {"gpu//x", "EGPU-B010", "names no event", "one of"},
             {"uprobe/x", "EGPU-B010", "not an injection point", "SEC("},
             {"gpu/kernel_entry.global", "EGPU-B011", "has no space", "belongs to load"},
             {"gpu/instruction", "EGPU-B011", "names no instruction", "ld.global.*"},
             {"gpu.grid/load", "EGPU-B011", "'grid' is not offered at 'load'", "kernel_entry"},
             {"gpu.block/mem.global", "EGPU-B011", "'block' is not offered at 'mem'", "kernel_exit"},
             {"gpu.block/kernel_entry/k", "EGPU-B012", "granularity 'block'", "gpu.grid/"},
             {"gpu/instruction/", "EGPU-B011", "names no instruction", "ld.global.*"},
             {"gpu/barrier.shared", "EGPU-B011", "'barrier' has no space", "belongs to load"},
             {"gpu.grid/branch", "EGPU-B011", "'grid' is not offered at 'branch'", "kernel_exit"},
         }) {
        const auto point = parse_section(row.section);
        ASSERT_FALSE(point) << row.section;
        EXPECT_EQ(point.error().code, row.code) << row.section;
        EXPECT_THAT(point.error().message, HasSubstr(row.message)) << row.section;
        EXPECT_THAT(point.error().hints.at(0), HasSubstr(row.hint)) << row.section;
    }
}

TEST(Section, OfTheGpuOrNot) {
    for (const char* section : {"gpu", "gpu/load", "gpu.warp/load", "gpu.", "gpu/"})
        EXPECT_TRUE(is_gpu_section(section)) << section;
    for (const char* section : {"", "gpus/load", "uprobe/gpu", "GPU/load", ".text", "?gpu/load"})
        EXPECT_FALSE(is_gpu_section(section)) << section;
}

/// "grid_dim.x" -> offset and bytes, from the BTF of a struct.
void flatten(const Btf& btf, const btf_type* type, const std::string& prefix, std::uint32_t offset,
             std::map<std::string, std::pair<std::uint32_t, std::uint32_t>>& out) {
    for (const auto& member : Btf::rows<btf_member>(type)) {
        const auto* inner = btf.strip(member.type);
        const auto at = offset + Btf::place_of(type, member).first / 8;
        const auto name = prefix + std::string(btf.text(member.name_off));
        if (Btf::kind(inner) == BTF_KIND_STRUCT)
            flatten(btf, inner, name + ".", at, out);
        else
            out[name] = {at, *btf.bytes_of(member.type)};
    }
}

TEST(Context, TableEqualsTheHeader) {
    const auto bytes = read_file(EGPU_OBJECTS "/contexts.bpf.o");
    ASSERT_TRUE(bytes);
    const auto source = Source::open(*bytes, "contexts");
    ASSERT_TRUE(source) << to_text(source.error());
    const auto& btf = source->btf;
    std::set<std::string> checked;
    for (std::uint32_t id = 1; id < btf.count(); ++id) {
        const auto* type = btf.type(id);
        const std::string name(btf.name(type));
        if (Btf::kind(type) != BTF_KIND_STRUCT || (name != "egpu_kernel_ctx" && name != "egpu_mem_ctx"))
            continue;
        checked.insert(name);
        const auto kind = name == "egpu_kernel_ctx" ? ContextKind::kernel : ContextKind::mem;
        EXPECT_EQ(type->size, context_bytes(kind));
        std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> header;
        flatten(btf, type, "", 0, header);
        std::size_t rows = 0;
        for (const auto& field : context_fields()) {
            if (field_named(kind, field.name) == nullptr)
                continue;
            ++rows;
            ASSERT_TRUE(header.contains(std::string(field.name))) << field.name;
            EXPECT_EQ(header[std::string(field.name)], std::pair(field.offset, field.bytes)) << field.name;
            EXPECT_EQ(field_at(kind, field.offset, field.bytes), &field);
            EXPECT_EQ(field_at(kind, field.offset, field.bytes / 2), nullptr);
            EXPECT_EQ(field_at(kind, field.offset + 1, field.bytes), nullptr);
        }
        EXPECT_EQ(rows, header.size()) << name;  // and the header has no more
    }
    EXPECT_EQ(checked.size(), 2u);
}

TEST(Context, KernelEventsHaveNoAddress) {
    EXPECT_EQ(context_of(Event::kernel_exit), ContextKind::kernel);
    EXPECT_EQ(context_of(Event::load_return), ContextKind::mem);
    EXPECT_EQ(field_named(ContextKind::kernel, "address"), nullptr);
    EXPECT_NE(field_named(ContextKind::mem, "address"), nullptr);
    EXPECT_EQ(field_named(ContextKind::mem, "latency")->when, ContextField::When::return_events);
    EXPECT_EQ(field_named(ContextKind::kernel, "elapsed")->when, ContextField::When::grid_exit);
    EXPECT_EQ(field_named(ContextKind::mem, "elapsed"), nullptr);
}

}  // namespace
}  // namespace egpu::ebpf

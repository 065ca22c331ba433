// SPDX-License-Identifier: Apache-2.0
// Probes put into a module of one kernel, at a load that may be guarded.
#pragma once

#include <fmt/format.h>

#include "../../ebpf/specializer/programs.hpp"
#include "inject/codegen/codegen.hpp"
#include "inject/standalone/standalone.hpp"
#include "maps/storage/storage.hpp"

namespace egpu::inject::testing {

using namespace egpu::ebpf;
using namespace egpu::ebpf::testing;

/// One program at one site. `object` must outlive it.
struct Harness {
    Target target;
    SiteBinding site;
    FunctionContext function;
    Table table;
    std::vector<maps::Layout> layouts;

    explicit Harness(const Object& object, std::uint32_t sm = 75, std::uint32_t shards = 4) {
        function.target.sm = sm;
        function.required = version_for(sm);
        function.table = &table;
        function.layouts = &layouts;
        for (const auto& map : object.maps) {
            layouts.push_back(maps::layout_of(map, shards));
        }
        const auto& point = object.programs.at(0).point;
        site.granularity = point.granularity;
        site.event = point.event;
        site.kernel_id = 3;
        site.site_id = 7;
        if (context_of(point.event) == ContextKind::mem) {
            site.space = Space::global;
            site.bytes_per_lane = 4;
            site.address_base = "%rd4";
            site.address_offset = 16;
        }
        site.arguments = {{"data", 8}, {"count", 4}};
    }

    SiteConstants constants() const {
        SiteConstants known;
        known.fields = {{"kernel", site.kernel_id}, {"site", site.site_id}};
        if (!site.space)
            return known;
        if (*site.space != Space::generic)
            known.fields["space"] = static_cast<std::uint64_t>(*site.space);
        known.fields["access"] = static_cast<std::uint64_t>(site.access);
        if (site.bytes_register.empty())
            known.fields["bytes_per_lane"] = site.bytes_per_lane;
        return known;
    }

    void keep(std::vector<StaticElement> elements) {
        for (const auto& element : elements)
            function.accumulators.push_back(
                {{{element, 1}}, fmt::format("%egpu_acc{}", function.accumulators.size()), false});
    }

    Result<EmittedProbe> emit(const Object& object) {
        SlotGiver slots{&object, 1000, {}, 0};
        auto program = ebpf::testing::confirmed(object, constants(), slots);
        if (!program)
            return program.errors();
        return emit_probe(*program, site, 0, function);
    }

    /// Each thread loads data[tid + 4], where tid < count; the probe stands before (or for `after`, behind) the load.
    /// With `some_leave`, every fourth thread leaves between probe and load, by an exit of its own.
    std::string module(const EmittedProbe& probe, bool after = false, bool some_leave = false) {
        const std::string start = emit_accumulator_start(function);
        const std::string flush = emit_accumulator_flush(function, false);
        std::string leave;
        if (some_leave)
            leave = "\tand.b32 %r5, %r1, 3;\n\tsetp.ne.u32 %p3, %r5, 1;\n\t@%p3 bra STAY;\n" +
                    emit_accumulator_flush(function, false) + "\tret;\nSTAY:\n";
        const std::string load = fmt::format("\t@%p1 ld.global.f32 %f1, [%rd4+16];\n");
        return fmt::format(".version {}.{}\n.target sm_{}\n.address_size 64\n{}", function.required.ptx_major,
                           function.required.ptx_minor, function.target.sm, table.declaration()) +
               ".visible .entry harness(.param .u64 data, .param .u32 count)\n{\n"
               "\t.reg .pred %p<4>;\n\t.reg .f32 %f<8>;\n\t.reg .b16 %rs<4>;\n\t.reg .b32 %r<8>;\n\t.reg .b64 %rd<8>;\n"
               "\t.reg .f64 %fd<4>;\n" +
               start +
               "\tld.param.u64 %rd1, [data];\n\tcvta.to.global.u64 %rd2, %rd1;\n\tmov.u32 %r1, %tid.x;\n"
               "\tmul.wide.u32 %rd3, %r1, 4;\n\tadd.s64 %rd4, %rd2, %rd3;\n\tld.param.u32 %r2, [count];\n"
               "\tsetp.lt.u32 %p1, %r1, %r2;\n\tmov.u64 %rd5, %clock64;\n\tmov.f32 %f1, 0f3F800000;\n"
               "\tmov.f32 %f2, 0f40000000;\n\tmov.u16 %rs1, 7;\n\tcvt.u32.u64 %r4, %rd4;\n" +
               (after ? load + probe.text : probe.text + leave + load) + "\t@%p1 st.global.f32 [%rd4+16], %f1;\n" +
               flush + "\tret;\n}\n";
    }
};

inline int count_of(const std::string& text, std::string_view part) {
    int count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

}  // namespace egpu::inject::testing

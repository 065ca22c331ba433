// SPDX-License-Identifier: Apache-2.0
// All that stands at one instruction: programs before it, counts, programs at a value that has arrived.
//
//   before:  $L2: @%p1 add.s32 %r1, %r1, 4;        after:  $L2: <at basic_block>
//                                                          <at instruction/add.*, guarded by %p1>
//                                                          { selp.b32 %egpu_w0, 1, 0, %p1;
//                                                            cvt.u64.u32 %egpu_d0, %egpu_w0;
//                                                            add.s64 %egpu_acc0, %egpu_acc0, %egpu_d0; }
//                                                          @%p1 add.s32 %r1, %r1, 4;
//
//   before:  @%p1 bra $L2;                         after:  <at branch, whichever way the lanes go>
//                                                          @%p1 bra $L2;
//
//   before:  st.param.b32 [param0], %r1;           after:  <at call>
//            call.uni (retval0), f, (param0);              st.param.b32 [param0], %r1;
//            ld.param.b32 %r2, [retval0];                  call.uni (retval0), f, (param0);
//                                                          ld.param.b32 %r2, [retval0];
//                                                          <at instruction/ld.param.*>
// Programs at one instruction stand in the order in which they are attached; none changes what another sees. Memory
// events are in memory.cpp, the timed load in load_return.cpp.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "inject/rewrite/writer.hpp"

namespace egpu::inject {
namespace {

/// A program asks for the value of an instruction that has none that could be read; it may run elsewhere.
constexpr std::string_view kNoValue = "EGPU-P226";

bool is_at_memory(const FunctionWriter& writer, const Firing& firing) {
    const auto event = writer.request().programs[firing.program].program->point.event;
    return ebpf::context_of(event) == ebpf::ContextKind::mem;
}

bool has_control_flow(std::string_view text) {
    for (const std::string_view sign : {"bra", "call", "ret;", "exit;", "$egpu_"})
        if (text.find(sign) != std::string_view::npos)
            return true;
    return false;
}

/// True where the firing may be inserted here; else it is in the notes.
bool may_insert(FunctionWriter& writer, const Firing& firing, std::string_view text) {
    const std::size_t index = writer.index_of(*firing.site.anchor);
    if (!firing.site.behind && writer.inside_call_sequence(index)) {
        writer.skip(firing, "EGPU-P256", "it stands between the arguments of a call and the call, or its result");
        return false;
    }
    if (!writer.straight_code_only(index) || (!has_control_flow(text) && !writer.request().spare_wgmma))
        return true;
    writer.skip(firing, "EGPU-P255", "it stands between wgmma.fence and commit_group");
    return false;
}

/// At an instruction that is looked at for what it is.
Result<std::string> plain_text(FunctionWriter& writer, const Firing& firing) {
    return writer.emit(firing, guarded_binding(firing.site));
}

Result<std::string> text_of(FunctionWriter& writer, const Firings& firings, std::string_view base = {},
                            std::string_view latency = {}) {
    std::string text;
    for (const Firing* firing : firings) {
        if (writer.is_counted(*firing))
            continue;
        auto one =
            is_at_memory(writer, *firing) ? memory_text(writer, *firing, base, latency) : plain_text(writer, *firing);
        if (!one && one.error().code == kNoValue) {
            writer.skip(*firing, kNoValue, one.error().message);
            continue;
        }
        if (!one)
            return one;
        if (may_insert(writer, *firing, *one))
            text += *one;
    }
    return text;
}

/// A place counts where at least one program stayed.
void count_place(FunctionWriter& writer, const AtInstruction& firings) {
    for (const Firings* list : {&firings.before, &firings.behind, &firings.returned})
        for (const Firing* firing : *list)
            if (!writer.is_skipped(*firing))
                return writer.count_place();
}

Status insert_before(FunctionWriter& writer, const ptx::Instruction& instruction, const AtInstruction& firings) {
    auto text = text_of(writer, firings.before);
    if (!text)
        return text.errors();
    *text += writer.counts_at(instruction, false);
    std::string counts = writer.counts_at(instruction, true);
    if (!firings.returned.empty())  // a load that is timed: nothing but the clock may stand behind it
        *text += std::exchange(counts, {});
    if (!text->empty())
        writer.editor().insert_before(instruction.range, fmt::format("{}\t", inserted(*text)));
    if (!counts.empty()) {
        counts.pop_back();
        writer.editor().insert_after(instruction.range, "\n" + counts);
    }
    return ok();
}

Status insert_returned(FunctionWriter& writer, const ptx::Instruction& instruction, const Firings& firings) {
    if (firings.empty())
        return ok();
    const TimedLoad timed = time_load(writer, *firings.front());
    const auto text = text_of(writer, firings, timed.address, timed.latency);
    if (!text)
        return text.errors();
    if (text->empty())
        return ok();
    writer.editor().insert_before(instruction.range, timed.before);
    writer.editor().insert_after(instruction.range, timed.after + *text + "\t}");
    writer.count(timed.instructions);
    return ok();
}

Status insert_behind(FunctionWriter& writer, const ptx::Instruction& instruction, const Firings& firings) {
    auto text = text_of(writer, firings);
    if (!text)
        return text.errors();
    if (text->empty())
        return ok();
    text->pop_back();
    writer.editor().insert_after(instruction.range, "\n" + *text);
    return ok();
}

}  // namespace

Status rewrite_instruction(FunctionWriter& writer, const ptx::Instruction& instruction, const AtInstruction& firings) {
    auto status = insert_before(writer, instruction, firings);
    if (status)
        status = insert_returned(writer, instruction, firings.returned);
    if (status)
        status = insert_behind(writer, instruction, firings.behind);
    count_place(writer, firings);
    return status;
}

}  // namespace egpu::inject

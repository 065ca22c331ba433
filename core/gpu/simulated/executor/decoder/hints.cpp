// SPDX-License-Identifier: Apache-2.0
// Instructions that change nothing which a program can see here: fences (all memory is in order), prefetches, cache
// policies, register counts, dependent launches. Their forms are checked all the same.
#include <fmt/format.h>

#include "gpu/simulated/executor/decoder/function_decoder.hpp"
#include "gpu/simulated/executor/machine/cost.hpp"

namespace egpu::simulated {
namespace {
using Kind = ptx::Operand::Kind;
}

/// Nothing of the opcode may be left, and there are `least` to `most` operands.
bool FunctionDecoder::form_is_known(const Parts& parts, bool known, std::size_t least, std::size_t most) {
    if (!known || !parts.done()) {
        missing(fmt::format("'{}'{}", current_->opcode, parts.done() ? "" : fmt::format(" ({})", parts.rest())));
        return false;
    }
    return want(least, most);
}

/// membar.LEVEL, membar.proxy.P; fence{.SEM}.SCOPE, fence.SEM.sync_restrict::S.cluster,
/// fence.mbarrier_init.release.cluster, fence.proxy.P, fence.proxy.tensormap::generic.acquire.SCOPE [a], size, ... (PTX
/// ISA 9.0, section 9.7.13.4).
void FunctionDecoder::decode_fence() {
    Parts parts(current_->parts);
    std::size_t operands = 0;
    bool known = false;
    if (parts.take("proxy")) {
        const std::string_view proxy =
            parts.take_any({"alias", "async", "async.global", "tensormap::generic", "async::generic"});
        const std::string_view order = parts.take_any({"release", "acquire"});
        parts.take_any({"global", "shared::cta", "shared::cluster"});
        parts.take_any({"sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
        parts.take_any({"cta", "cluster", "gpu", "sys"});
        operands = proxy == "tensormap::generic" && order == "acquire" ? 2 : 0;
        known = !proxy.empty();
    } else {
        const bool is_membar = parts.root() == "membar";
        const std::string_view order =
            is_membar ? std::string_view{} : parts.take_any({"sc", "acq_rel", "acquire", "release"});
        const bool restricted =
            !parts.take_any({"sync_restrict::shared::cta", "sync_restrict::shared::cluster"}).empty();
        const bool of_init = !is_membar && parts.take("mbarrier_init");
        const std::string_view scope =
            is_membar ? parts.take_any({"cta", "gl", "sys"}) : parts.take_any({"cta", "cluster", "gpu", "sys"});
        known = !scope.empty() && ((!restricted && !of_init) || order == "acquire" || order == "release");
    }
    if (form_is_known(parts, known, operands, operands)) {
        decode_simple(Control::none, cost::kFence);
    }
}

/// prefetch{.SPACE}.LEVEL [a], prefetch.tensormap [a], prefetchu.L1 [a], applypriority{.global}.L2::evict_normal [a],
/// 128, discard{.global}.L2 [a], 128. discard may leave anything in memory; here it leaves what is there.
void FunctionDecoder::decode_prefetch() {
    Parts parts(current_->parts);
    AddressSpace space = take_space(parts).value_or(AddressSpace::generic);
    const bool sized = parts.root() == "applypriority" || parts.root() == "discard";
    const bool known = !parts.take_any({"L1", "L2", "L2::evict_last", "L2::evict_normal", "tensormap"}).empty();
    const std::size_t operands = sized ? 2 : 1;
    if (form_is_known(parts, known, operands, operands) && address(current_->operands[0], space)) {
        decode_simple(Control::none, cost::kArithmetic);
    }
}

/// createpolicy.fractional|range|cvt...b64 p, ...: a policy is a word that only caches understand, here 0.
void FunctionDecoder::decode_create_policy() {
    Parts parts(current_->parts);
    const std::string_view how = parts.take_any({"fractional", "range", "cvt"});
    parts.take("global");
    bool levels = parts.take("L2");
    for (const std::string_view level :
         {"L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"}) {
        levels |= parts.take(level);
    }
    const bool known = !how.empty() && levels && parts.take_type() == Type::b64;
    if (!form_is_known(parts, known, how == "range" ? 4 : how == "cvt" ? 2 : 1, how == "range" ? 4 : 2)) {
        return;
    }
    Instruction instruction = begin();
    instruction.handler = copy_handler(Type::b64);
    instruction.sources[0] = builder_.constant(0, true);
    const Target result = target(current_->operands[0], Type::b64);
    instruction.destination = result.place;
    emit(instruction);
    finish(result);
}

/// griddepcontrol.launch_dependents, .wait: a launch begins here when the one before it has ended.
void FunctionDecoder::decode_grid_dependency() {
    Parts parts(current_->parts);
    const bool known = !parts.take_any({"launch_dependents", "wait"}).empty();
    if (form_is_known(parts, known, 0, 0)) {
        decode_simple(Control::none, cost::kArithmetic);
    }
}

/// setmaxnreg.inc|dec.sync.aligned.u32 n: registers are no scarce thing here.
void FunctionDecoder::decode_register_count() {
    Parts parts(current_->parts);
    const bool known = !parts.take_any({"inc", "dec"}).empty() && parts.take("sync") && parts.take("aligned") &&
                       parts.take_type() == Type::u32;
    if (!form_is_known(parts, known, 1, 1)) {
        return;
    }
    const ptx::Operand& count = current_->operands[0];
    if (count.kind != Kind::integer || count.integer < 24 || count.integer > 256 || count.integer % 8 != 0) {
        malformed(
            fmt::format("'{}' with '{}', which is no multiple of 8 from 24 to 256", current_->opcode, count.text));
        return;
    }
    decode_simple(Control::none, cost::kArithmetic);
}

/// nanosleep.u32 t.
void FunctionDecoder::decode_sleep() {
    Parts parts(current_->parts);
    if (form_is_known(parts, parts.take_type() == Type::u32, 1, 1)) {
        source(current_->operands[0], Type::u32);
        decode_simple(Control::yield, cost::kFence);
    }
}

}  // namespace egpu::simulated

// SPDX-License-Identifier: Apache-2.0
// What is safe and still deserves a word: what this version can't translate yet (the specialiser refuses it with the
// same code where a probe is injected), and updates that may be lost.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"
#include "ebpf/verifier/source/expression.hpp"

namespace egpu::ebpf {

std::optional<Refusal> note_map_varies(const Scene& scene, const Helper& called) {
    if (scene.state.get(1).scalar.variability == Variability::site)
        return std::nullopt;
    Refusal note;
    note.code = "EGPU-V054";
    note.message = fmt::format("which map {} gets is known only when the program runs", called.name);
    note.why = "egpu has to know the map where the probe is injected, and refuses it there";
    note.fix =
        "look up in both maps before the branch and choose between the results; or use one array with the choice as "
        "index";
    return note;
}

/// Of what is sent from a place that isn't known.
static Refusal note_record_place() {
    Refusal note;
    note.code = "EGPU-V056";
    note.message = "what is sent is read at a place known only when the program runs";
    note.why = "egpu takes it from a variable or a constant only: the probe is refused where it is injected";
    note.fix = "copy it to a local variable, and pass its address";
    return note;
}

std::optional<Refusal> note_argument_place(const Scene& scene, const MemoryAccess& access) {
    const bool varies = !span_of(access).exact && access.pointer.scalar.variability != Variability::site;
    if (access.pointer.kind != Kind::map_value && !varies)
        return std::nullopt;
    if (access.is_record)
        return note_record_place();
    const MapDefinition& map = scene.map(scene.state.get(1).map);
    const char* what = !access.is_key ? "new value" : map.is_array() ? "index" : "key";
    Refusal note;
    note.code = "EGPU-V056";
    note.message = fmt::format("the {} for {} '{}' {}", what, map.is_array() ? "array" : "hash", map.name,
                               varies ? "is read at a place known only when the program runs" : "is read in a map");
    note.why = "egpu takes it from a variable or a constant only: the probe is refused where it is injected";
    note.fix = access.is_key ? map.is_array() ? "copy the index to a local __u32 variable, and pass its address"
                                              : "copy the key to a local variable, and pass its address"
                             : "copy the value to a local variable, and pass its address";
    return note;
}

Refusal note_constant_index() {
    Refusal note;
    note.code = "EGPU-V055";
    note.message = "a constant table is read at an index known only when the program runs";
    note.why = "egpu can't do that yet: the probe is refused where it is injected";
    note.fix = "use an array map, or a switch over the values";
    return note;
}

/// A 1 is a flag's, a 0 empties; else it is a number that counts or is an extreme, or a state.
static std::string instead_of_test_and_store(const Scene& scene, const Value& stored) {
    const std::string expression = stored_expression(scene);
    const std::string word = address_of(expression.empty() ? "flag" : expression);
    if (!stored.is_constant())
        return kUpdatesAtOnce;
    const auto number = static_cast<std::int64_t>(stored.scalar.value());
    if (number == 1)
        return fmt::format("__sync_val_compare_and_swap({}, 0, 1) == 0 for exactly one thread", word);
    if (number == 0)
        return fmt::format("__sync_lock_test_and_set({}, 0) stores 0 and gives what was there, at once: test that",
                           word);
    return fmt::format("{}; __sync_val_compare_and_swap({}, before, {}) gives 'before' to exactly one thread",
                       kUpdatesAtOnce, word, number);
}

std::optional<Refusal> note_decided_store(const Scene& scene, const MemoryAccess& access, const Value& stored) {
    const std::uint64_t map = map_bit(access.pointer.map);
    bool decided = false;
    for (const Divergence& open : scene.state.divergences)
        decided = decided || (open.plainly_loaded_from & map) != 0;
    if (!decided)
        return std::nullopt;
    Refusal note;
    note.code = "EGPU-V031";
    note.message = fmt::format("{} is tested and stored in two steps", name_of(scene, access.pointer));
    note.why = "other threads may store in between: of two updates at once one is lost, and the result is approximate";
    note.fix = instead_of_test_and_store(scene, stored);
    return note;
}

std::optional<Refusal> note_compare_exchange(const Scene& scene, const MemoryAccess& access) {
    const std::uint64_t read = scene.state.get(0).scalar.loaded_from;
    if ((read & map_bit(access.pointer.map)) == 0)
        return std::nullopt;  // expects a number of its own, as a claim does: who finds another has nothing to store
    Refusal note;
    note.code = "EGPU-V032";
    note.message =
        fmt::format("an update of {} by compare-and-exchange may be given up", name_of(scene, access.pointer));
    note.why =
        "it stores nothing where another thread was faster, and its tries are bounded: when all threads of the GPU try "
        "at once, some end without success, and the result is approximate";
    note.fix = fmt::format("{}; of other updates some are lost, however many tries there are", kUpdatesAtOnce);
    return note;
}

std::optional<Refusal> note_leaders_field(const Scene& scene, const ContextField& field) {
    const Granularity granularity = scene.program.point.granularity;
    const std::string name(field.name.substr(0, field.name.find('.')));
    if (granularity == Granularity::thread || (name != "lane" && name != "thread"))
        return std::nullopt;
    const bool warp = granularity == Granularity::warp;
    const auto slash = scene.program.section.find('/');
    Refusal note;
    note.code = "EGPU-V033";
    note.message = fmt::format("'{}' is the leader's here", name);
    note.why = fmt::format("{} runs once a {}, for one {}", scene.program.section, warp ? "warp" : "launch",
                           warp ? "lane" : "thread");
    note.fix = fmt::format("for each thread: SEC(\"gpu{}\")",
                           slash == std::string::npos ? "/..." : scene.program.section.substr(slash));
    if (warp)
        note.fix += "; ctx->warp is the warp's number in its block";
    return note;
}

std::optional<Refusal> note_added_by_all(const Scene& scene, const MemoryAccess& access, const Value& added) {
    const bool apart = std::ranges::any_of(
        scene.state.divergences, [](const Divergence& open) { return open.variability == Variability::lane; });
    const bool by_each = scene.program.point.granularity == Granularity::thread && !apart && !scene.state.lanes_looped;
    // Where each lane has a value of its own to add to, what it adds is its own matter.
    const bool one_place = access.pointer.scalar.variability != Variability::lane;
    const Scalar& number = added.scalar;
    if (!by_each || !one_place || number.origin != Origin::of_all_lanes || number.variability == Variability::lane)
        return std::nullopt;
    Refusal note;
    note.code = "EGPU-V034";
    note.message =
        fmt::format("each of the warp's lanes adds to {} what is of all of them", name_of(scene, access.pointer));
    note.why = "the number is the same for all lanes, so that the sum is up to 32 times too large";
    const bool asks_lanes = std::ranges::any_of(scene.program.instructions, [](const Instruction& each) {
        const Helper* called = called_helper(each);
        return called != nullptr && called->asks_lanes();
    });
    // A program that one lane runs can't ask the others.
    note.fix = fmt::format("{}add in one lane only: if (ctx->lane == egpu_lanes_min(ctx->lane))",
                           asks_lanes ? "" : "use SEC(\"gpu.warp/...\"), or ");
    return note;
}

std::optional<Refusal> note_index(const Scene& scene, const Helper& called, const MemoryAccess& key) {
    const MapDefinition& map = scene.map(scene.state.get(1).map);
    const Span span = span_of(key);
    if (!map.is_array() || !span.exact || key.bytes != 4)
        return std::nullopt;
    std::uint32_t index = 0;
    if (key.pointer.kind == Kind::stack) {
        StackFault fault;
        const auto held =
            scene.state.frames[key.pointer.frame].stack.read(static_cast<std::int32_t>(span.first), 4, fault);
        if (!held || !held->is_constant())
            return std::nullopt;
        index = static_cast<std::uint32_t>(held->scalar.value());
    } else if (key.pointer.kind == Kind::constants) {
        std::memcpy(&index, scene.object.constants.data() + span.first, 4);
    } else {
        return std::nullopt;
    }
    if (index < map.max_entries)
        return std::nullopt;
    Refusal note;
    note.code = "EGPU-V035";
    note.message = fmt::format("index {} of array '{}', which has {} {}", index, map.name, map.max_entries,
                               map.max_entries == 1 ? "entry" : "entries");
    note.why = called.id == HelperId::map_update_elem
                   ? "the update always fails: the last index is max_entries - 1"
                   : "the lookup always gives NULL: the last index is max_entries - 1";
    note.fix = fmt::format("use an index below {}, or a larger max_entries", map.max_entries);
    return note;
}

std::optional<Refusal> note_never_absent(const Scene& scene, const Helper& called) {
    const MapDefinition& map = scene.map(scene.state.get(1).map);
    const Value flags = scene.state.get(4);
    if (called.id != HelperId::map_update_elem || !map.is_array() || !flags.is_constant() || flags.scalar.value() != 1)
        return std::nullopt;
    Refusal note;
    note.code = "EGPU-V036";
    note.message = fmt::format("with BPF_NOEXIST an update of array '{}' never writes", map.name);
    note.why = "all elements of an array are there from the start: the call always gives -EEXIST";
    note.fix = "pass BPF_ANY";
    return note;
}

}  // namespace egpu::ebpf

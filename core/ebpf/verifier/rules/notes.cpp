// SPDX-License-Identifier: Apache-2.0
// What is safe and still deserves a word: what this version can't translate yet (the specialiser refuses it with the
// same code where a probe is injected), and updates that may be lost.
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
    note.why = "this version must know the map where the probe is injected, and will refuse it there";
    note.fix = fmt::format("call {} in each branch, with its own map", called.name);
    return note;
}

std::optional<Refusal> note_argument_place(const Scene& scene, const MemoryAccess& access) {
    const MapDefinition& map = scene.map(scene.state.get(1).map);
    const bool varies = !span_of(access).exact && access.pointer.scalar.variability != Variability::site;
    if (access.pointer.kind != Kind::map_value && !varies)
        return std::nullopt;
    const char* what = !access.is_key ? "new value" : map.is_array() ? "index" : "key";
    Refusal note;
    note.code = "EGPU-V056";
    note.message = fmt::format("the {} for {} '{}' {}", what, map.is_array() ? "array" : "hash", map.name,
                               varies ? "is read at a place known only when the program runs" : "is read in a map");
    note.why = "this version takes it from a variable or a constant: the probe will be refused where it is injected";
    note.fix = access.is_key ? map.is_array() ? "copy the index to a local __u32 variable, and pass its address"
                                              : "copy the key to a local variable, and pass its address"
                             : "copy the value to a local variable, and pass its address";
    return note;
}

Refusal note_constant_index() {
    Refusal note;
    note.code = "EGPU-V055";
    note.message = "a constant table is read at an index known only when the program runs";
    note.why = "this version can't do that: the probe will be refused where it is injected";
    note.fix = "use an array map, or a switch over the values";
    return note;
}

std::optional<Refusal> note_decided_store(const Scene& scene, const MemoryAccess& access) {
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
    note.fix =
        "count with __sync_fetch_and_add; for a maximum, __sync_val_compare_and_swap in a loop with a small bound";
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
    note.fix = "count with __sync_fetch_and_add; for what can't be added, such as a maximum, allow many tries";
    return note;
}

}  // namespace egpu::ebpf

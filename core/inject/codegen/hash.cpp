// SPDX-License-Identifier: Apache-2.0
// Look-ups in hash maps by keys that are known only at run time (maps/layout/hash_table.hpp). Nobody waits for anything
// but an entry that another thread is just making, and for that not for long; who finds no room is counted.
//
//   r0 = egpu_map_lookup_or_init(&pages, &page)
//   after:    <%k0: the key, %h: its hash>
//             $egpu_0:
//             ld.acquire.gpu.u32 %w, [bucket];
//             <free and room: atom.cas claims it, the entry is made: key, fence, ready; the bucket names it>
//             @%made bra $egpu_2;
//             <claimed by another: once more>
//             <its key is this one: found>   bra $egpu_2;
//             <next bucket>                  bra $egpu_0;
//             $egpu_1:                       nothing found; where one was to be made, counted
//             $egpu_2:
// An entry is made in straight predicated code, not behind a branch: lanes that want the same bucket wait for a lane of
// their own warp, which below sm_70 goes on only when they do.
#include <algorithm>

#include "ebpf/helpers/helpers.hpp"
#include "inject/codegen/emitter.hpp"
#include "maps/storage/storage.hpp"

namespace egpu::inject {

using namespace ebpf;

namespace {

/// With half of the buckets taken, runs of this length don't occur.
constexpr std::uint32_t kMostProbes = 512;
/// Times that a thread looks at a bucket which another has claimed. The other is a few instructions away from the end,
/// so this is only ever reached where it is gone (a trap), or, on the simulated GPU, where its host thread sleeps: some
/// tenths of a second. (1 << 14 was too few there: 2 of 400,000 look-ups on a busy machine.)
constexpr std::uint32_t kMostWaits = 1 << 20;
/// The golden ratio's multiplier, as in Fibonacci hashing: Knuth, TAOCP volume 3, 6.4.
constexpr std::uint64_t kHashFactor = 0x9e3779b97f4a7c15;

}  // namespace

/// Memory forms by target: sm_60 has no acquire and no scope.
struct Emitter::HashForms {
    const char *load, *acquire, *store;
    bool has_scopes;
};

Emitter::HashForms Emitter::hash_forms() {
    if (!has_scoped_atomics())
        return {"ld.volatile.global", "ld.volatile.global", "st.volatile.global", false};
    require_version(6, 0);
    return {"ld.relaxed.gpu.global", "ld.acquire.gpu.global", "st.relaxed.gpu.global", true};
}

/// The key's bytes as words, padded with zeroes.
std::vector<std::string> Emitter::key_words(std::uint32_t at, std::uint32_t key_bytes) {
    const Value& key = program_.facts[at].arguments[1];
    const bool whole = key_bytes == 1 || key_bytes == 2 || key_bytes == 4 || key_bytes == 8;
    std::vector<std::string> words;
    for (std::uint32_t done = 0; done < key_bytes;) {
        const bool is_constant = key.kind == Value::Kind::constant_data;
        const std::uint32_t chunk = is_constant ? std::min(8 - done % 8, key_bytes - done)
                                    : whole     ? key_bytes
                                            : chunk_at(done, key_bytes, key.offset + ebpf::specializer::kFrameBytes);
        const std::string part = registers_.b64();
        if (is_constant)
            emit(fmt::format("mov.u64 {}, {}", part, literal64(constant_bytes(key.offset + done, chunk))));
        else
            read(at, stack_place(at, key.map, key.offset + done, chunk), chunk, false, part);
        if (done % 8 == 0) {
            words.push_back(part);
        } else {
            emit(fmt::format("shl.b64 {}, {}, {}", part, part, done % 8 * 8));
            emit(fmt::format("or.b64 {}, {}, {}", words.back(), words.back(), part));
        }
        done += chunk;
    }
    return words;
}

/// Each word: a multiplication that spreads, and the high half folded in. At the end once more: a multiplication moves
/// nothing down, so that after one fold the low bits of words that differ in their highest bits only are all the same.
std::string Emitter::hash_of(const std::vector<std::string>& words) {
    const std::string hash = registers_.b64(), high = registers_.b64();
    const auto spread = [&] {
        emit(fmt::format("mul.lo.s64 {}, {}, {}", hash, hash, literal64(kHashFactor)));
        emit(fmt::format("shr.u64 {}, {}, 32", high, hash));
        emit(fmt::format("xor.b64 {}, {}, {}", hash, hash, high));
    };
    emit(fmt::format("mov.u64 {}, 0", hash));
    for (const auto& word : words) {
        emit(fmt::format("xor.b64 {}, {}, {}", hash, hash, word));
        spread();
    }
    spread();
    return hash;
}

/// In a free bucket: claims it and makes the entry, whole before anybody can find it: with the key, and of an update
/// (`with_value`) with the value. `made` becomes true in the lanes that did, `full` in those that found no room, `word`
/// what the bucket holds now for the others.
void Emitter::make_entry(std::uint32_t at, const maps::HashTable& table, const HashForms& forms,
                         const HashSearch& search, bool with_value) {
    const std::string room = registers_.predicate(), lost = registers_.predicate();
    const std::string used = registers_.b32(), entry = registers_.b32(), named = registers_.b32();
    emit(fmt::format("setp.eq.u32 {}, {}, 0", search.full, search.word));
    emit(fmt::format("mov.u32 {}, {}", used, table.entries));
    emit(fmt::format("@{} {}.u32 {}, [{}]", search.full, forms.load, used, search.header));
    emit(fmt::format("setp.lt.and.u32 {}, {}, {}, {}", room, used, table.entries, search.full));
    emit(fmt::format("not.pred {}, {}", lost, room));
    emit(fmt::format("and.pred {}, {}, {}", search.full, search.full, lost));
    // The last entry may have become this key's since the bucket was read: its bucket is claimed before it is counted.
    emit(fmt::format("@{} membar.gl", search.full));
    emit(fmt::format("@{} {}.u32 {}, [{}]", search.full, forms.load, search.word, search.place));
    emit(fmt::format("setp.eq.and.u32 {}, {}, 0, {}", search.full, search.word, search.full));
    const char* scope = forms.has_scopes ? ".relaxed.gpu" : "";
    emit(fmt::format("@{} atom{}.global.cas.b32 {}, [{}], 0, {}", room, scope, search.word, search.place,
                     maps::HashTable::kClaimed));
    emit(fmt::format("setp.eq.and.u32 {}, {}, 0, {}", search.made, search.word, room));
    emit(fmt::format("mov.u32 {}, 0", entry));
    emit(fmt::format("@{} membar.gl", search.made));
    emit(fmt::format("@{} atom{}.global.add.u32 {}, [{}], 1", search.made, scope, entry, search.header));
    // Others may have taken the last entries since: the bucket is given back.
    emit(fmt::format("setp.ge.and.u32 {}, {}, {}, {}", lost, entry, table.entries, search.made));
    emit(fmt::format("@{} {}.u32 [{}], 0", lost, forms.store, search.place));
    emit(fmt::format("or.pred {}, {}, {}", search.full, search.full, lost));
    emit(fmt::format("setp.lt.and.u32 {}, {}, {}, {}", search.made, entry, table.entries, search.made));
    emit(fmt::format("mad.wide.u32 {}, {}, {}, {}", search.slot, entry, table.entry_bytes(), search.base));
    for (std::size_t word = 0; word < search.key.size(); ++word)
        emit(fmt::format("@{} {}.u64 [{}+{}], {}", search.made, forms.store, search.slot, table.key_offset() + word * 8,
                         search.key[word]));
    if (with_value) {
        const std::string value = registers_.b64();
        emit(fmt::format("add.s64 {}, {}, {}", value, search.slot, table.value_offset()));
        copy_to_map(at, program_.facts[at].arguments[2], table.value_bytes, value, search.made);
    }
    emit(fmt::format("@{} membar.gl", search.made));
    emit(fmt::format("@{} {}.u64 [{}], 1", search.made, forms.store, search.slot));
    emit(fmt::format("add.u32 {}, {}, 1", named, entry));
    emit(fmt::format("@{} {}.u32 [{}], {}", search.made, forms.store, search.place, named));
}

/// The entry of the key, where there is one or, with `makes`, can be made: its value's address, else 0. `search.made`
/// is true where it is new.
Emitter::HashSearch Emitter::search(std::uint32_t at, std::uint32_t map, bool makes, bool with_value,
                                    const std::string& result) {
    const MapDefinition& definition = program_.object->maps[map];
    const maps::HashTable table = maps::hash_table_of(definition);
    const HashForms forms = hash_forms();
    HashSearch search;
    if (layout_of(at, map) == nullptr)
        return search;
    search.key = key_words(at, definition.key_bytes);
    const std::string hash = hash_of(search.key);
    search.base = addresses_.base_of(map + map_base_, 0);
    search.header = registers_.b64();
    const std::string bucket = registers_.b64();
    search.place = fmt::format("{}+{}", bucket, maps::HashTable::kHeaderBytes);
    search.slot = registers_.b64();
    search.word = registers_.b32();
    search.made = registers_.predicate();
    search.full = registers_.predicate();
    const std::string index = registers_.b32(), probes = registers_.b32(), waits = registers_.b32();
    const std::string differs = registers_.predicate(), held = registers_.b64();
    const std::string again = new_label(), none = new_label(), found = new_label(), known = new_label(),
                      end = new_label();
    emit(fmt::format("add.s64 {}, {}, {}", search.header, search.base, table.header_offset()));
    emit(fmt::format("cvt.u32.u64 {}, {}", index, hash));
    emit(fmt::format("mov.u32 {}, {}", probes, std::min(kMostProbes, table.buckets())));
    emit(fmt::format("mov.u32 {}, {}", waits, kMostWaits));
    emit(fmt::format("setp.ne.u32 {0}, {1}, {1}", search.made, probes));
    body_.label(again);
    emit(fmt::format("and.b32 {}, {}, {}", index, index, table.buckets() - 1));
    emit(fmt::format("mad.wide.u32 {}, {}, 4, {}", bucket, index, search.header));
    emit(fmt::format("{}.u32 {}, [{}]", forms.acquire, search.word, search.place));
    if (makes) {
        make_entry(at, table, forms, search, with_value);
        emit(fmt::format("@{} bra {}", search.made, found));
        emit(fmt::format("@{} bra {}", search.full, none));
    } else {
        emit(fmt::format("setp.eq.u32 {}, {}, 0", search.full, search.word));
        emit(fmt::format("@{} bra {}", search.full, none));
    }
    // Just being made by another.
    emit(fmt::format("setp.ne.u32 {}, {}, {}", differs, search.word, maps::HashTable::kClaimed));
    emit(fmt::format("@{} bra {}", differs, known));
    emit(fmt::format("sub.u32 {}, {}, 1", waits, waits));
    emit(fmt::format("setp.ne.u32 {}, {}, 0", differs, waits));
    emit(fmt::format("@{} bra {}", differs, again));
    emit(fmt::format("bra {}", none));
    body_.label(known);
    if (!forms.has_scopes)
        emit("membar.gl");
    emit(fmt::format("sub.u32 {}, {}, 1", search.word, search.word));
    emit(fmt::format("mad.wide.u32 {}, {}, {}, {}", search.slot, search.word, table.entry_bytes(), search.base));
    emit(fmt::format("setp.ne.u32 {0}, {1}, {1}", differs, probes));
    for (std::size_t word = 0; word < search.key.size(); ++word) {
        emit(fmt::format("{}.u64 {}, [{}+{}]", forms.load, held, search.slot, table.key_offset() + word * 8));
        emit(fmt::format("setp.ne.or.u64 {}, {}, {}, {}", differs, held, search.key[word], differs));
    }
    emit(fmt::format("@!{} bra {}", differs, found));
    emit(fmt::format("add.u32 {}, {}, 1", index, index));
    emit(fmt::format("sub.u32 {}, {}, 1", probes, probes));
    emit(fmt::format("setp.ne.u32 {}, {}, 0", differs, probes));
    emit(fmt::format("@{} bra {}", differs, again));
    body_.label(none);
    if (makes)
        emit(fmt::format("red{}.global.add.u64 [{}+{}], 1", forms.has_scopes ? ".relaxed.gpu" : "", search.header,
                         maps::HashTable::kNoRoomOffset));
    emit(fmt::format("mov.u64 {}, 0", result));
    emit(fmt::format("bra {}", end));
    body_.label(found);
    emit(fmt::format("add.s64 {}, {}, {}", result, search.slot, table.value_offset()));
    body_.label(end);
    return search;
}

/// bpf_map_update_elem on such a hash: BPF_ANY makes an entry where there is none, BPF_NOEXIST does nothing else,
/// BPF_EXIST makes none. The value is copied word by word.
void Emitter::update_entry(std::uint32_t at, const std::string& result) {
    constexpr std::uint64_t kNoExist = 1, kExist = 2;
    constexpr std::int64_t kNoEntry = -2, kTooBig = -7, kExists = -17;  // ENOENT, E2BIG, EEXIST
    const InstructionFacts& facts = program_.facts[at];
    const std::uint32_t map = facts.arguments[0].map;
    const std::uint64_t flags = facts.arguments[3].constant;
    const std::string value = registers_.b64();
    const HashSearch found = search(at, map, flags != kExist, true, value);
    if (found.made.empty())
        return;
    const std::string writes = registers_.predicate(), answer = registers_.b64();
    emit(fmt::format("setp.ne.u64 {}, {}, 0", writes, value));
    emit(fmt::format("selp.b64 {}, 0, {}, {}", answer, flags == kExist ? kNoEntry : kTooBig, writes));
    const std::string before = registers_.predicate();  // the entry was there
    emit(fmt::format("not.pred {}, {}", before, found.made));
    emit(fmt::format("and.pred {}, {}, {}", before, before, writes));
    if (flags == kNoExist)
        emit(fmt::format("selp.b64 {}, {}, {}, {}", answer, kExists, answer, before));
    else
        copy_to_map(at, facts.arguments[2], program_.object->maps[map].value_bytes, value, before);
    if (facts.result_needed)
        emit(fmt::format("mov.b64 {}, {}", result, answer));
}

}  // namespace egpu::inject

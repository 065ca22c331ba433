// SPDX-License-Identifier: Apache-2.0
// Records that leave the GPU (maps/layout/ring_buffer.hpp): a place in the ring, the payload, and that it is whole. All
// of it is predicated, no lane goes another way than the others: what the kernel's lanes do together stays as it is.
//
//   r0 = bpf_ringbuf_output(&ring, &event, 16, 0)
//
//     ld.relaxed.gpu %begun, [header];             the present chunk
//     atom.add.u64 %state, [its word], 24;         bytes given out before: this record's place
//     setp.le %got, <place + 24>, <chunk>;         else fill up, begin the next chunk if it is empty, try there
//     @%got st ...; membar.gl;                     the record
//     @%got red.add.u64 [its word], 24 << 32;      and that it is written
#include <utility>

#include "ebpf/helpers/helpers.hpp"
#include "ebpf/helpers/print_record.hpp"
#include "inject/codegen/emitter.hpp"
#include "maps/layout/ring_buffer.hpp"
#include "maps/storage/storage.hpp"

namespace egpu::inject {

using namespace ebpf;
using maps::RingBuffer;

namespace {

/// How many chunks a thread looks for room in. Each further one costs some twenty instructions where a record is sent.
constexpr int kTries = 3;
constexpr std::int64_t kTryAgain = -11;  // EAGAIN

static_assert(kSmallestRing == RingBuffer::kLeastBytes && kLargestRecord == RingBuffer::kLargestPayload,
              "what the verifier accepts finds room");

}  // namespace

/// A record that is being sent.
struct Emitter::Record {
    const RingBuffer ring;
    const std::uint32_t payload;
    const char *load, *store, *scope;
    std::string base, header;   ///< addresses
    std::string wants;          ///< predicate: lanes that fire and have found no place so far
    std::string address, word;  ///< of its place, and where its chunk's numbers stand; 0: none
    std::uint32_t bytes() const { return RingBuffer::record_bytes(payload); }
};

/// One look for a place, in the present chunk.
void Emitter::look_for_room(Record& record, bool is_last) {
    const std::uint32_t chunk = record.ring.chunk_bytes();
    const std::string begun = registers_.b64(), place = registers_.b64(), state = registers_.b64(),
                      at = registers_.b64(), wide = registers_.b64();
    const std::string index = registers_.b32(), used = registers_.b32(), end = registers_.b32();
    const std::string open = registers_.predicate(), got = registers_.predicate(), lacks = registers_.predicate();
    emit(fmt::format("mov.u64 {}, 0", begun));
    emit(fmt::format("mov.u64 {}, 0", state));
    emit(fmt::format("@{} {}.u64 {}, [{}+{}]", record.wants, record.load, begun, record.header,
                     RingBuffer::kBegunOffset));
    emit(fmt::format("cvt.u32.u64 {}, {}", index, begun));
    emit(fmt::format("and.b32 {}, {}, {}", index, index, RingBuffer::kChunks - 1));
    emit(fmt::format("mad.wide.u32 {}, {}, 8, {}", place, index, record.header));
    // Of a chunk that is given out, no more is taken: its number could not count what all threads ask for.
    emit(fmt::format("@{} {}.u64 {}, [{}+{}]", record.wants, record.load, state, place, RingBuffer::kWordsOffset));
    emit(fmt::format("cvt.u32.u64 {}, {}", used, state));
    emit(fmt::format("setp.lt.and.u32 {}, {}, {}, {}", open, used, chunk, record.wants));
    emit(fmt::format("@{} atom{}.global.add.u64 {}, [{}+{}], {}", open, record.scope, state, place,
                     RingBuffer::kWordsOffset, record.bytes()));
    emit(fmt::format("cvt.u32.u64 {}, {}", used, state));
    emit(fmt::format("add.u32 {}, {}, {}", end, used, record.bytes()));
    emit(fmt::format("setp.le.and.u32 {}, {}, {}, {}", got, end, chunk, open));
    emit(fmt::format("mad.wide.u32 {}, {}, {}, {}", at, index, chunk, record.base));
    emit(fmt::format("cvt.u64.u32 {}, {}", wide, used));
    emit(fmt::format("add.s64 {}, {}, {}", at, at, wide));
    emit(fmt::format("selp.b64 {}, {}, {}, {}", record.address, at, record.address, got));
    emit(fmt::format("selp.b64 {}, {}, {}, {}", record.word, place, record.word, got));
    emit(fmt::format("not.pred {}, {}", lacks, got));
    emit(fmt::format("and.pred {}, {}, {}", open, open, lacks));
    emit(fmt::format("and.pred {}, {}, {}", record.wants, record.wants, lacks));
    fill_up(record, {open, used, at, place});
    if (!is_last)
        begin_next_chunk(record, begun, index);
}

/// The first record that finds too little room takes what there is, as bytes to be skipped.
void Emitter::fill_up(const Record& record, const ChunkEnd& end) {
    const std::uint32_t chunk = record.ring.chunk_bytes();
    const std::string rest = registers_.b32(), marked = registers_.b32(), written = registers_.b64();
    emit(fmt::format("setp.lt.and.u32 {}, {}, {}, {}", end.closes, end.used, chunk, end.closes));
    emit(fmt::format("sub.u32 {}, {}, {}", rest, chunk, end.used));
    emit(fmt::format("sub.u32 {}, {}, {}", marked, rest, RingBuffer::kRecordHeaderBytes));
    emit(fmt::format("or.b32 {}, {}, {}", marked, marked, literal32(RingBuffer::kFiller)));
    emit(fmt::format("@{} {}.u32 [{}], {}", end.closes, record.store, end.address, marked));
    emit(fmt::format("@{} membar.gl", end.closes));
    emit(fmt::format("cvt.u64.u32 {}, {}", written, rest));
    emit(fmt::format("shl.b64 {}, {}, 32", written, written));
    emit(fmt::format("@{} red{}.global.add.u64 [{}+{}], {}", end.closes, record.scope, end.place,
                     RingBuffer::kWordsOffset, written));
}

/// Where the host has emptied it. Lanes that find it full have no room.
void Emitter::begin_next_chunk(Record& record, const std::string& begun, const std::string& index) {
    const std::string next = registers_.b32(), used = registers_.b32();
    const std::string place = registers_.b64(), state = registers_.b64(), following = registers_.b64();
    emit(fmt::format("add.u32 {}, {}, 1", next, index));
    emit(fmt::format("and.b32 {}, {}, {}", next, next, RingBuffer::kChunks - 1));
    emit(fmt::format("mad.wide.u32 {}, {}, 8, {}", place, next, record.header));
    emit(fmt::format("mov.u64 {}, 0", state));
    emit(fmt::format("@{} {}.u64 {}, [{}+{}]", record.wants, record.load, state, place, RingBuffer::kWordsOffset));
    emit(fmt::format("cvt.u32.u64 {}, {}", used, state));
    emit(fmt::format("setp.lt.and.u32 {0}, {1}, {2}, {0}", record.wants, used, record.ring.chunk_bytes()));
    emit(fmt::format("add.s64 {}, {}, 1", following, begun));
    emit(fmt::format("@{} atom{}.global.cas.b64 {}, [{}+{}], {}, {}", record.wants, record.scope, state, record.header,
                     RingBuffer::kBegunOffset, begun, following));
}

/// A place for a record of so many bytes in the ring; `wants` becomes true in the lanes that have one.
Emitter::Record Emitter::begin_record(std::uint32_t map, std::uint32_t payload) {
    const bool scoped = has_scoped_atomics();
    if (scoped)
        require_version(6, 0);
    Record record{maps::ring_buffer_of(program_.object->maps[map]),
                  payload,
                  scoped ? "ld.relaxed.gpu.global" : "ld.volatile.global",
                  scoped ? "st.relaxed.gpu.global" : "st.volatile.global",
                  scoped ? ".relaxed.gpu" : "",
                  addresses_.base_of(map + map_base_, 0),
                  registers_.b64(),
                  registers_.predicate(),
                  registers_.b64(),
                  registers_.b64()};
    const std::string zero = registers_.b32(), none = registers_.predicate();
    emit(fmt::format("add.s64 {}, {}, {}", record.header, record.base, record.ring.header_offset()));
    emit(fmt::format("mov.u64 {}, 0", record.address));
    emit(fmt::format("mov.u64 {}, 0", record.word));
    emit(fmt::format("mov.u32 {}, 0", zero));
    emit(fmt::format("setp.ne.u32 {}, {}, 0", record.wants, zero));
    effect(fmt::format("setp.eq.u32 {}, {}, 0", record.wants, zero));
    for (int turn = 1; turn <= kTries; ++turn)
        look_for_room(record, turn == kTries);
    emit(fmt::format("setp.ne.u64 {}, {}, 0", record.wants, record.address));
    emit(fmt::format("not.pred {}, {}", none, record.wants));
    effect_if(none,
              fmt::format("red{}.global.add.u64 [{}+{}], 1", record.scope, record.header, RingBuffer::kDroppedOffset));
    emit(fmt::format("@{} {}.u32 [{}], {}", record.wants, record.store, record.address, payload));
    return record;
}

/// The record is whole: who sees this sees all of it.
void Emitter::end_record(std::uint32_t at, const Record& record, const std::string& result) {
    emit(fmt::format("@{} membar.gl", record.wants));
    emit(fmt::format("@{} red{}.global.add.u64 [{}+{}], {}", record.wants, record.scope, record.word,
                     RingBuffer::kWordsOffset, literal64(std::uint64_t{record.bytes()} << 32)));
    if (program_.facts[at].result_needed)
        emit(fmt::format("selp.b64 {}, 0, {}, {}", result, kTryAgain, record.wants));
}

/// Bytes of the stack or the constants to the record, from byte `offset` of its payload on.
void Emitter::copy_to_record(std::uint32_t at, const Record& record, const Value& source, std::uint32_t bytes,
                             std::uint32_t offset) {
    const std::string to = registers_.b64();
    emit(fmt::format("add.s64 {}, {}, {}", to, record.address, RingBuffer::kRecordHeaderBytes + offset));
    const std::string firing = std::exchange(predicate_, {});  // lanes that have a place fire
    copy_to_map(at, source, bytes, to, record.wants);
    predicate_ = firing;
}

void Emitter::send(std::uint32_t at, const std::string& result) {
    const auto& arguments = program_.facts[at].arguments;
    if (layout_of(at, arguments[0].map) == nullptr)
        return;
    const auto bytes = static_cast<std::uint32_t>(arguments[2].constant);
    const Record record = begin_record(arguments[0].map, bytes);
    copy_to_record(at, record, arguments[1], bytes, 0);
    end_record(at, record, result);
}

/// Two 32-bit numbers as one word.
std::string Emitter::word_of(const std::string& low, const std::string& high) {
    const std::string word = registers_.b64();
    emit(fmt::format("shl.b64 {}, {}, 32", word, high));
    emit(fmt::format("or.b64 {}, {}, {}", word, word, low));
    return word;
}

/// bpf_printk: where it was called and its numbers (ebpf/helpers/print_record.hpp); the text stays with the host.
void Emitter::print(std::uint32_t at, const std::string& result) {
    const auto& arguments = program_.facts[at].arguments;
    const bool all_at_once = static_cast<HelperId>(program_.instructions[at].immediate) == HelperId::trace_vprintk;
    const std::uint32_t map = *program_.object->print_map;
    const auto numbers =
        static_cast<std::uint32_t>(all_at_once ? arguments[3].constant / 8 : numbers_printed(program_, at));
    if (layout_of(at, map) == nullptr)
        return;
    const std::string block_z = special32("%ctaid.z"), thread_x = special32("%tid.x");
    const std::string words[] = {
        constant64(static_cast<std::uint64_t>(arguments[0].offset)),
        constant64(site_.kernel_id | std::uint64_t{site_.site_id} << 32),
        word_of(special32("%ctaid.x"), special32("%ctaid.y")),
        word_of(block_z, thread_x),
        word_of(special32("%tid.y"), special32("%tid.z")),
    };
    const Record record = begin_record(map, print_record_bytes(numbers));
    std::uint32_t offset = RingBuffer::kRecordHeaderBytes;
    const auto put = [&](const std::string& word) {
        emit(fmt::format("@{} {}.u64 [{}+{}], {}", record.wants, record.store, record.address, offset, word));
        offset += 8;
    };
    for (const auto& word : words)
        put(word);
    if (all_at_once)
        copy_to_record(at, record, arguments[2], numbers * 8, offset - RingBuffer::kRecordHeaderBytes);
    for (std::uint8_t number = 0; !all_at_once && number < numbers; ++number)
        put(in_register(at, static_cast<std::uint8_t>(3 + number), arguments[2u + number]));
    end_record(at, record, result);
}

}  // namespace egpu::inject

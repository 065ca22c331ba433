// SPDX-License-Identifier: Apache-2.0
// The state of one emission: which registers hold what, and the text so far. Each kind of instruction is emitted in a
// file of its own (alu, memory, atomics, calls, extremes, lanes, hash, ring, fields, warp, flow).
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inject/codegen/addresses.hpp"
#include "inject/codegen/codegen.hpp"
#include "inject/codegen/writer.hpp"
#include "maps/layout/hash_table.hpp"

namespace egpu::inject {

/// The widest access of a copy at a place: a power of two that divides both addresses and fits.
std::uint32_t chunk_at(std::uint32_t done, std::uint32_t total, std::int64_t source_alignment);

class Emitter {
public:
    Emitter(const ebpf::SpecializedProgram& program, const SiteBinding& site, std::uint32_t map_base,
            FunctionContext& function)
        : program_(program), site_(site), map_base_(map_base), function_(function), addresses_(function, registers_) {}

    Result<EmittedProbe> run();

private:
    using Value = ebpf::specializer::Value;
    using Instruction = ebpf::Instruction;

    // codegen.cpp: the frame of a firing.
    void check_site();
    bool is_straight() const;
    void body();
    std::string enclosed() const;

    // warp.cpp: what lanes find out together.
    void gather();
    void elect(const std::string& guarded_mask);
    void add_up_bytes();
    std::string distinct(const std::string& key, const std::string& mask, const std::string& in_mask);
    std::string distinct_by_match(const std::string& key, const std::string& mask, const std::string& in_mask);
    std::string distinct_by_shuffle(const std::string& key, const std::string& mask, const std::string& in_mask);
    std::string count_sectors(const std::string& mask);
    std::string local_sector_key(const std::string& address);
    std::string lanes_where(const std::string& predicate, const std::string& mask, std::string& in_mask);

    // flow.cpp: blocks and labels.
    void blocks();
    std::string label_of(std::optional<std::uint32_t> at);
    std::string new_label();
    void jump(std::uint32_t at);
    void instruction(std::uint32_t at);

    // alu.cpp
    void alu(std::uint32_t at);
    void alu64(const Instruction& i, const std::string& to, const std::string& a, const std::string& b,
               const Value& b_value);
    void alu32(const Instruction& i, const std::string& to, const std::string& a, const std::string& b,
               const Value& b_value);
    void divide(const Instruction& i, bool wide, const std::string& to, const std::string& a, const std::string& b,
                const Value& b_value);
    void end(const Instruction& i, const std::string& to, const std::string& a);
    void move_extended(const Instruction& i, const std::string& to, const std::string& from);
    std::string shift_amount(const std::string& b, const Value& b_value, bool wide);

    // memory.cpp
    /// "[base+offset]", its state space, and what must hold for the access to happen.
    struct Place {
        enum class Kind { slot, local, map } kind = Kind::map;
        std::string slot;     ///< register of a stack slot
        std::string address;  ///< "%egpu_d3+8": `base`, "+" and `offset`, which is left out where it is 0
        std::string base;
        std::int64_t offset = 0;
        bool is_aligned = false;  ///< known to be; by the verifier the others are

        void at(std::string register_or_symbol, std::int64_t bytes);
    };
    void load(std::uint32_t at);
    void store(std::uint32_t at);
    void atomic(std::uint32_t at);
    void atomic_on_stack(const Instruction& i, std::uint32_t at, const Place& place, const std::string& operand);
    Place place_of(std::uint32_t at, const Value& base, std::uint8_t reg, std::int64_t offset, std::uint32_t bytes);
    Place stack_place(std::uint32_t at, std::uint32_t depth, std::int64_t offset, std::uint32_t bytes);
    void read(std::uint32_t at, const Place& place, std::uint32_t bytes, bool is_signed, const std::string& to);
    void write(std::uint32_t at, const Place& place, std::uint32_t bytes, const std::string& from);
    void read_word(const Place& place, std::uint32_t bytes, bool is_signed, const std::string& to);
    void write_word(const Place& place, std::uint32_t bytes, const std::string& from);
    bool goes_by_bytes(const Place& place, std::uint32_t bytes) const;
    const ebpf::StackSlot* slot_at(std::uint32_t depth, std::int64_t offset, std::uint32_t bytes) const;
    bool add_to_accumulator(std::uint32_t at, const std::string& operand);

    // calls.cpp
    void call(std::uint32_t at);
    void lookup(std::uint32_t at, const std::string& result);
    void update(std::uint32_t at, const std::string& result);
    void copy_value(std::uint32_t at, const std::string& result);
    void argument(std::uint32_t at, const std::string& result);
    void fields(std::uint32_t at, const std::string& result);
    std::string element_at(const maps::Layout& layout, const std::string& index, const std::string& base);
    void copy_to_map(std::uint32_t at, const Value& source, std::uint32_t bytes, const std::string& base,
                     const std::string& condition);
    std::string array_address(std::uint32_t at, std::uint32_t map, const std::string& in_bounds);
    std::string moved_value(std::size_t index, std::uint32_t bytes);
    std::string moved_word(std::uint32_t at, std::uint32_t word, std::uint32_t bytes, std::uint32_t size);
    std::uint64_t constant_bytes(std::int64_t offset, std::uint32_t bytes) const;
    void random(const std::string& result);

    // extremes.cpp
    void extreme(std::uint32_t at, bool smallest, const std::string& result);

    // lanes.cpp: helpers that ask all lanes that fire together.
    void over_lanes(std::uint32_t at, const std::string& result);
    bool lanes_may_differ(std::uint32_t at, std::string_view helper);
    std::string from_lane(const std::string& value, const std::string& lane);
    void sum_by_redux(const std::string& value, const std::string& result);
    void extreme_by_redux(const std::string& value, bool smallest, const std::string& result);
    void combine_by_shuffle(const std::string& value, const char* operation, const std::string& result);

    // hash.cpp: hash maps whose keys are known only at run time.
    struct HashForms;
    struct HashSearch {
        std::vector<std::string> key;  ///< words
        std::string base, header, place,
            slot;                ///< addresses: of the entries, of what follows them, of a bucket, an entry
        std::string word;        ///< what the bucket holds
        std::string made, full;  ///< predicates
    };
    HashForms hash_forms();
    std::vector<std::string> key_words(std::uint32_t at, std::uint32_t key_bytes);
    std::string hash_of(const std::vector<std::string>& words);
    void make_entry(std::uint32_t at, const maps::HashTable& table, const HashForms& forms, const HashSearch& search,
                    bool with_value);
    HashSearch search(std::uint32_t at, std::uint32_t map, bool makes, bool with_value, const std::string& result);
    void update_entry(std::uint32_t at, const std::string& result);

    // ring.cpp: records that leave the GPU.
    struct Record;
    struct ChunkEnd {
        std::string closes, used, address, place;
    };
    void send(std::uint32_t at, const std::string& result);
    void print(std::uint32_t at, const std::string& result);
    Record begin_record(std::uint32_t map, std::uint32_t payload);
    void look_for_room(Record& record, bool is_last);
    void fill_up(const Record& record, const ChunkEnd& end);
    void begin_next_chunk(Record& record, const std::string& begun, const std::string& index);
    void copy_to_record(std::uint32_t at, const Record& record, const Value& source, std::uint32_t bytes,
                        std::uint32_t offset);
    void end_record(std::uint32_t at, const Record& record, const std::string& result);
    std::string word_of(const std::string& low, const std::string& high);

    // fields.cpp
    std::string field(std::uint32_t at, const ebpf::ContextField& field);
    std::string special64(const char* name);
    std::string special32(const char* name);
    std::string widened(const std::string& narrow);
    std::string address();
    std::string bytes_per_lane();
    std::string linear_warp();
    std::string space_of_generic();
    std::string elapsed();
    std::string constant64(std::uint64_t number);

    // operands.cpp: values as text.
    std::string reg(std::uint8_t number, std::uint32_t depth);
    std::string destination(std::uint32_t at);
    /// A register or a number; a number only where `value` is one.
    std::string operand64(std::uint32_t at, std::uint8_t number, const Value& value);
    std::string operand32(std::uint32_t at, std::uint8_t number, const Value& value);
    /// Always a register.
    std::string in_register(std::uint32_t at, std::uint8_t number, const Value& value);
    std::string materialised(std::uint32_t at, const Value& value);
    const maps::Layout* layout_of(std::uint32_t at, std::uint32_t program_map);
    std::string local_array();

    void emit(const std::string& text) { body_.add(text); }
    /// An instruction that only the firing lanes may execute.
    void effect(const std::string& text) { body_.add(predicate_ + text); }
    /// The same under a further condition.
    void effect_if(const std::string& condition, const std::string& text);
    void require_version(std::uint32_t major, std::uint32_t minor);
    bool has_scoped_atomics() const { return function_.target.sm >= 70; }
    void refuse(std::uint32_t at, std::string_view code, std::string message, std::string fix);
    void refuse(std::string_view code, std::string message, std::string fix);

    const ebpf::SpecializedProgram& program_;
    const SiteBinding& site_;
    const std::uint32_t map_base_;
    FunctionContext& function_;

    Registers registers_;
    ElementAddresses addresses_;  ///< by firing lanes, before the body
    Statements before_;           ///< by all lanes that reach the site
    Statements body_;
    std::string predicate_;  ///< "@%egpu_p0 ", "@!%p1 " in straight code; "" where all lanes at hand fire
    std::string mask_, lanes_, sectors_, bytes_;  ///< 32-bit registers, where needed
    std::string leader_;                          ///< predicate of warp programs
    std::map<std::uint32_t, std::string> labels_;
    std::string end_label_;
    std::string local_array_;
    std::vector<Diagnostic> problems_;
};

}  // namespace egpu::inject

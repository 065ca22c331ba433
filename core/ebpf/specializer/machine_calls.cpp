// SPDX-License-Identifier: Apache-2.0
// Helper calls of the abstract machine: lookups with static keys become addresses.
//
// A static key's entry is made when the probe is attached, so egpu_map_lookup_or_init gives its address, or NULL where
// the map is full. bpf_map_lookup_elem does the same on arrays, whose entries all exist; on hash maps whether an entry
// exists would depend on what ran before, and is refused.
#include <fmt/format.h>

#include "ebpf/helpers/helpers.hpp"
#include "ebpf/specializer/machine.hpp"
#include "ebpf/specializer/sources.hpp"

namespace egpu::ebpf::specializer {
namespace {

using Kind = Value::Kind;

// Results of helpers that fail: -errno (asm-generic/errno-base.h).
constexpr std::int64_t kInvalid = -22;  // EINVAL
constexpr std::int64_t kTooBig = -7;    // E2BIG: an array's index outside
constexpr std::int64_t kExists = -17;   // EEXIST: BPF_NOEXIST on an array
constexpr std::uint64_t kNoExist = 1;   // BPF_NOEXIST

Value number(std::int64_t value) {
    return Value::of(static_cast<std::uint64_t>(value));
}

}  // namespace

void Machine::call(std::uint32_t at, State& state, InstructionFacts* facts) {
    const Instruction& i = code_.instructions[at];
    const std::uint8_t depth = code_.depth[at];
    if (facts != nullptr)
        for (std::uint8_t argument = 1; argument <= 5; ++argument)
            facts->arguments.push_back(state.reg(argument, depth));
    Value result = Value::unknown();
    if (helper(static_cast<std::uint32_t>(i.immediate)) == nullptr)
        refuse(at, "EGPU-V057", fmt::format("helper {} is not available on a GPU", i.immediate), "",
               "see the list of helpers in egpu/bpf/egpu.bpf.h");
    switch (static_cast<HelperId>(i.immediate)) {
        case HelperId::map_lookup_elem:
            result = lookup(at, state, false);
            break;
        case HelperId::map_lookup_or_init:
            result = lookup(at, state, true);
            break;
        case HelperId::map_update_elem:
            result = update(at, state, facts);
            break;
        case HelperId::value:
            result = copy_value(at, state);
            break;
        case HelperId::argument:
            result = this->argument(at, state);
            break;
        case HelperId::min:
        case HelperId::max:
            result = extreme(at, state);
            break;
        case HelperId::ringbuf_output:
            result = sent(at, state);
            break;
        case HelperId::trace_printk:
        case HelperId::trace_vprintk:
            result = printed(at, state);
            break;
        case HelperId::lanes_sum:
        case HelperId::lanes_min:
        case HelperId::lanes_max:
            result = over_lanes(at, state);
            break;
        case HelperId::get_prandom_u32:
            result = Value::unknown(kFromRandom);
            break;
        case HelperId::ktime_get_ns:
        case HelperId::ktime_get_coarse_ns:
        case HelperId::time_ns:
        case HelperId::clock:
        case HelperId::bpftime_timer:
            result = Value::unknown(kFromClock);
            break;
        case HelperId::get_smp_processor_id:
            result = Value::unknown(kFromSm);
            break;
        case HelperId::bpftime_barrier:
            result = number(0);
            break;
        case HelperId::bpftime_warp_slot:
            result = Value::unknown(kFromSm);
            break;
        case HelperId::bpftime_block_index:
        case HelperId::bpftime_block_size:
        case HelperId::bpftime_thread_index:
        case HelperId::bpftime_grid_size:
        case HelperId::bpftime_sm:
        case HelperId::bpftime_lane:
            result = fields(at, state, static_cast<HelperId>(i.immediate));
            break;
    }
    state.set_reg(0, depth, result);
    // RFC 9669 2: a call leaves nothing of r1 to r5.
    for (std::uint8_t argument = 1; argument <= 5; ++argument)
        state.set_reg(argument, depth, Value::unknown());
}

const MapDefinition* Machine::map_argument(std::uint32_t at, const State& state, std::uint32_t& index) {
    const Value map = state.reg(1, code_.depth[at]);
    if (map.kind != Kind::map_object || map.map >= object_.maps.size()) {
        refuse(at, "EGPU-V054", "the map differs between paths", "which map is accessed must be known at attach",
               "call the helper in each branch, with its own map");
        return nullptr;
    }
    index = map.map;
    return &object_.maps[map.map];
}

std::optional<std::vector<std::uint8_t>> Machine::known_bytes(const State& state, const Value& pointer,
                                                              std::uint32_t count, std::uint64_t& sources) const {
    sources |= pointer.sources;
    if (!pointer.offset_known)
        return std::nullopt;
    if (pointer.kind == Kind::stack && in_frame(pointer.offset, count)) {
        const auto bytes = state.bytes(pointer.map, pointer.offset, count, sources);
        if (!bytes)
            return std::nullopt;
        return std::vector<std::uint8_t>(bytes->begin(), bytes->begin() + count);
    }
    const bool in_constants = pointer.kind == Kind::constant_data && pointer.offset >= 0 &&
                              pointer.offset + count <= static_cast<std::int64_t>(object_.constants.size());
    if (in_constants) {
        std::vector<std::uint8_t> bytes;
        for (std::uint32_t byte = 0; byte < count; ++byte)
            bytes.push_back(
                std::to_integer<std::uint8_t>(object_.constants[static_cast<std::size_t>(pointer.offset) + byte]));
        return bytes;
    }
    if (pointer.kind == Kind::map_value)
        sources |= kFromMap;
    return std::nullopt;
}

Value Machine::lookup(std::uint32_t at, const State& state, bool may_create) {
    std::uint32_t map = 0;
    const MapDefinition* definition = map_argument(at, state, map);
    if (definition == nullptr)
        return Value::unknown();
    if (definition->keys_at_run_time)
        return searched(at, state, *definition, map);
    if (definition->is_ring() || (!definition->is_array() && !may_create)) {
        refuse(at, "EGPU-V051", fmt::format("bpf_map_lookup_elem on map `{}`, which is no array", definition->name),
               "whether a hash map has an entry is known only at run time, which is not available yet",
               "call egpu_map_lookup_or_init: it gives the entry, made of zeroes where absent");
        return Value::unknown();
    }
    std::uint64_t sources = 0;
    const Value key = state.reg(2, code_.depth[at]);
    if (auto bytes = known_bytes(state, key, definition->key_bytes, sources)) {
        const std::uint32_t key_number = keys_.number_of(map, std::move(*bytes));
        return is_absent(key_number) ? Value::of(0) : Value::element(map, key_number, 0);
    }
    if (!definition->is_array()) {
        refuse(at, "EGPU-V050",
               fmt::format("key of map `{}` depends on {}", definition->name, describe_sources(sources)),
               "keys known only at run time are not available yet; keys of site fields are made when the probe is "
               "attached",
               "use fields that are the same every time at a site (kernel, site, space, access, bytes_per_lane), or an "
               "array map, whose index may be anything");
        return Value::unknown(sources);
    }
    const bool readable = key.kind == Kind::stack && key.offset_known && in_frame(key.offset, 4);
    if (!readable || definition->key_bytes != 4)
        refuse(at, "EGPU-V056",
               fmt::format("index of array `{}` is not at a known place of the stack", definition->name), "",
               "put the index into a local __u32 variable");
    return Value::in_map(map, true, sources);
}

/// What a search at run time gives: the key's bytes must be found there.
Value Machine::searched(std::uint32_t at, const State& state, const MapDefinition& definition, std::uint32_t map) {
    const Value key = state.reg(2, code_.depth[at]);
    std::uint64_t sources = 0;
    const bool on_stack = key.kind == Kind::stack && key.offset_known && in_frame(key.offset, definition.key_bytes);
    if (!on_stack && !(key.kind == Kind::constant_data && known_bytes(state, key, definition.key_bytes, sources)))
        refuse(at, "EGPU-V056", fmt::format("key of map `{}` is not at a known place of the stack", definition.name),
               "", "put the key into a local variable");
    return Value::in_map(map, true, kFromMap);
}

/// An array's entry is overwritten, a hash's is searched for at run time.
Value Machine::update(std::uint32_t at, const State& state, InstructionFacts* facts) {
    std::uint32_t map = 0;
    const MapDefinition* definition = map_argument(at, state, map);
    if (definition == nullptr)
        return Value::unknown();
    if (!definition->is_array() && !definition->keys_at_run_time) {
        refuse(at, "EGPU-V052", fmt::format("bpf_map_update_elem on map `{}`, which is no array", definition->name),
               "making and replacing entries of hash maps on a GPU is not available yet",
               "call egpu_map_lookup_or_init and store to what it gives, or use an array map");
        return Value::unknown();
    }
    const std::uint8_t depth = code_.depth[at];
    const Value value = state.reg(3, depth);
    const Value flags = state.reg(4, depth);
    const bool value_in_stack =
        value.kind == Kind::stack && value.offset_known && in_frame(value.offset, definition->value_bytes);
    std::uint64_t sources = 0;
    const bool value_in_constants =
        value.kind == Kind::constant_data && known_bytes(state, value, definition->value_bytes, sources).has_value();
    if (!value_in_stack && !value_in_constants)
        refuse(at, "EGPU-V056",
               fmt::format("new value of array `{}` is not at a known place of the stack", definition->name), "",
               "put the value into a local variable");
    if (!flags.is_constant() || flags.constant > 2) {
        refuse(at, "EGPU-V056", "flags of bpf_map_update_elem are no constant of BPF_ANY, BPF_NOEXIST, BPF_EXIST", "",
               "write BPF_ANY");
        return Value::unknown();
    }
    if (definition->keys_at_run_time)
        return Value::unknown(searched(at, state, *definition, map).sources);
    if (flags.constant == kNoExist)
        return number(kExists);
    const Value key = state.reg(2, depth);
    if (auto bytes = known_bytes(state, key, definition->key_bytes, sources)) {
        const std::uint32_t key_number = keys_.number_of(map, std::move(*bytes));
        if (is_absent(key_number))
            return number(kTooBig);
        if (facts != nullptr)
            facts->memory = StaticElement{map, key_number, 0};
        return number(0);
    }
    const bool readable = key.kind == Kind::stack && key.offset_known && in_frame(key.offset, 4);
    if (!readable || definition->key_bytes != 4)
        refuse(at, "EGPU-V056",
               fmt::format("index of array `{}` is not at a known place of the stack", definition->name), "",
               "put the index into a local __u32 variable");
    return Value::unknown(sources);
}

/// Whether the event moves a value that is there when the program runs; nothing where the site must say.
std::optional<bool> Machine::value_available() const {
    switch (program_.point.event) {
        case Event::store:
        case Event::atomic:
        case Event::load_return:
        case Event::atomic_return:
            return true;
        case Event::mem:
            break;
        default:
            return false;
    }
    const auto access = constants_.fields.find("access");
    if (access == constants_.fields.end())
        return std::nullopt;
    return access->second != static_cast<std::uint64_t>(Access::load);
}

Value Machine::copy_value(std::uint32_t at, State& state) {
    const std::uint8_t depth = code_.depth[at];
    const auto available = value_available();
    if (available == false)
        return number(kInvalid);
    const Value to = state.reg(2, depth);
    const Value size = state.reg(3, depth);
    const bool good_size = size.is_constant() && size.constant >= 1 && size.constant <= 16;
    if (!good_size) {
        refuse(at, "EGPU-V057", "size of egpu_value is no constant from 1 to 16", "", "write sizeof the variable");
        return Value::unknown();
    }
    const auto count = static_cast<std::uint32_t>(size.constant);
    if (to.kind != Kind::stack || !to.offset_known || !in_frame(to.offset, count)) {
        refuse(at, "EGPU-V056", "egpu_value writes to no known place of the stack", "", "give it a local variable");
        return Value::unknown();
    }
    state.forget(to.map, to.offset, count, kFromMovedValue);
    return available ? number(0) : Value::unknown(kFromMovedValue);
}

Value Machine::argument(std::uint32_t at, const State& state) {
    const Value index = state.reg(2, code_.depth[at]);
    if (!index.is_constant())
        refuse(at, "EGPU-V057", "number of a kernel argument is no constant", "", "write egpu_arg(ctx, 0)");
    return Value::unknown(kFromArgument);
}

/// Fields of the context as a result, or written to variables.
Value Machine::fields(std::uint32_t at, State& state, HelperId id) {
    const auto names = bpftime_fields(id);
    for (std::uint8_t index = 0; index < names.size(); ++index) {
        const ContextField* field = field_named(ContextKind::kernel, names[index]);
        const std::uint64_t sources = field == nullptr ? 0 : source_bit(*field);
        if (names.size() == 1)
            return Value::unknown(sources);
        const Value to = state.reg(static_cast<std::uint8_t>(1 + index), code_.depth[at]);
        if (to.kind != Kind::stack || !to.offset_known || !in_frame(to.offset, 8)) {
            refuse(at, "EGPU-V056", "a helper writes to no known place of the stack", "", "give it a local variable");
            return Value::unknown();
        }
        state.forget(to.map, to.offset, 8, sources);
    }
    return number(0);
}

/// egpu_min, egpu_max: nothing is known of what the word held.
Value Machine::extreme(std::uint32_t at, const State& state) {
    const std::uint8_t depth = code_.depth[at];
    const Value word = state.reg(1, depth), size = state.reg(3, depth);
    if (word.kind != Kind::map_value)
        refuse(at, "EGPU-V056", "the word to change is in no map's value that is known",
               "the pointer differs between paths, or is no pointer to a map's value",
               "make the pointer in each branch and call the helper there");
    if (!size.is_constant(4) && !size.is_constant(8))
        refuse(at, "EGPU-V057", "size of the word to change is no constant of 4 or 8", "", "write sizeof the word");
    return Value::unknown(word.sources | kFromMap);
}

/// So many bytes, a constant, at a known place of the stack or of the constants.
bool Machine::is_readable(const State& state, const Value& pointer, const Value& size) const {
    if (!size.is_constant() || !pointer.offset_known || size.constant > static_cast<std::uint64_t>(kFrameBytes))
        return false;
    const auto bytes = static_cast<std::uint32_t>(size.constant);
    std::uint64_t sources = 0;
    return pointer.kind == Kind::stack
               ? in_frame(pointer.offset, bytes)
               : pointer.kind == Kind::constant_data && known_bytes(state, pointer, bytes, sources).has_value();
}

/// bpf_ringbuf_output: whether there was room is known at run time only.
Value Machine::sent(std::uint32_t at, const State& state) {
    const std::uint8_t depth = code_.depth[at];
    std::uint32_t map = 0;
    if (map_argument(at, state, map) != nullptr && !is_readable(state, state.reg(2, depth), state.reg(3, depth)))
        refuse(at, "EGPU-V056", "what bpf_ringbuf_output sends is not at a known place of the stack", "",
               "put it into a local variable");
    return Value::unknown(kFromMap);
}

/// bpf_printk: its text is named by its place in the constants.
Value Machine::printed(std::uint32_t at, const State& state) {
    const std::uint8_t depth = code_.depth[at];
    const Value text = state.reg(1, depth);
    const bool all_at_once = static_cast<HelperId>(code_.instructions[at].immediate) == HelperId::trace_vprintk;
    const bool is_known = text.kind == Kind::constant_data && text.offset_known && text.offset >= 0;
    if (!is_known || !state.reg(2, depth).is_constant() || !object_.print_map)
        refuse(at, "EGPU-V056", "the text of bpf_printk is no constant that is known", "",
               "call bpf_printk in each branch, with its own text");
    if (all_at_once && !is_readable(state, state.reg(3, depth), state.reg(4, depth)))
        refuse(at, "EGPU-V056", "what bpf_printk prints is not at a known place of the stack", "",
               "pass numbers to bpf_printk, not an array");
    return Value::unknown(kFromMap);
}

/// The smallest and the largest of one number is that number; its sum depends on how many lanes there are.
Value Machine::over_lanes(std::uint32_t at, const State& state) {
    const Value value = state.reg(1, code_.depth[at]);
    const bool sums = static_cast<HelperId>(code_.instructions[at].immediate) == HelperId::lanes_sum;
    if (value.is_constant() && !sums)
        return value;
    const ContextField* lanes = field_named(ContextKind::kernel, "active_mask");
    return Value::unknown(value.sources | (lanes == nullptr ? 0 : source_bit(*lanes)));
}

}  // namespace egpu::ebpf::specializer

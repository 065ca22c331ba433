// SPDX-License-Identifier: Apache-2.0
// Helpers, as the reference engine does them. Per-SM maps have one copy here: what readers see after merging.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "ebpf/helpers/format.hpp"
#include "ebpf/helpers/print_record.hpp"
#include "ebpf/helpers/random.hpp"
#include "ebpf/interpreter/machine.hpp"
#include "ebpf/isa/semantics.hpp"

namespace egpu::ebpf {
namespace {

constexpr std::uint64_t kNoExist = 1, kExist = 2;  // BPF_NOEXIST, BPF_EXIST; BPF_ANY is 0

Diagnostic fault(std::string message) {
    return error("EGPU-V090", std::move(message));
}

std::uint64_t negative(int code) {
    return static_cast<std::uint64_t>(-std::int64_t{code});
}

}  // namespace

Status Machine::call(std::uint32_t number) {
    const Helper* known = helper(number);
    if (known == nullptr) {
        const auto name = linux_helper_name(number);
        return fault(
            fmt::format("call of helper {} ({}), which a GPU doesn't have", number, name.empty() ? "unknown" : name));
    }
    Status status = ok();
    switch (known->id) {
        case HelperId::map_lookup_elem:
            status = lookup(false);
            break;
        case HelperId::map_lookup_or_init:
            status = lookup(true);
            break;
        case HelperId::map_update_elem:
            status = update();
            break;
        case HelperId::bpftime_timer:
        case HelperId::ktime_get_ns:
        case HelperId::ktime_get_coarse_ns:
        case HelperId::time_ns:
            registers_[0] = execution_.time_ns;
            break;
        case HelperId::clock:
            registers_[0] = execution_.clock;
            break;
        case HelperId::get_smp_processor_id:
            registers_[0] = field("sm");
            break;
        case HelperId::get_prandom_u32:
            // The clock stands still here, and no two numbers are to be the same.
            registers_[0] = random_number(execution_.clock + random_numbers_++,
                                          random_stream(field("sm"), field("warp"), field("lane")));
            break;
        case HelperId::min:
        case HelperId::max:
            status = extreme(known->id == HelperId::min);
            break;
        case HelperId::ringbuf_output:
            status = send();
            break;
        case HelperId::trace_printk:
        case HelperId::trace_vprintk:
            status = print(known->id == HelperId::trace_vprintk);
            break;
        case HelperId::lanes_sum:
        case HelperId::lanes_min:
        case HelperId::lanes_max:
            registers_[0] = registers_[1];  // one lane fires
            break;
        case HelperId::value:
            status = value();
            break;
        case HelperId::argument:
            status = argument();
            break;
        case HelperId::bpftime_block_index:
        case HelperId::bpftime_block_size:
        case HelperId::bpftime_thread_index:
        case HelperId::bpftime_barrier:
        case HelperId::bpftime_grid_size:
        case HelperId::bpftime_sm:
        case HelperId::bpftime_warp_slot:
        case HelperId::bpftime_lane:
            status = bpftime(known->id);
            break;
    }
    // A helper may use them: what they held is lost (RFC 9669 section 2).
    for (std::size_t i = 1; i <= 5; ++i)
        registers_[i] = 0;
    return status;
}

Result<std::uint32_t> Machine::map_of(std::uint64_t handle) const {
    if (handle < kMapHandle || handle - kMapHandle >= object_.maps.size())
        return fault(fmt::format("{:#x} is passed as a map, and is none", handle));
    return static_cast<std::uint32_t>(handle - kMapHandle);
}

Result<ReferenceMap*> Machine::storage_of(std::uint32_t map) {
    if (execution_.maps == nullptr || map >= execution_.maps->size())
        return fault(fmt::format("map '{}' is used, and the execution has none", object_.maps[map].name));
    return &(*execution_.maps)[map];
}

std::vector<std::byte>* Machine::element(std::uint32_t map, ReferenceMap& storage, const std::vector<std::byte>& key,
                                         bool make) {
    const MapDefinition& definition = object_.maps[map];
    if (definition.is_array()) {
        std::uint32_t index = 0;
        std::memcpy(&index, key.data(), std::min(key.size(), sizeof index));
        if (index >= definition.max_entries)
            return nullptr;
        make = true;
    }
    const auto found = storage.find(key);
    if (found != storage.end()) {
        found->second.resize(definition.value_bytes);
        return &found->second;
    }
    if (!make || (!definition.is_array() && storage.size() >= definition.max_entries))
        return nullptr;
    auto first = definition.initial;
    first.resize(definition.value_bytes);
    return &storage.emplace(key, std::move(first)).first->second;
}

void Machine::tell(NamedElement named) const {
    if (!execution_.on_name)
        return;
    named.at = next_ - 1;
    for (const Caller& caller : callers_)
        named.returns.push_back(caller.next);
    execution_.on_name(named);
}

Status Machine::lookup(bool make) {
    const auto map = map_of(registers_[1]);
    if (!map)
        return map.errors();
    const auto storage = storage_of(*map);
    const auto key = memory_.read(registers_[2], object_.maps[*map].key_bytes);
    if (!storage || !key)
        return !storage ? storage.errors() : key.errors();
    tell({0, {}, *map, *key, nullptr});
    auto* value = element(*map, **storage, *key, make);
    registers_[0] =
        value == nullptr ? 0 : memory_.address_of(fmt::format("a value of map '{}'", object_.maps[*map].name), *value);
    return ok();
}

Status Machine::update() {
    const auto map = map_of(registers_[1]);
    if (!map)
        return map.errors();
    const MapDefinition& definition = object_.maps[*map];
    const auto storage = storage_of(*map);
    const auto key = memory_.read(registers_[2], definition.key_bytes);
    const auto value = memory_.read(registers_[3], definition.value_bytes);
    if (!storage || !key || !value)
        return !storage ? storage.errors() : !key ? key.errors() : value.errors();
    const auto flags = registers_[4];
    const bool exists = element(*map, **storage, *key, false) != nullptr;
    if (flags > kExist) {
        registers_[0] = negative(EINVAL);
    } else if (definition.is_array() && !exists) {
        registers_[0] = negative(E2BIG);
    } else if (flags == kNoExist && exists) {
        registers_[0] = negative(EEXIST);
    } else if (flags == kExist && !exists) {
        registers_[0] = negative(ENOENT);
    } else if (auto* place = element(*map, **storage, *key, true)) {
        std::memcpy(place->data(), value->data(), value->size());
        registers_[0] = 0;
    } else {
        registers_[0] = negative(E2BIG);
    }
    return ok();
}

Status Machine::value() {
    if (registers_[1] != context_address_)
        return fault("egpu_value needs the context");
    const auto bytes = registers_[3];
    if (bytes < 1 || bytes > 16)
        return fault(fmt::format("egpu_value is asked for {} bytes, not 1 to 16", bytes));
    if (execution_.value.empty()) {
        registers_[0] = negative(EINVAL);
        return ok();
    }
    registers_[0] = 0;
    std::vector<std::byte> moved = execution_.value;
    moved.resize(bytes);  // more than the instruction moves is zeroes
    return memory_.write(registers_[2], moved);
}

Status Machine::argument() {
    if (registers_[1] != context_address_)
        return fault("egpu_arg needs the context");
    const auto index = registers_[2];
    if (index >= execution_.arguments.size())
        return fault(fmt::format("egpu_arg is asked for parameter {} of {}", index, execution_.arguments.size()));
    registers_[0] = execution_.arguments[index];
    return ok();
}

/// Fields of the context, as a result or written to variables. A warp's slot is that in its block: the reference engine
/// knows no SM's. The barrier orders nothing here: one thread runs.
Status Machine::bpftime(HelperId id) {
    static constexpr std::string_view kSlot[] = {"warp"};
    const auto fields =
        id == HelperId::bpftime_warp_slot ? std::span<const std::string_view>(kSlot) : bpftime_fields(id);
    registers_[0] = 0;
    for (std::size_t index = 0; index < fields.size(); ++index) {
        const auto* field = field_named(ContextKind::kernel, fields[index]);
        std::uint64_t value = 0;
        if (field != nullptr && execution_.context.size() >= field->offset + field->bytes)
            std::memcpy(&value, execution_.context.data() + field->offset, field->bytes);
        if (fields.size() == 1)
            registers_[0] = value;
        else if (auto status = memory_.write(registers_[1 + index], std::as_bytes(std::span(&value, 1))); !status)
            return status;
    }
    return ok();
}

/// A number of the context, 0 where the execution has none.
std::uint32_t Machine::field(std::string_view name) const {
    const auto* known = field_named(ContextKind::kernel, name);
    std::uint32_t number = 0;
    if (known != nullptr && execution_.context.size() >= known->offset + known->bytes)
        std::memcpy(&number, execution_.context.data() + known->offset,
                    std::min<std::size_t>(known->bytes, sizeof number));
    return number;
}

Status Machine::extreme(bool smallest) {
    const auto bytes = registers_[3];
    if (bytes != 4 && bytes != 8)
        return fault(fmt::format("the word to change has {} bytes, not 4 or 8", bytes));
    const auto place = memory_.atomic(registers_[1], static_cast<std::uint32_t>(bytes));
    if (!place)
        return place.errors();
    std::uint64_t before = 0;
    std::memcpy(&before, place->data(), bytes);
    const std::uint64_t value = truncated(registers_[2], static_cast<std::uint32_t>(bytes));
    std::uint64_t after = std::max(before, value);
    if (smallest && value != 0 && before != 0)
        after = std::min(before, value);
    std::memcpy(place->data(), &after, bytes);
    registers_[0] = before;
    return ok();
}

/// There is always room.
Status Machine::send() {
    const auto map = map_of(registers_[1]);
    if (!map)
        return map.errors();
    const auto record = memory_.read(registers_[2], static_cast<std::uint32_t>(registers_[3]));
    if (!record)
        return record.errors();
    execution_.records.push_back({*map, *record});
    registers_[0] = 0;
    return ok();
}

Status Machine::print(bool all_at_once) {
    const auto place = registers_[1] - constants_address_;
    if (!object_.print_map || place >= object_.constants.size())
        return fault("bpf_printk is called with a text that is no constant");
    PrintRecord head;
    head.text = static_cast<std::uint32_t>(place);
    head.kernel = field("kernel");
    head.site = field("site");
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const char name[] = {'.', static_cast<char>('x' + axis), '\0'};
        head.block[axis] = field(std::string("block") + name);
        head.thread[axis] = field(std::string("thread") + name);
    }
    const std::size_t numbers = read_format(text_at(object_, place, registers_[2])).numbers;
    std::vector<std::byte> record(sizeof head);
    std::memcpy(record.data(), &head, sizeof head);
    auto passed = Result<std::vector<std::byte>>(std::vector<std::byte>());
    if (all_at_once)
        passed = memory_.read(registers_[3], static_cast<std::uint32_t>(registers_[4]));
    else
        for (std::size_t number = 0; number < std::min<std::size_t>(numbers, 3); ++number)
            for (const std::byte byte : std::as_bytes(std::span(&registers_[3 + number], 1)))
                passed->push_back(byte);
    if (!passed)
        return passed.errors();
    record.insert(record.end(), passed->begin(), passed->end());
    execution_.records.push_back({*object_.print_map, std::move(record)});
    registers_[0] = 0;
    return ok();
}

Result<std::uint64_t> Machine::value_address(std::uint32_t map, std::int64_t offset) {
    if (map == Object::kConstantsMap)
        return constants_address_ + static_cast<std::uint64_t>(offset);
    if (map >= object_.maps.size() || !object_.maps[map].is_array())
        return fault(fmt::format("an address in map {} is loaded, which is no array", map));
    const auto storage = storage_of(map);
    if (!storage)
        return storage.errors();
    auto* value = element(map, **storage, std::vector<std::byte>(object_.maps[map].key_bytes), true);
    if (value == nullptr)
        return fault(fmt::format("map '{}' has no element", object_.maps[map].name));
    return memory_.address_of(fmt::format("a value of map '{}'", object_.maps[map].name), *value) +
           static_cast<std::uint64_t>(offset);
}

}  // namespace egpu::ebpf

// SPDX-License-Identifier: Apache-2.0
#include "ebpf/specializer/state.hpp"

#include "ebpf/isa/semantics.hpp"

namespace egpu::ebpf::specializer {
namespace {

struct Place {
    std::uint32_t word, byte;
};

Place place_of(std::uint32_t depth, std::int64_t offset) {
    const auto from_bottom = static_cast<std::uint32_t>(offset + kFrameBytes);
    return {depth * 64 + from_bottom / 8, from_bottom % 8};
}

/// The bytes of a value stored whole, for a partial overwrite or read.
StackWord as_bytes(const StackWord& word) {
    if (!word.whole)
        return word;
    StackWord split;
    for (std::uint32_t byte = 0; byte < 8; ++byte)
        if (word.byte_known(byte)) {
            split.known = static_cast<std::uint8_t>(split.known | (1u << byte));
            split.bytes[byte] = word.byte_at(byte);
        }
    split.sources = word.unknown_sources();
    return split;
}

StackWord join_words(const StackWord& a, const StackWord& b) {
    if (a.whole && b.whole) {
        StackWord joined;
        joined.whole = true;
        joined.value = join(a.value, b.value);
        // Two different numbers may still agree in some bytes.
        if (joined.value.kind != Value::Kind::unknown)
            return joined;
    }
    StackWord left = as_bytes(a);
    const StackWord right = as_bytes(b);
    for (std::uint32_t byte = 0; byte < 8; ++byte)
        if (!right.byte_known(byte) || !left.byte_known(byte) || right.bytes[byte] != left.bytes[byte]) {
            left.known = static_cast<std::uint8_t>(left.known & ~(1u << byte));
            left.bytes[byte] = 0;
        }
    left.sources |= right.sources;
    return left;
}

}  // namespace

bool StackWord::byte_known(std::uint32_t byte) const {
    return whole ? value.is_constant() : (known >> byte & 1) != 0;
}

std::uint8_t StackWord::byte_at(std::uint32_t byte) const {
    return whole ? static_cast<std::uint8_t>(value.constant >> (byte * 8)) : bytes[byte];
}

std::uint64_t StackWord::unknown_sources() const {
    return whole ? value.sources : sources;
}

Value State::reg(std::uint8_t number, std::uint32_t depth) const {
    const auto variable = variable_of(number, depth);
    return variable ? registers_[*variable] : Value::stack_at(depth, 0);
}

void State::set_reg(std::uint8_t number, std::uint32_t depth, const Value& value) {
    if (const auto variable = variable_of(number, depth))
        registers_[*variable] = value;
}

Value State::load(std::uint32_t depth, std::int64_t offset, std::uint32_t count) const {
    const Place place = place_of(depth, offset);
    if (count == 8 && place.byte == 0) {
        const auto found = words_.find(place.word);
        if (found != words_.end() && found->second.whole)
            return found->second.value;
    }
    std::uint64_t sources = 0;
    const auto known = bytes(depth, offset, count, sources);
    if (!known)
        return Value::unknown(sources);
    std::uint64_t number = 0;
    for (std::uint32_t byte = 0; byte < count; ++byte)
        number |= std::uint64_t{(*known)[byte]} << (byte * 8);
    return Value::of(number);
}

void State::store_byte(StackWord& word, std::uint32_t byte, std::optional<std::uint8_t> known, std::uint64_t sources) {
    const auto bit = static_cast<std::uint8_t>(1u << byte);
    if (known) {
        word.known = static_cast<std::uint8_t>(word.known | bit);
        word.bytes[byte] = *known;
    } else {
        word.known = static_cast<std::uint8_t>(word.known & ~bit);
        word.bytes[byte] = 0;
        word.sources |= sources;
    }
}

void State::store(std::uint32_t depth, std::int64_t offset, std::uint32_t count, const Value& value) {
    const Place place = place_of(depth, offset);
    if (count == 8 && place.byte == 0) {
        StackWord word;
        word.whole = true;
        word.value = value;
        words_[place.word] = word;
        return;
    }
    for (std::uint32_t byte = 0; byte < count; ++byte) {
        const Place at = place_of(depth, offset + byte);
        StackWord& word = words_[at.word];
        word = as_bytes(word);
        std::optional<std::uint8_t> known;
        if (value.is_constant())
            known = static_cast<std::uint8_t>(value.constant >> (byte * 8));
        store_byte(word, at.byte, known, value.sources);
    }
}

std::optional<std::array<std::uint8_t, 512>> State::bytes(std::uint32_t depth, std::int64_t offset, std::uint32_t count,
                                                          std::uint64_t& sources) const {
    std::array<std::uint8_t, 512> out{};
    bool all = true;
    for (std::uint32_t byte = 0; byte < count; ++byte) {
        const Place at = place_of(depth, offset + byte);
        const auto found = words_.find(at.word);
        if (found != words_.end() && found->second.byte_known(at.byte)) {
            out[byte] = found->second.byte_at(at.byte);
            continue;
        }
        all = false;
        if (found != words_.end())
            sources |= found->second.unknown_sources();
    }
    if (!all)
        return std::nullopt;
    return out;
}

void State::forget(std::uint32_t depth, std::int64_t offset, std::uint32_t count, std::uint64_t sources) {
    for (std::uint32_t byte = 0; byte < count; ++byte) {
        const Place at = place_of(depth, offset + byte);
        StackWord& word = words_[at.word];
        word = as_bytes(word);
        store_byte(word, at.byte, std::nullopt, sources);
    }
}

void State::forget_frame(std::uint32_t depth, std::uint64_t sources) {
    for (std::uint32_t word = depth * 64; word < depth * 64 + 64; ++word) {
        StackWord& at = words_[word];
        sources |= at.unknown_sources();
        at = StackWord{};
        at.sources = sources;
    }
}

void State::enter_frame(std::uint32_t depth) {
    words_.erase(words_.lower_bound(depth * 64), words_.end());
    for (std::uint8_t number = 6; number < kFramePointer; ++number)
        set_reg(number, depth, Value::unknown());
}

bool State::merge(const State& other) {
    bool changed = false;
    for (std::uint32_t variable = 0; variable < kVariables; ++variable) {
        const Value joined = join(registers_[variable], other.registers_[variable]);
        changed = changed || !(joined == registers_[variable]);
        registers_[variable] = joined;
    }
    const StackWord never_written;
    for (auto& [place, word] : words_) {
        const auto found = other.words_.find(place);
        const StackWord joined = join_words(word, found == other.words_.end() ? never_written : found->second);
        changed = changed || !(joined == word);
        word = joined;
    }
    for (const auto& [place, word] : other.words_)
        if (words_.find(place) == words_.end()) {
            words_.emplace(place, join_words(never_written, word));
            changed = true;
        }
    return changed;
}

}  // namespace egpu::ebpf::specializer

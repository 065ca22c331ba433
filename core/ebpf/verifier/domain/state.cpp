// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/domain/state.hpp"

#include <algorithm>
#include <map>

namespace egpu::ebpf {
namespace {

std::uint32_t saturating_add(std::uint32_t a, std::uint32_t b) {
    std::uint32_t sum;
    return __builtin_add_overflow(a, b, &sum) ? ~std::uint32_t{0} : sum;
}

/// Pairs names of one state with names of the other, one to one.
class Renaming {
public:
    bool pair(std::uint32_t from, std::uint32_t to) {
        for (const auto& [known_from, known_to] : pairs_)
            if (known_from == from || known_to == to)
                return known_from == from && known_to == to;
        pairs_.emplace_back(from, to);
        return true;
    }

private:
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_;
};

struct Names {
    bool by_expression = false;
    Renaming identities, links;
};

/// What is known at the site is known by its expression, not by its range.
bool same_at_site(const Value& wider, const Value& narrower) {
    return wider.scalar.variability != Variability::site ||
           (wider.scalar.expression == narrower.scalar.expression && wider.element == narrower.element);
}

bool covers(const Value& wider, const Value& narrower, Names& names) {
    if (wider.kind == Kind::uninitialised)
        return true;  // shown without reading it
    if (wider.kind != narrower.kind || wider.map != narrower.map || wider.frame != narrower.frame)
        return false;
    const Scalar& a = wider.scalar;
    const Scalar& b = narrower.scalar;
    if (!a.contains_numbers(b) || a.variability < b.variability || a.depth < b.depth ||
        (b.loaded_from & ~a.loaded_from) != 0 || (b.plainly_loaded_from & ~a.plainly_loaded_from) != 0)
        return false;
    if (b.application_address && !a.application_address)
        return false;
    if (a.origin == Origin::of_all_lanes && b.origin != a.origin)
        return false;
    if (names.by_expression && !same_at_site(wider, narrower))
        return false;
    if (a.link != 0 && b.link == 0)
        return false;
    if (a.link != 0 && !names.links.pair(a.link, b.link))
        return false;
    // Names of elements that are known are no names to be chosen.
    if (wider.identity == 0 || narrower.identity == 0 || wider.identity >= Value::kKnownElement ||
        narrower.identity >= Value::kKnownElement)
        return wider.identity == narrower.identity;
    return names.identities.pair(wider.identity, narrower.identity);
}

bool covers(const Stack& wider, const Stack& narrower, Names& names) {
    for (const Piece& piece : wider.pieces()) {
        StackFault fault;
        const auto value = narrower.read(piece.offset, piece.bytes, fault);
        if (!value || !covers(piece.value, *value, names))
            return false;
    }
    return true;
}

/// The same branches are open, or none in the narrower state: a value's depth then means no more there.
bool covers(const std::vector<Divergence>& wider, const std::vector<Divergence>& narrower) {
    if (narrower.empty())
        return true;
    return std::equal(wider.begin(), wider.end(), narrower.begin(), narrower.end(),
                      [](const Divergence& a, const Divergence& b) {
                          return a.join == b.join && a.frame == b.frame && a.variability >= b.variability &&
                                 (b.plainly_loaded_from & ~a.plainly_loaded_from) == 0;
                      });
}

bool covers(const std::vector<KnownField>& wider, const std::vector<KnownField>& narrower, Names& names) {
    for (const KnownField& known : wider) {
        const auto same = std::find_if(narrower.begin(), narrower.end(),
                                       [&](const KnownField& other) { return other.field == known.field; });
        const Value value = same == narrower.end() ? Value::number(known.unread) : same->value;
        if (!covers(known.value, value, names))
            return false;
    }
    return true;
}

/// What the narrower one doesn't hold, the wider one doesn't either, as far as it can be read.
bool covers_left_out(const Frame& wider, const Frame& narrower) {
    const auto registers = narrower.left_out.registers & ~wider.left_out.registers;
    for (std::size_t i = 0; registers.any() && i < wider.registers.size(); ++i)
        if (registers[i] && wider.registers[i].kind != Kind::uninitialised)
            return false;
    const auto stack = narrower.left_out.stack & ~wider.left_out.stack;
    if (stack.none())
        return true;
    for (const Piece& piece : wider.stack.pieces())
        for (std::int32_t byte = piece.offset; byte < piece.end(); ++byte)
            if (stack[static_cast<std::size_t>(kStackBytes + byte)])
                return false;
    return true;
}

bool covers(const Frame& wider, const Frame& narrower, Names& names) {
    if (wider.function != narrower.function || wider.return_to != narrower.return_to)
        return false;
    for (std::size_t i = 0; i < wider.registers.size(); ++i)
        if (!covers(wider.registers[i], narrower.registers[i], names))
            return false;
    return covers_left_out(wider, narrower) && covers(wider.stack, narrower.stack, names);
}

}  // namespace

Cost Cost::operator+(const Cost& other) const {
    return {saturating_add(instructions, other.instructions), saturating_add(lookups, other.lookups),
            saturating_add(atomics, other.atomics)};
}

Cost Cost::operator-(const Cost& other) const {
    return {instructions - other.instructions, lookups - other.lookups, atomics - other.atomics};
}

void Cost::raise_to(const Cost& other) {
    instructions = std::max(instructions, other.instructions);
    lookups = std::max(lookups, other.lookups);
    atomics = std::max(atomics, other.atomics);
}

Value State::get(unsigned index) const {
    if (index < 10)
        return frame().registers[index];
    Value value = Value::pointer(Kind::stack);
    value.frame = static_cast<std::uint32_t>(frames.size() - 1);
    return value;
}

void State::set(unsigned index, const Value& value) {
    Value written = value;
    written.scalar.depth = depth();
    frame().registers[index] = written;
}

std::uint32_t State::link(unsigned index) {
    std::uint32_t& link = frame().registers[index].scalar.link;
    if (link == 0)
        link = next_link++;
    return link;
}

std::uint64_t field_bit(const ContextField& field) {
    return std::uint64_t{1} << (&field - context_fields().data());
}

Value State::read_field(const ContextField& field, const Scalar& unread) {
    auto known =
        std::find_if(fields.begin(), fields.end(), [&](const KnownField& each) { return each.field == &field; });
    if (known == fields.end())
        known = fields.insert(fields.end(), {&field, unread, Value::number(unread)});
    if (known->value.scalar.link == 0 && !known->value.scalar.is_constant())
        known->value.scalar.link = next_link++;
    return known->value;
}

void State::forget_fields(std::uint64_t live) {
    std::erase_if(fields, [&](const KnownField& known) { return (field_bit(*known.field) & live) == 0; });
}

void State::diverge(std::uint32_t join, const Scalar& decided_by) {
    const auto frame_index = static_cast<std::uint32_t>(frames.size() - 1);
    for (Divergence& open : divergences) {
        if (open.join != join || open.frame != frame_index)
            continue;
        open.variability = most_varying(open.variability, decided_by.variability);
        open.plainly_loaded_from |= decided_by.plainly_loaded_from;
        return;
    }
    divergences.push_back({join, frame_index, decided_by.variability, decided_by.plainly_loaded_from});
}

/// What was written while a branch was open now depends on it.
void State::close_at(std::size_t index) {
    const Variability variability = divergences[index].variability;
    for_each_value([&](Value& value) {
        if (value.scalar.depth <= index)
            return;
        value.scalar.variability = most_varying(value.scalar.variability, variability);
        --value.scalar.depth;
    });
    divergences.erase(divergences.begin() + static_cast<std::ptrdiff_t>(index));
}

void State::branch_later(std::uint32_t join) {
    const std::pair branch{join, static_cast<std::uint32_t>(frames.size() - 1)};
    if (std::ranges::find(later_branches, branch) == later_branches.end())
        later_branches.push_back(branch);
}

void State::close(std::uint32_t join) {
    std::erase(later_branches, std::pair{join, static_cast<std::uint32_t>(frames.size() - 1)});
    for (std::size_t i = divergences.size(); i-- > 0;)
        if (divergences[i].join == join && divergences[i].frame + 1 == frames.size())
            close_at(i);
}

void State::close_frame() {
    std::erase_if(later_branches, [&](const auto& branch) { return branch.second + 1 == frames.size(); });
    for (std::size_t i = divergences.size(); i-- > 0;)
        if (divergences[i].frame + 1 == frames.size())
            close_at(i);
}

std::uint64_t State::place() const {
    std::uint64_t place = at;
    for (const Frame& frame : frames)
        place = combine(0xa00, place, frame.return_to);
    return place;
}

bool State::visit(std::uint64_t element) {
    const std::uint64_t here = place();
    const auto after = std::lower_bound(visits.begin(), visits.end(), std::pair(here, std::uint64_t{0}));
    if (after == visits.end() || after->first != here) {
        visits.insert(after, {here, element});
        return true;
    }
    return after->second == element;
}

void State::forget_dead(std::size_t frame, std::uint16_t live_registers) {
    for (unsigned i = 0; i < 10; ++i)
        if (!(live_registers >> i & 1))
            frames[frame].registers[i] = Value{};
}

void State::drop_single_links() {
    std::map<std::uint32_t, int> ends;
    for_each_value([&](Value& value) {
        if (value.scalar.link != 0)
            ++ends[value.scalar.link];
    });
    for_each_value([&](Value& value) {
        if (value.scalar.link != 0 && ends[value.scalar.link] == 1)
            value.scalar.link = 0;
    });
}

bool covers(const State& wider, const State& narrower, bool by_expression) {
    if (wider.at != narrower.at || wider.frames.size() != narrower.frames.size() ||
        !covers(wider.divergences, narrower.divergences) || (narrower.lanes_looped && !wider.lanes_looped) ||
        (narrower.lanes_parted && !wider.lanes_parted))
        return false;
    for (const auto& branch : narrower.later_branches)
        if (std::ranges::find(wider.later_branches, branch) == wider.later_branches.end())
            return false;
    Names names;
    names.by_expression = by_expression;
    if (!covers(wider.fields, narrower.fields, names))
        return false;
    for (std::size_t i = 0; i < wider.frames.size(); ++i)
        if (!covers(wider.frames[i], narrower.frames[i], names))
            return false;
    return !by_expression ||
           std::includes(wider.visits.begin(), wider.visits.end(), narrower.visits.begin(), narrower.visits.end());
}

}  // namespace egpu::ebpf

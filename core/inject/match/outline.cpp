// SPDX-License-Identifier: Apache-2.0
#include "inject/match/outline.hpp"

#include <algorithm>
#include <charconv>

#include "ptx/opcodes/memory.hpp"

namespace egpu::inject {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool starts_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%' || c == '.';
}
bool continues_name(char c) {
    return starts_name(c) || is_digit(c);
}

/// "%r17" -> "%r", 17; a name without a number at its end has none.
bool split_number(std::string_view name, std::string_view& prefix, std::uint32_t& number) {
    std::size_t end = name.size();
    while (end > 0 && is_digit(name[end - 1]))
        --end;
    if (end == name.size() || end == 0)
        return false;
    prefix = name.substr(0, end);
    const auto digits = name.substr(end);
    const auto [last, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return status == std::errc{} && last == digits.data() + digits.size();
}

}  // namespace

Outline::Outline(const ptx::Module& module, const ptx::Function& function) : module_(&module), function_(&function) {
    scopes_.emplace_back();
    for (const auto* list : {&function.parameters, &function.returns})
        for (const auto& parameter : *list)
            parameters_.emplace(parameter.name, &parameter);
    if (function.body == nullptr)
        return;
    struct Open {
        const ptx::Scope* scope;
        std::size_t next;
        std::uint32_t number;
    };
    std::vector<Open> open{{function.body.get(), 0, 0}};
    while (!open.empty()) {
        auto& top = open.back();
        if (top.next == top.scope->statements.size()) {
            open.pop_back();
            continue;
        }
        const ptx::Statement& statement = top.scope->statements[top.next++];
        if (const auto* inner = std::get_if<std::unique_ptr<ptx::Scope>>(&statement)) {
            if (*inner == nullptr)
                continue;
            const auto number = static_cast<std::uint32_t>(scopes_.size());
            scopes_.emplace_back().parent = top.number;
            open.push_back({inner->get(), 0, number});
            continue;
        }
        add_item(statement, top.number);
    }
}

void Outline::add_item(const ptx::Statement& statement, std::uint32_t scope) {
    const std::size_t index = items_.size();
    items_.push_back({&statement, scope});
    auto& names = scopes_[scope];
    if (const auto* variable = std::get_if<ptx::Variable>(&statement))
        (variable->count > 0 ? names.counted : names.plain)[variable->name].push_back({variable, index});
    else if (const auto* label = std::get_if<ptx::Label>(&statement))
        names.labels.emplace(label->name, index);
}

const Outline::Declared* Outline::find_local(std::string_view name, std::size_t index) const {
    std::string_view prefix;
    std::uint32_t number = 0;
    const bool numbered = split_number(name, prefix, number);
    // Declarations stand in the order of the text. A scope that declares one prefix more often than kMostOften is no
    // compiler's work.
    constexpr std::ptrdiff_t kMostOften = 64;
    const auto before = [&](const std::vector<Declared>& all, bool counted) -> const Declared* {
        const auto end =
            std::partition_point(all.begin(), all.end(), [&](const Declared& one) { return one.index < index; });
        const auto stop = end - std::min(end - all.begin(), kMostOften);
        for (auto one = end; one != stop;)
            if (--one; !counted || number < one->variable->count)
                return &*one;
        return nullptr;
    };
    for (std::uint32_t scope = items_[index].scope; scope != kNoScope; scope = scopes_[scope].parent) {
        const auto& names = scopes_[scope];
        if (const auto found = names.plain.find(name); found != names.plain.end())
            if (const auto* declared = before(found->second, false))
                return declared;
        if (!numbered)
            continue;
        if (const auto found = names.counted.find(prefix); found != names.counted.end())
            if (const auto* declared = before(found->second, true))
                return declared;
    }
    return nullptr;
}

Meaning Outline::meaning_of(std::string_view name, std::size_t index) const {
    if (name.empty() || index >= items_.size())
        return {};
    if (const auto* declared = find_local(name, index))
        return {Meaning::Kind::local, declared->variable, nullptr};
    if (const auto parameter = parameters_.find(name); parameter != parameters_.end())
        return {Meaning::Kind::parameter, parameter->second, nullptr};
    if (const auto* variable = module_->variable(name))
        return {Meaning::Kind::module_variable, variable, nullptr};
    if (const auto* function = module_->function(name))
        return {Meaning::Kind::function, nullptr, function};
    return {};
}

std::uint64_t Outline::identity_of(std::string_view name, std::size_t index) const {
    if (name.empty() || index >= items_.size())
        return 0;
    const auto* declared = find_local(name, index);
    if (declared == nullptr)
        return 0;
    std::string_view prefix;
    std::uint32_t number = 0;
    if (declared->variable->count == 0 || !split_number(name, prefix, number))
        number = 0;
    return (static_cast<std::uint64_t>(declared->index + 1) << 32) | number;
}

std::uint32_t Outline::register_bits(std::string_view name, std::size_t index) const {
    if (name.empty() || index >= items_.size())
        return 0;
    const auto meaning = meaning_of(name, index);
    if (meaning.variable == nullptr || meaning.variable->space != ptx::Space::reg)
        return 0;
    return meaning.variable->type == "pred" ? 1 : ptx::type_bytes(meaning.variable->type) * 8;
}

std::size_t Outline::label_target(std::string_view name, std::size_t index) const {
    if (index >= items_.size())
        return items_.size();
    for (std::uint32_t scope = items_[index].scope; scope != kNoScope; scope = scopes_[scope].parent)
        if (const auto found = scopes_[scope].labels.find(name); found != scopes_[scope].labels.end())
            return found->second;
    return items_.size();
}

std::string_view base_name(const ptx::Operand& operand) {
    if (operand.kind == ptx::Operand::Kind::address)
        return operand.base;
    if (operand.kind == ptx::Operand::Kind::identifier)
        return operand.base.empty() ? operand.text : operand.base;
    return {};
}

std::vector<const ptx::Operand*> with_parts(const ptx::Operand& operand) {
    std::vector<const ptx::Operand*> all{&operand};
    for (std::size_t next = 0; next < all.size(); ++next)
        for (const auto& part : all[next]->parts)
            all.push_back(&part);
    return all;
}

std::vector<std::string_view> identifiers_in(std::string_view text) {
    std::vector<std::string_view> names;
    for (std::size_t at = 0; at < text.size();) {
        if (!starts_name(text[at])) {
            ++at;
            // A number such as 0f3F800000 is no name: its letters are skipped with it.
            if (is_digit(text[at - 1]))
                while (at < text.size() && continues_name(text[at]))
                    ++at;
            continue;
        }
        std::size_t end = at + 1;
        while (end < text.size() && continues_name(text[end]))
            ++end;
        names.push_back(text.substr(at, end - at));
        at = end;
    }
    return names;
}

}  // namespace egpu::inject

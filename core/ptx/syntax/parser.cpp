// SPDX-License-Identifier: Apache-2.0
// The module level: PTX ISA 9.0, sections 11.1 (module directives) and 11.2 (functions).
#include "ptx/syntax/parser.hpp"

#include <fmt/format.h>

#include <limits>

#include "ptx/syntax/declarations.hpp"
#include "ptx/syntax/literals.hpp"
#include "ptx/syntax/statements.hpp"

namespace egpu::ptx {
namespace {

class ModuleParser {
public:
    ModuleParser(Module& module, Cursor& cursor) : module_(module), cursor_(cursor) {}

    void run() {
        while (!cursor_.at_end())
            statement();
    }

private:
    void statement() {
        if (cursor_.accept(';'))
            return;
        if (!cursor_.at(TokenKind::dot_word))
            return cursor_.fail_here(cursor_.at('}') ? "a '}' without a '{'" : "expected a directive, such as .entry");
        const std::uint32_t begin = cursor_.begin();
        std::string_view linkage;
        while (cursor_.at(TokenKind::dot_word) && is_linkage(cursor_.text(cursor_.peek())))
            linkage = cursor_.text(cursor_.take()).substr(1);
        if (cursor_.at_dot_word(".entry") || cursor_.at_dot_word(".func"))
            function(begin, linkage);
        else if (cursor_.at(TokenKind::dot_word) && space_of(cursor_.text(cursor_.peek())))
            parse_variables(cursor_, begin, linkage,
                            [&](Variable variable) { module_.variables.push_back(std::move(variable)); });
        else if (!linkage.empty())
            cursor_.fail_here(fmt::format("expected .entry, .func or a state space behind .{}", linkage));
        else
            directive(begin);
    }

    void directive(std::uint32_t begin) {
        if (cursor_.at_dot_word(".version"))
            version(begin);
        else if (cursor_.at_dot_word(".target"))
            target(begin);
        else if (cursor_.at_dot_word(".address_size"))
            address_size(begin);
        else if (cursor_.at_dot_word(".file"))
            file(begin);
        else if (cursor_.at_dot_word(".alias"))
            alias(begin);
        else
            module_.directives.push_back(parse_directive(cursor_, begin));
    }

    /// `.version 9.0`
    void version(std::uint32_t begin) {
        cursor_.take();
        const Token token = cursor_.take();
        const std::string_view text = cursor_.text(token);
        const std::size_t dot = text.find('.');
        const auto major = integer_value(text.substr(0, dot));
        const auto minor = dot == std::string_view::npos ? std::nullopt : integer_value(text.substr(dot + 1));
        if (!major || !minor || *major > 99 || *minor > 99)
            return cursor_.fail("EGPU-P005", "expected a version such as 9.0 behind .version", token.range);
        module_.version_major = static_cast<std::uint32_t>(*major);
        module_.version_minor = static_cast<std::uint32_t>(*minor);
        module_.version_range = cursor_.since(begin);
    }

    /// `.target sm_90a, debug`
    void target(std::uint32_t begin) {
        cursor_.take();
        do {
            if (!cursor_.at(TokenKind::word))
                return cursor_.fail_here("expected a target such as sm_90");
            const std::string_view word = cursor_.text(cursor_.take());
            if (module_.target.empty())
                module_.target = word;
            else
                module_.target_options.push_back(word);
        } while (cursor_.accept(','));
        module_.target_range = cursor_.since(begin);
    }

    void address_size(std::uint32_t begin) {
        cursor_.take();
        const Token token = cursor_.take();
        const auto bits = integer_value(cursor_.text(token));
        if (!bits || (*bits != 32 && *bits != 64))
            return cursor_.fail("EGPU-P005", "expected 32 or 64 behind .address_size", token.range);
        module_.address_size = static_cast<std::uint32_t>(*bits);
        module_.address_size_range = cursor_.since(begin);
    }

    /// `.file 1 "vecadd.cu" [, 1700000000, 1430]`
    void file(std::uint32_t begin) {
        const Directive whole = [&] {
            cursor_.take();
            const auto index =
                cursor_.at(TokenKind::integer) ? integer_value(cursor_.text(cursor_.take())) : std::nullopt;
            if (!index || *index > std::numeric_limits<std::uint32_t>::max() || !cursor_.at(TokenKind::string)) {
                cursor_.fail_here("expected an index and a name behind .file");
                return Directive{};
            }
            const std::string_view quoted = cursor_.text(cursor_.take());
            module_.files.push_back({static_cast<std::uint32_t>(*index), quoted.substr(1, quoted.size() - 2)});
            while (cursor_.accept(','))
                cursor_.take();
            return Directive{"file", cursor_.text(cursor_.since(begin)), {}, cursor_.since(begin)};
        }();
        module_.directives.push_back(whole);
    }

    /// `.alias name, target;`
    void alias(std::uint32_t begin) {
        cursor_.take();
        Alias alias;
        alias.name = cursor_.at(TokenKind::word) ? cursor_.text(cursor_.take()) : "";
        cursor_.expect(',', "between the names of .alias");
        alias.target = cursor_.at(TokenKind::word) ? cursor_.text(cursor_.take()) : "";
        if (alias.name.empty() || alias.target.empty())
            cursor_.fail_here("expected two names of functions in .alias");
        cursor_.expect(';', "behind .alias");
        alias.range = cursor_.since(begin);
        module_.aliases.push_back(alias);
    }

    /// `.visible .func (.param .b32 r) name(.param .b32 a) .noreturn { ... }`
    void function(std::uint32_t begin, std::string_view linkage) {
        Function function;
        function.linkage = linkage;
        function.is_entry = cursor_.text(cursor_.take()) == ".entry";
        function.directives = parse_function_attributes(cursor_);
        if (cursor_.at('('))
            function.returns = parse_parameters(cursor_);
        if (!cursor_.at(TokenKind::word))
            return cursor_.fail_here("expected the name of a function");
        function.name = cursor_.text(cursor_.take());
        if (cursor_.at('('))
            function.parameters = parse_parameters(cursor_);
        for (Directive& directive : parse_function_directives(cursor_))
            function.directives.push_back(std::move(directive));
        if (cursor_.at('{'))
            function.body = parse_body(cursor_);
        else
            cursor_.expect(';', "or '{' behind the head of ", function.name);
        function.range = cursor_.since(begin);
        module_.functions.push_back(std::move(function));
    }

    Module& module_;
    Cursor& cursor_;
};

void fill_indices(Module& module) {
    for (std::size_t i = 0; i < module.functions.size(); ++i) {
        const auto [place, added] = module.function_index.emplace(module.functions[i].name, i);
        if (!added && module.functions[i].body != nullptr)
            place->second = i;
    }
    for (std::size_t i = 0; i < module.variables.size(); ++i) {
        const auto [place, added] = module.variable_index.emplace(module.variables[i].name, i);
        if (!added && module.variables[i].linkage != "extern")
            place->second = i;
    }
}

}  // namespace

Result<Module> parse(std::string text, std::string_view name) {
    while (!text.empty() && text.back() == '\0')
        text.pop_back();
    Module module;
    module.text = std::make_unique<const std::string>(std::move(text));
    auto tokens = tokenize(*module.text, name);
    if (!tokens)
        return tokens.errors();
    Cursor cursor(*module.text, name, std::move(*tokens));
    ModuleParser(module, cursor).run();
    if (cursor.failed())
        return cursor.take_error();
    fill_indices(module);
    return module;
}

}  // namespace egpu::ptx

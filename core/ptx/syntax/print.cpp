// SPDX-License-Identifier: Apache-2.0
#include "ptx/syntax/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

namespace egpu::ptx {
namespace {

using Out = std::back_insert_iterator<std::string>;

/// References to textures, samplers and surfaces are global variables with a type of their own; `.tex` is older.
std::string_view space_word(const Variable& variable) {
    switch (variable.space) {
        case Space::reg:
            return ".reg";
        case Space::param:
            return ".param";
        case Space::local:
            return ".local";
        case Space::shared:
            return ".shared";
        case Space::constant:
            return ".const";
        case Space::global:
        case Space::sampler:
        case Space::surface:
            return ".global";
        case Space::texture:
            return variable.type == "texref" ? ".global" : ".tex";
        case Space::none:
            break;
    }
    return ".none";  // no text gives such a variable
}

class Printer {
public:
    /// `text` is the module's, to which ranges refer.
    explicit Printer(std::string& out, std::string_view text = {}) : out_(out), text_(text) {}

    void operands(const std::vector<Operand>& all, std::string_view separator = ", ") {
        for (const Operand& one : all) {
            out_ += &one == all.data() ? "" : separator;
            operand(one);
        }
    }

    void operand(const Operand& one) {
        out_ += one.negated ? "!" : "";
        switch (one.kind) {
            case Operand::Kind::identifier:
                if (!one.has_offset)
                    out_ += one.text;
                else
                    fmt::format_to(Out(out_), "{}+{}", one.base, one.integer);
                break;
            case Operand::Kind::integer:
                fmt::format_to(Out(out_), "{}", one.integer);
                break;
            case Operand::Kind::floating:
                floating(one);
                break;
            case Operand::Kind::vector:
                enclosed('{', one.parts, '}');
                break;
            case Operand::Kind::list:
                enclosed('(', one.parts, ')');
                break;
            case Operand::Kind::address:
                address(one);
                break;
            case Operand::Kind::pair:
                operands(one.parts, "|");
                break;
            case Operand::Kind::other:
                out_ += one.text;
                break;
        }
    }

    /// Without what ends it, from its linkage or, where it follows another in the same statement, from its name.
    void variable(const Variable& one, bool with_head) {
        if (with_head)
            variable_head(one);
        out_ += one.name;
        if (one.count != 0)
            fmt::format_to(Out(out_), "<{}>", one.count);
        for (std::size_t i = 0; i < one.dimensions.size(); ++i) {
            if (one.dimensions[i] == 0 || (i == 0 && one.counted_by_initializer))
                out_ += "[]";
            else
                fmt::format_to(Out(out_), "[{}]", one.dimensions[i]);
        }
        if (one.initializer) {
            out_ += " = ";
            operand(*one.initializer);
        }
    }

    void function(const Function& one) {
        if (!one.linkage.empty())
            fmt::format_to(Out(out_), ".{} ", one.linkage);
        out_ += one.is_entry ? ".entry " : ".func ";
        for (const Directive& directive : one.directives)
            if (before_name(directive, one))
                fmt::format_to(Out(out_), "{} ", directive.text);
        if (!one.returns.empty())
            parameters(one.returns);
        out_ += one.name;
        if (!one.parameters.empty())
            parameters(one.parameters);
        for (const Directive& directive : one.directives)
            if (!before_name(directive, one))
                fmt::format_to(Out(out_), "\n{}", directive.text);
        if (one.body == nullptr) {
            out_ += ";\n";
            return;
        }
        out_ += '\n';
        scope(*one.body);
    }

    /// A variable with what ends it: a comma where another name of the same statement follows.
    void statement_of(const Variable& one) {
        variable(one, one.name.data() != text_at(one.range));
        out_ += last_of(one.range) == ',' ? ",\n" : ";\n";
    }

    /// Directives with and without a semicolon of their own; those without end with their line.
    void directive(const Directive& one) { fmt::format_to(Out(out_), "{}\n", one.text); }

private:
    void enclosed(char open, const std::vector<Operand>& parts, char close) {
        out_ += open;
        operands(parts);
        out_ += close;
    }

    void floating(const Operand& one) {
        const auto bits = static_cast<std::uint64_t>(one.integer);
        if (one.floating_bits == 32)
            fmt::format_to(Out(out_), "0f{:08X}", bits & 0xffffffff);
        else
            fmt::format_to(Out(out_), "0d{:016X}", bits);
    }

    void address(const Operand& one) {
        out_ += '[';
        if (one.base.empty())
            fmt::format_to(Out(out_), "{}", one.integer);
        else if (!one.has_offset)
            out_ += one.base;
        else
            fmt::format_to(Out(out_), "{}+{}", one.base, one.integer);
        for (const Operand& part : one.parts) {
            out_ += ", ";
            operand(part);
        }
        out_ += one.unified ? "].unified" : "]";
    }

    void variable_head(const Variable& one) {
        if (!one.linkage.empty())
            fmt::format_to(Out(out_), ".{} ", one.linkage);
        fmt::format_to(Out(out_), "{} ", space_word(one));
        const auto pointer = std::find(one.attributes.begin(), one.attributes.end(), "ptr");
        if (pointer != one.attributes.begin())
            fmt::format_to(Out(out_), ".attribute(.{}) ", fmt::join(one.attributes.begin(), pointer, ", ."));
        if (one.alignment != 0)
            fmt::format_to(Out(out_), ".align {} ", one.alignment);
        if (one.vector != 1)
            fmt::format_to(Out(out_), ".v{} ", one.vector);
        if (!one.type.empty())
            fmt::format_to(Out(out_), ".{} ", one.type);
        if (pointer == one.attributes.end())
            return;
        fmt::format_to(Out(out_), ".{} ", fmt::join(pointer, one.attributes.end(), " ."));
        if (one.pointer_alignment != 0)
            fmt::format_to(Out(out_), ".align {} ", one.pointer_alignment);
    }

    void parameters(const std::vector<Variable>& all) {
        out_ += '(';
        for (const Variable& one : all) {
            out_ += &one == all.data() ? "" : ", ";
            variable(one, true);
        }
        out_ += ") ";
    }

    static bool before_name(const Directive& directive, const Function& function) {
        return directive.text.data() < function.name.data();
    }

    void instruction(const Instruction& one) {
        if (one.guard)
            fmt::format_to(Out(out_), "@{}{} ", one.guard->negated ? "!" : "", one.guard->predicate);
        fmt::format_to(Out(out_), "{}", fmt::join(one.parts, "."));
        out_ += one.operands.empty() ? "" : " ";
        operands(one.operands);
        out_ += ";\n";
    }

    /// No deeper than the parser lets braces nest.
    void scope(const Scope& one) {
        out_ += "{\n";
        for (const Statement& statement : one.statements) {
            if (const auto* inner = std::get_if<std::unique_ptr<Scope>>(&statement))
                scope(**inner);
            else if (const auto* at = std::get_if<Instruction>(&statement))
                instruction(*at);
            else if (const auto* label = std::get_if<Label>(&statement))
                fmt::format_to(Out(out_), "{}:\n", label->name);
            else if (const auto* variable = std::get_if<Variable>(&statement))
                statement_of(*variable);
            else if (const auto* directive = std::get_if<Directive>(&statement))
                this->directive(*directive);
        }
        out_ += "}\n";
    }

    const char* text_at(Range range) const { return text_.data() + range.begin; }
    char last_of(Range range) const { return text_[range.end - 1]; }

    std::string& out_;
    std::string_view text_;
};

/// What stands at module scope, in the order of the text.
class ModulePrinter {
public:
    ModulePrinter(const Module& module, std::string& out) : module_(module), out_(out), printer_(out, *module.text) {}

    void run() {
        head();
        for (const Variable& one : module_.variables)
            at(one.range, [this, &one] { printer_.statement_of(one); });
        for (const Function& one : module_.functions)
            at(one.range, [this, &one] { printer_.function(one); });
        for (const Directive& one : module_.directives)
            at(one.range, [this, &one] { printer_.directive(one); });
        for (const Alias& one : module_.aliases)
            at(one.range, [this, &one] { out_ += fmt::format(".alias {}, {};\n", one.name, one.target); });
        std::stable_sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) { return a.begin < b.begin; });
        for (const Item& item : items_)
            item.print();
    }

private:
    struct Item {
        std::uint32_t begin;
        std::function<void()> print;
    };

    void at(Range range, std::function<void()> print) { items_.push_back({range.begin, std::move(print)}); }

    void head() {
        const auto is_written = [](Range range) { return range.end > range.begin; };
        if (is_written(module_.version_range))
            at(module_.version_range,
               [this] { out_ += fmt::format(".version {}.{}\n", module_.version_major, module_.version_minor); });
        if (is_written(module_.target_range))
            at(module_.target_range, [this] {
                out_ += fmt::format(".target {}", module_.target);
                for (const std::string_view option : module_.target_options)
                    out_ += fmt::format(", {}", option);
                out_ += '\n';
            });
        if (is_written(module_.address_size_range))
            at(module_.address_size_range, [this] { out_ += fmt::format(".address_size {}\n", module_.address_size); });
    }

    const Module& module_;
    std::string& out_;
    Printer printer_;
    std::vector<Item> items_;
};

}  // namespace

std::string print(const Module& module) {
    std::string out;
    out.reserve(module.text->size());
    ModulePrinter(module, out).run();
    return out;
}

std::string print(const Operand& operand) {
    std::string out;
    Printer(out).operand(operand);
    return out;
}

std::string print(const Variable& variable) {
    std::string out;
    Printer(out).variable(variable, true);
    return out;
}

}  // namespace egpu::ptx

// SPDX-License-Identifier: Apache-2.0
// Collects PTX statements and the registers they use.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace egpu::inject {

/// Registers of one scope: temporaries by width, and named ones declared on first use.
class Registers {
public:
    std::string b64() { return fmt::format("%egpu_d{}", wide_++); }
    std::string b32() { return fmt::format("%egpu_w{}", narrow_++); }
    std::string predicate() { return fmt::format("%egpu_p{}", predicates_++); }
    /// A 64-bit register of a name of its own ("%egpu_r6f1").
    std::string named(std::string name) {
        named_.insert(name);
        return name;
    }
    /// ".reg" statements of all, in an order that depends on nothing else.
    std::string declarations() const;

private:
    std::uint32_t wide_ = 0, narrow_ = 0, predicates_ = 0;
    std::set<std::string> named_;
};

class Statements {
public:
    /// One instruction without its semicolon.
    void add(std::string_view instruction) {
        text_ += '\t';
        text_ += instruction;
        text_ += ";\n";
        ++instructions_;
    }
    void label(std::string_view name) {
        text_ += name;
        text_ += ":\n";
    }
    void append(const Statements& other) {
        text_ += other.text_;
        instructions_ += other.instructions_;
    }
    /// Text of so many instructions, in a scope of its own or without registers.
    void append(const std::string& text, std::uint32_t instructions) {
        text_ += text;
        instructions_ += instructions;
    }
    const std::string& text() const { return text_; }
    std::uint32_t instructions() const { return instructions_; }

private:
    std::string text_;
    std::uint32_t instructions_ = 0;
};

/// A 64- or 32-bit number as an operand.
std::string literal64(std::uint64_t number);
std::string literal32(std::uint64_t number);

}  // namespace egpu::inject

// SPDX-License-Identifier: Apache-2.0
// The mnemonics of the public conformance suite (uBPF's): "add32 %r1, 5", "ldxw %r0, [%r1+4]", "jeq %r1, %r2, out",
// "lock fetch add [%r10-8], %r1", "call local f". One instruction a line; '#' begins a comment; "name:" is a label.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "ebpf/isa/instruction.hpp"

namespace egpu::ebpf {
namespace {

struct Mnemonic {
    std::string_view name;
    std::uint8_t code;
};
constexpr std::array kAlu{Mnemonic{"add", kAdd}, Mnemonic{"sub", kSub}, Mnemonic{"mul", kMul}, Mnemonic{"div", kDiv},
                          Mnemonic{"or", kOr},   Mnemonic{"and", kAnd}, Mnemonic{"lsh", kLsh}, Mnemonic{"rsh", kRsh},
                          Mnemonic{"mod", kMod}, Mnemonic{"xor", kXor}, Mnemonic{"mov", kMov}, Mnemonic{"arsh", kArsh}};
constexpr std::array kJumps{Mnemonic{"jeq", kJeq},   Mnemonic{"jgt", kJgt},  Mnemonic{"jge", kJge},
                            Mnemonic{"jset", kJset}, Mnemonic{"jne", kJne},  Mnemonic{"jsgt", kJsgt},
                            Mnemonic{"jsge", kJsge}, Mnemonic{"jlt", kJlt},  Mnemonic{"jle", kJle},
                            Mnemonic{"jslt", kJslt}, Mnemonic{"jsle", kJsle}};
constexpr std::array kSizes{Mnemonic{"w", 0x00}, Mnemonic{"h", 0x08}, Mnemonic{"b", 0x10}, Mnemonic{"dw", 0x18}};
constexpr std::array kAtomics{Mnemonic{"add", kAdd}, Mnemonic{"or", kOr},    Mnemonic{"and", kAnd},
                              Mnemonic{"xor", kXor}, Mnemonic{"xchg", 0xe1}, Mnemonic{"cmpxchg", 0xf1}};

template <std::size_t N>
std::optional<std::uint8_t> code_of(const std::array<Mnemonic, N>& table, std::string_view name) {
    for (const auto& row : table)
        if (row.name == name)
            return row.code;
    return std::nullopt;
}

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_space(text.back()))
        text.remove_suffix(1);
    return text;
}

std::string_view take_word(std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && !is_space(text[end]))
        ++end;
    const auto word = text.substr(0, end);
    text = trimmed(text.substr(end));
    return word;
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
    if (!text.ends_with(suffix))
        return false;
    text.remove_suffix(suffix.size());
    return true;
}

/// Decimal with a sign, or hexadecimal bits, that fit into `bits`: "-1", "0xffffffff".
std::optional<std::int64_t> parse_number(std::string_view text, unsigned bits) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+'))
        text.remove_prefix(1);
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex)
        text.remove_prefix(2);
    std::uint64_t magnitude = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), magnitude, hex ? 16 : 10);
    if (code != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    const std::uint64_t half = std::uint64_t{1} << (bits - 1);
    const bool wide = bits == 64 || hex;  // bits are given, not a signed value
    const std::uint64_t limit = negative ? half : wide ? (half - 1) * 2 + 1 : half - 1;
    if (magnitude > limit)
        return std::nullopt;
    const std::uint64_t value = negative ? 0 - magnitude : magnitude;
    return bits == 32   ? static_cast<std::int32_t>(value)
           : bits == 16 ? static_cast<std::int16_t>(value)
                        : static_cast<std::int64_t>(value);
}

std::optional<std::uint8_t> parse_register(std::string_view text) {
    if (!text.starts_with("%r") && !text.starts_with("r"))
        return std::nullopt;
    text.remove_prefix(text.front() == '%' ? 2 : 1);
    std::uint8_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc{} || end != text.data() + text.size() || number > kFramePointer)
        return std::nullopt;
    return number;
}

class Assembler {
public:
    Result<std::vector<Instruction>> run(std::string_view text);

private:
    /// Both say whether the line was understood; `problem_` says what was wrong with one that was not.
    bool line(std::string_view text);
    bool instruction(std::string_view mnemonic, std::string_view rest);

    bool alu(std::string_view name, std::uint8_t cls, const std::vector<std::string_view>& operands);
    bool sign_extending_move(std::string_view bits, const std::vector<std::string_view>& operands);
    bool byte_swap(std::string_view name, const std::vector<std::string_view>& operands);
    bool jump(std::string_view name, std::uint8_t cls, const std::vector<std::string_view>& operands);
    bool memory(std::string_view name, const std::vector<std::string_view>& operands);
    bool atomic(std::string_view rest);
    bool call(std::string_view rest);
    bool load_immediate64(const std::vector<std::string_view>& operands);

    bool wrong(std::string problem) {
        if (problem_.empty())
            problem_ = std::move(problem);
        return false;
    }
    bool count(const std::vector<std::string_view>& operands, std::size_t wanted) {
        return operands.size() == wanted || wrong(fmt::format("takes {} operands, has {}", wanted, operands.size()));
    }
    bool destination(Instruction& i, std::string_view text) {
        const auto number = parse_register(text);
        if (number)
            i.destination = *number & 15;
        return number || wrong(fmt::format("'{}' is no register", text));
    }
    bool source(Instruction& i, std::string_view text) {
        const auto number = parse_register(text);
        if (number)
            i.source = *number & 15;
        return number || wrong(fmt::format("'{}' is no register", text));
    }
    bool immediate(Instruction& i, std::string_view text) {
        const auto number = parse_number(text, 32);
        if (number)
            i.immediate = static_cast<std::int32_t>(*number);
        return number || wrong(fmt::format("'{}' is no number of 32 bits", text));
    }
    /// A register or a number, by which the opcode differs.
    bool register_or_immediate(Instruction& i, std::string_view text) {
        if (text.starts_with('%')) {
            i.opcode |= kSourceRegister;
            return source(i, text);
        }
        return immediate(i, text);
    }
    /// "[%r1+4]"; the register goes to the destination of stores and the source of loads.
    bool place(Instruction& i, std::string_view text, bool is_store);
    bool target(std::string_view text, bool in_immediate);
    Status resolve_labels();

    struct Reference {
        std::size_t instruction;
        std::string label;
        bool in_immediate;
        std::size_t line;
    };
    std::vector<Instruction> out_;
    std::unordered_map<std::string, std::size_t> labels_;
    std::vector<Reference> references_;
    std::string problem_;
    std::size_t line_ = 0;
};

bool Assembler::place(Instruction& i, std::string_view text, bool is_store) {
    if (!text.starts_with('[') || !text.ends_with(']'))
        return wrong(fmt::format("'{}' is no place in memory, such as [%r1+4]", text));
    text = text.substr(1, text.size() - 2);
    const auto sign = text.find_first_of("+-");
    const auto offset =
        sign == std::string_view::npos ? std::optional<std::int64_t>(0) : parse_number(trimmed(text.substr(sign)), 16);
    if (!offset)
        return wrong(fmt::format("'{}' is no offset of 16 bits", text.substr(sign)));
    i.offset = static_cast<std::int16_t>(*offset);
    const auto base = trimmed(text.substr(0, sign));
    return is_store ? destination(i, base) : source(i, base);
}

/// A label, or a distance such as +3, to be put into the instruction that comes next.
bool Assembler::target(std::string_view text, bool in_immediate) {
    references_.push_back({out_.size(), std::string(text), in_immediate, line_});
    return !text.empty() || wrong("has no target");
}

bool Assembler::alu(std::string_view name, std::uint8_t cls, const std::vector<std::string_view>& operands) {
    Instruction i{.opcode = cls};
    if (name == "neg") {
        i.opcode |= kNeg;
        out_.push_back(i);
        return count(operands, 1) && destination(out_.back(), operands[0]);
    }
    const bool is_signed = name == "sdiv" || name == "smod";
    const auto operation = code_of(kAlu, is_signed ? name.substr(1) : name);
    if (!operation)
        return false;
    i.opcode |= *operation;
    i.offset = is_signed ? 1 : 0;
    if (!count(operands, 2) || !destination(i, operands[0]) || !register_or_immediate(i, operands[1]))
        return false;
    out_.push_back(i);
    return true;
}

bool Assembler::sign_extending_move(std::string_view bits, const std::vector<std::string_view>& operands) {
    struct Row {
        std::string_view bits;
        std::uint8_t cls;
        std::int16_t from;
    };
    for (const auto& row : {Row{"832", kClassAlu, 8},
                            {"1632", kClassAlu, 16},
                            {"864", kClassAlu64, 8},
                            {"1664", kClassAlu64, 16},
                            {"3264", kClassAlu64, 32}}) {
        if (row.bits != bits)
            continue;
        Instruction i{.opcode = static_cast<std::uint8_t>(row.cls | kMov | kSourceRegister), .offset = row.from};
        if (!count(operands, 2) || !destination(i, operands[0]) || !source(i, operands[1]))
            return false;
        out_.push_back(i);
        return true;
    }
    return false;
}

bool Assembler::byte_swap(std::string_view name, const std::vector<std::string_view>& operands) {
    struct Row {
        std::string_view prefix;
        std::uint8_t opcode;
    };
    for (const auto& row : {Row{"bswap", kClassAlu64 | kEnd},
                            {"swap", kClassAlu64 | kEnd},
                            {"le", kClassAlu | kEnd},
                            {"be", kClassAlu | kEnd | kSourceRegister}}) {
        const auto bits = name.starts_with(row.prefix) ? name.substr(row.prefix.size()) : std::string_view{};
        if (bits != "16" && bits != "32" && bits != "64")
            continue;
        Instruction i{.opcode = row.opcode};
        if (!count(operands, 1) || !destination(i, operands[0]) || !immediate(i, bits))
            return false;
        out_.push_back(i);
        return true;
    }
    return false;
}

bool Assembler::jump(std::string_view name, std::uint8_t cls, const std::vector<std::string_view>& operands) {
    if (name == "ja") {
        if (!count(operands, 1) || !target(operands[0], cls == kClassJmp32))
            return false;
        out_.push_back({.opcode = static_cast<std::uint8_t>(cls | kJa)});
        return true;
    }
    const auto operation = code_of(kJumps, name);
    if (!operation)
        return false;
    Instruction i{.opcode = static_cast<std::uint8_t>(cls | *operation)};
    if (!count(operands, 3) || !destination(i, operands[0]) || !register_or_immediate(i, operands[1]) ||
        !target(operands[2], false))
        return false;
    out_.push_back(i);
    return true;
}

bool Assembler::memory(std::string_view name, const std::vector<std::string_view>& operands) {
    struct Row {
        std::string_view prefix;
        std::uint8_t opcode;
    };
    for (const auto& row : {Row{"ldxs", kClassLdx | kModeMemSigned},
                            {"ldx", kClassLdx | kModeMem},
                            {"stx", kClassStx | kModeMem},
                            {"st", kClassSt | kModeMem}}) {
        const auto size = name.starts_with(row.prefix) ? code_of(kSizes, name.substr(row.prefix.size())) : std::nullopt;
        if (!size)
            continue;
        Instruction i{.opcode = static_cast<std::uint8_t>(row.opcode | *size)};
        const bool is_load = class_of(i) == kClassLdx;
        if (!count(operands, 2) || !place(i, operands[is_load ? 1 : 0], !is_load))
            return false;
        const bool good = is_load                    ? destination(i, operands[0])
                          : class_of(i) == kClassStx ? source(i, operands[1])
                                                     : immediate(i, operands[1]);
        out_.push_back(i);
        return good;
    }
    return false;
}

std::vector<std::string_view> split_operands(std::string_view rest) {
    std::vector<std::string_view> out;
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        out.push_back(trimmed(rest.substr(0, comma)));
        rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
    return out;
}

bool Assembler::atomic(std::string_view rest) {
    auto name = take_word(rest);
    const bool fetch = name == "fetch";
    if (fetch)
        name = take_word(rest);
    const bool narrow = remove_suffix(name, "32");
    const auto operation = code_of(kAtomics, name);
    if (!operation)
        return wrong(fmt::format("'{}' is no atomic operation", name));
    Instruction i{.opcode = static_cast<std::uint8_t>(kClassStx | kModeAtomic | (narrow ? 0x00 : 0x18)),
                  .immediate = *operation | (fetch ? kFetch : 0)};
    const auto operands = split_operands(rest);
    if (!count(operands, 2) || !place(i, operands[0], true) || !source(i, operands[1]))
        return false;
    out_.push_back(i);
    return true;
}

bool Assembler::call(std::string_view rest) {
    Instruction i{.opcode = kCall};
    std::string_view after = rest;
    if (take_word(after) == "local") {
        i.source = kPseudoCall;
        if (!target(after, true))
            return false;
    } else if (const auto through = parse_register(rest); through) {
        i.opcode |= kSourceRegister;  // no instruction of RFC 9669, and refused: clang's, for a function pointer
        i.destination = *through & 15;
    } else if (!immediate(i, rest)) {
        return false;
    }
    out_.push_back(i);
    return true;
}

bool Assembler::load_immediate64(const std::vector<std::string_view>& operands) {
    Instruction i{.opcode = kLoadImmediate64};
    if (!count(operands, 2) || !destination(i, operands[0]))
        return false;
    const auto value = parse_number(operands[1], 64);
    if (!value)
        return wrong(fmt::format("'{}' is no number of 64 bits", operands[1]));
    i.immediate = static_cast<std::int32_t>(*value);
    out_.push_back(i);
    out_.push_back({.immediate = static_cast<std::int32_t>(*value >> 32)});
    return true;
}

bool Assembler::instruction(std::string_view mnemonic, std::string_view rest) {
    if (mnemonic == "lock")
        return atomic(rest);
    if (mnemonic == "call")
        return call(rest);
    const auto operands = split_operands(rest);
    if (mnemonic == "exit") {
        out_.push_back({.opcode = kExit});
        return count(operands, 0);
    }
    if (mnemonic == "lddw")
        return load_immediate64(operands);
    if (mnemonic.starts_with("movsx"))
        return sign_extending_move(mnemonic.substr(5), operands) || wrong("is no instruction");
    std::string_view base = mnemonic;
    const bool narrow = remove_suffix(base, "32");
    return byte_swap(mnemonic, operands) || alu(base, narrow ? kClassAlu : kClassAlu64, operands) ||
           jump(base, narrow ? kClassJmp32 : kClassJmp, operands) || memory(mnemonic, operands) ||
           wrong("is no instruction");
}

bool Assembler::line(std::string_view text) {
    text = trimmed(text.substr(0, text.find('#')));
    if (const auto colon = text.find(':'); colon != std::string_view::npos) {
        const auto label = trimmed(text.substr(0, colon));
        if (label.empty() || !labels_.emplace(label, out_.size()).second)
            return wrong(fmt::format("label '{}' stands there twice, or is empty", label));
        text = trimmed(text.substr(colon + 1));
    }
    if (text.empty())
        return true;
    std::string_view rest = text;
    const auto mnemonic = take_word(rest);
    return instruction(mnemonic, rest);
}

Status Assembler::resolve_labels() {
    // The suite uses "exit" for the last exit instruction, without a label there.
    for (std::size_t i = out_.size(); i-- > 0 && !labels_.contains("exit");)
        if (out_[i].opcode == kExit)
            labels_.emplace("exit", i);
    for (const auto& reference : references_) {
        const auto found = labels_.find(reference.label);
        const auto distance = found != labels_.end()
                                  ? std::optional(static_cast<std::int64_t>(found->second) -
                                                  static_cast<std::int64_t>(reference.instruction) - 1)
                                  : parse_number(reference.label, reference.in_immediate ? 32 : 16);
        auto& i = out_[reference.instruction];
        if (!distance || *distance < INT32_MIN || *distance > INT32_MAX)
            return error("EGPU-V002", fmt::format("line {}: '{}' is no label", reference.line, reference.label));
        if (reference.in_immediate)
            i.immediate = static_cast<std::int32_t>(*distance);
        else if (*distance < INT16_MIN || *distance > INT16_MAX)
            return error("EGPU-V002", fmt::format("line {}: '{}' is too far away", reference.line, reference.label),
                         "use ja32");
        else
            i.offset = static_cast<std::int16_t>(*distance);
    }
    return ok();
}

Result<std::vector<Instruction>> Assembler::run(std::string_view text) {
    while (!text.empty()) {
        ++line_;
        const auto this_line = text.substr(0, text.find('\n'));
        if (!line(this_line))
            return error("EGPU-V002", fmt::format("line {}: '{}': {}", line_, trimmed(this_line), problem_));
        text.remove_prefix(std::min(text.size(), this_line.size() + 1));
    }
    if (auto status = resolve_labels(); !status)
        return status.errors();
    return std::move(out_);
}

}  // namespace

Result<std::vector<Instruction>> assemble(const std::string& text) {
    return Assembler().run(text);
}

}  // namespace egpu::ebpf

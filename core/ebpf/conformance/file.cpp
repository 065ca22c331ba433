// SPDX-License-Identifier: Apache-2.0
#include "ebpf/conformance/file.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "base/files.hpp"
#include "ebpf/interpreter/interpreter.hpp"

namespace egpu::ebpf {
namespace {

/// "-- asm" and the lines below it, by name.
std::map<std::string, std::string> sections_of(const std::string& text) {
    std::map<std::string, std::string> sections;
    std::string name;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("-- "))
            sections[name = line.substr(3)];
        else if (!name.empty())
            sections[name] += line + "\n";
    }
    return sections;
}

/// Numbers of a section, '#' to the end of a line left out. Nothing where one isn't a number.
std::optional<std::vector<std::uint64_t>> numbers_of(const std::string& text, int base) {
    std::vector<std::uint64_t> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        for (std::string word; words >> word;) {
            char* end = nullptr;
            out.push_back(std::strtoull(word.c_str(), &end, base));
            if (*end != '\0')
                return std::nullopt;
        }
    }
    return out;
}

/// 64-bit words ("0x5566778800000018"), or the bytes of instructions ("07 00 01 00 01 00 00 00").
std::optional<std::vector<Instruction>> raw_program(const std::string& text) {
    const auto numbers = numbers_of(text, 16);
    if (!numbers)
        return std::nullopt;
    std::vector<std::uint8_t> bytes;
    for (const auto number : *numbers)
        for (unsigned i = 0; i < (text.find("0x") != std::string::npos ? 8u : 1u); ++i)
            bytes.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
    if (bytes.empty() || bytes.size() % sizeof(Instruction) != 0)
        return std::nullopt;
    std::vector<Instruction> program(bytes.size() / sizeof(Instruction));
    std::memcpy(program.data(), bytes.data(), bytes.size());
    return program;
}

}  // namespace

Result<ConformanceFile> read_conformance_file(const std::string& path) {
    const auto text = read_text(path);
    if (!text)
        return text.errors();
    auto sections = sections_of(*text);
    ConformanceFile file;
    if (sections.contains("asm")) {
        auto program = assemble(sections["asm"]);
        if (!program)
            return program.errors();
        file.program = *std::move(program);
    }
    if (sections.contains("raw")) {
        const auto program = raw_program(sections["raw"]);
        if (!program)
            return error("EGPU-T001", path + ": the raw section can't be read");
        if (!file.program.empty() && file.program != *program)
            return error("EGPU-T001", path + ": assembly and raw section differ");
        file.program = *program;
    }
    if (!sections.contains("asm") && !sections.contains("raw"))
        return error("EGPU-T001", path + ": there is no program");
    const auto memory = numbers_of(sections["mem"], 16);
    const auto result = numbers_of(sections["result"], 0);
    if (!memory || !result || result->size() > 1 || (result->empty() && !sections.contains("error")))
        return error("EGPU-T001", path + ": the mem or result section can't be read");
    for (const auto number : *memory)
        file.memory.push_back(static_cast<std::byte>(number));
    if (!result->empty())
        file.result = result->front();
    return file;
}

std::string outside_the_standard(const std::vector<Instruction>& program) {
    constexpr std::uint8_t kCallThroughRegister = kCall | kSourceRegister;
    for (std::size_t at = 0; at < program.size(); ++at) {
        const Instruction& i = program[at];
        if (i.opcode == kCallThroughRegister)
            return "calls through a register, which RFC 9669 doesn't have";
        if (i.opcode == kCall && i.source == 0)
            return "calls a helper of the suite's own";
        at += i.opcode == kLoadImmediate64 ? 1 : 0;
    }
    return {};
}

Result<ConformanceRun> interpret_conformance(const std::vector<Instruction>& program, std::vector<std::byte> memory) {
    const Object object;
    Execution execution;
    execution.memory = memory;
    const auto result = interpret(object, program, execution);
    if (!result)
        return result.errors();
    return ConformanceRun{*result, execution.was_misaligned};
}

}  // namespace egpu::ebpf

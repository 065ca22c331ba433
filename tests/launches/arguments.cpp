// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include <fmt/format.h>

#include "base/diagnostic.hpp"

namespace egpu::launches {
namespace {

std::size_t width_of(const std::string& type) {
    if (type == "zero")
        return 1;
    const auto digit = type.find_first_of("0123456789");
    return digit == std::string::npos ? 0 : static_cast<std::size_t>(std::atoi(type.c_str() + digit)) / 8;
}

/// The bits of a number in a type; of the narrow float types only what is exact in them.
std::uint64_t bits_of(const std::string& type, double value) {
    const auto single = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    if (type == "f64")
        return std::bit_cast<std::uint64_t>(value);
    if (type == "f32")
        return single;
    if (type == "bf16")
        return single >> 16;
    if (type == "f16")
        return value == 0 ? 0 : (single >> 16 & 0x8000) | ((single >> 23 & 0xff) - 112) << 10 | (single >> 13 & 0x3ff);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

/// Element `at` of the pattern: whole numbers from 0 to 22, of float types quarters from -2 to 3.5.
std::uint64_t pattern(const std::string& type, std::size_t at) {
    const auto step = static_cast<double>((at * 7 + 3) % 23);
    return bits_of(type, type == "zero" ? 0 : type.find('f') != std::string::npos ? (step - 8) / 4 : step);
}

void append(std::vector<std::byte>& bytes, std::uint64_t bits, std::size_t width) {
    for (std::size_t byte = 0; byte < width; ++byte)
        bytes.push_back(static_cast<std::byte>(byte < 8 ? bits >> (8 * byte) & 0xff : 0));
}

void align(std::vector<std::byte>& bytes, std::size_t alignment) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
}

Diagnostic wrong(const std::string& word) {
    return error("", fmt::format("'{}' is no argument", word));
}

/// tensor=TYPE,N,N,N,N; texture=N,N; surface=N,N.
Result<Argument> parse_object(const std::string& word, const std::string& kind, const std::string& rest) {
    Argument argument;
    argument.kind = kind == "tensor"    ? Argument::Kind::tensor
                    : kind == "texture" ? Argument::Kind::texture
                                        : Argument::Kind::surface;
    std::istringstream parts(rest);
    if (kind == "tensor")
        std::getline(parts, argument.type, ',');
    for (std::string one; std::getline(parts, one, ',');)
        argument.extent.push_back(static_cast<std::uint32_t>(std::atoi(one.c_str())));
    const bool fits =
        kind == "tensor" ? argument.extent.size() == 4 && width_of(argument.type) != 0 : argument.extent.size() == 2;
    return fits ? Result<Argument>(std::move(argument)) : wrong(word);
}

Result<Argument> parse_word(const std::string& word) {
    Argument argument;
    const auto mark = word.find_first_of("[{=*");
    if (mark == std::string::npos) {
        char* end = nullptr;
        argument.number = std::strtoll(word.c_str(), &end, 0);
        return *end == 0 && !word.empty() ? Result<Argument>(std::move(argument)) : wrong(word);
    }
    argument.type = word.substr(0, mark);
    const std::string rest = word.substr(mark + 1);
    if (argument.type == "tensor" || argument.type == "texture" || argument.type == "surface")
        return parse_object(word, argument.type, rest);
    if (width_of(argument.type) == 0)
        return wrong(word);
    if (word[mark] == '=') {
        append(argument.bytes, bits_of(argument.type, std::atof(rest.c_str())), width_of(argument.type));
        return argument;
    }
    argument.kind = word[mark] == '*' ? Argument::Kind::elements : Argument::Kind::buffer;
    if (word[mark] != '{') {
        argument.bytes = patterned(argument.type, static_cast<std::size_t>(std::atoll(rest.c_str())));
    } else {
        std::istringstream elements(rest.substr(0, rest.find('}')));
        for (std::string one; std::getline(elements, one, ',');)
            append(argument.bytes, bits_of(argument.type, std::atof(one.c_str())), width_of(argument.type));
    }
    return argument.bytes.empty() ? Result<Argument>(wrong(word)) : Result<Argument>(std::move(argument));
}

}  // namespace

Result<std::vector<Argument>> parse_arguments(const std::vector<std::string>& words, std::size_t at) {
    std::vector<Argument> arguments;
    std::vector<Argument> outer;  // the arguments before an open structure are its first `parts`
    bool inside = false;
    for (; at < words.size(); ++at) {
        if (words[at] == "(" && !inside) {
            inside = true;
            outer = std::move(arguments);
            arguments.clear();
        } else if (words[at] == ")" && inside) {
            inside = false;
            Argument structure;
            structure.kind = Argument::Kind::structure;
            structure.parts = std::move(arguments);
            arguments = std::move(outer);
            arguments.push_back(std::move(structure));
        } else {
            auto one = parse_word(words[at]);
            if (!one)
                return one.error();
            arguments.push_back(std::move(*one));
        }
    }
    return inside ? Result<std::vector<Argument>>(wrong("(")) : Result<std::vector<Argument>>(std::move(arguments));
}

std::vector<std::byte> patterned(const std::string& type, std::size_t count) {
    std::vector<std::byte> bytes;
    for (std::size_t at = 0; at < count; ++at)
        append(bytes, pattern(type, at), width_of(type));
    return bytes;
}

Result<std::vector<std::byte>> Memory::object(const Argument&) {
    return error("", "no tensor maps, textures and surfaces");
}

Result<std::vector<std::byte>> Buffers::bytes_of(const Argument& argument, std::size_t width) {
    using Kind = Argument::Kind;
    std::vector<std::byte> bytes;
    if (argument.kind == Kind::buffer) {
        const auto address = memory_.allocate(argument.bytes.size());
        if (!address)
            return address.error();
        buffers_.push_back({*address, argument.bytes});
        append(bytes, *address, 8);
    } else if (argument.kind == Kind::structure) {
        for (const auto& part : argument.parts) {
            const auto own = bytes_of(part, 4);
            if (!own)
                return own.error();
            align(bytes, part.kind == Kind::buffer ? 8 : part.type.empty() ? 4 : width_of(part.type));
            bytes.insert(bytes.end(), own->begin(), own->end());
        }
    } else if (argument.kind == Kind::number && argument.type.empty()) {
        append(bytes, static_cast<std::uint64_t>(argument.number), width);
    } else if (argument.kind == Kind::number || argument.kind == Kind::elements) {
        bytes = argument.bytes;
    } else {
        return memory_.object(argument);
    }
    return bytes;
}

Result<std::vector<std::byte>> Buffers::place(const std::vector<Argument>& arguments,
                                              std::span<const ParameterPlace> parameters) {
    if (arguments.size() != parameters.size())
        return error("", fmt::format("{} arguments for {} parameters", arguments.size(), parameters.size()));
    std::vector<std::byte> all;
    for (std::size_t at = 0; at < arguments.size(); ++at) {
        const auto& parameter = parameters[at];
        const auto bytes = bytes_of(arguments[at], parameter.bytes);
        if (!bytes)
            return bytes.error();
        if (bytes->size() > parameter.bytes)
            return error("",
                         fmt::format("argument {} has {} bytes, the parameter {}", at, bytes->size(), parameter.bytes));
        all.resize(std::max<std::size_t>(all.size(), parameter.offset + parameter.bytes));
        std::memcpy(all.data() + parameter.offset, bytes->data(), bytes->size());
    }
    if (auto filled = refill(); !filled)
        return filled.error();
    return all;
}

Status Buffers::refill() {
    for (const auto& buffer : buffers_)
        if (auto copied = memory_.copy_in(buffer.address, buffer.initial.data(), buffer.initial.size()); !copied)
            return copied;
    return ok();
}

Result<std::vector<std::vector<std::byte>>> Buffers::contents() const {
    std::vector<std::vector<std::byte>> all;
    for (const auto& buffer : buffers_) {
        all.emplace_back(buffer.initial.size());
        if (auto copied = memory_.copy_out(all.back().data(), buffer.address, all.back().size()); !copied)
            return copied.error();
    }
    return all;
}

}  // namespace egpu::launches

// SPDX-License-Identifier: Apache-2.0
// Reading fixtures, and the PTX around them.
#include "fixture.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>

#include "gpu/simulated/executor/operations/half_value.hpp"

namespace egpu::simulated::test {
namespace {

unsigned bits_of(const std::string& type) {
    if (type == "pred") {
        return 1;
    }
    if (type.ends_with("x2")) {
        return 32;
    }
    return static_cast<unsigned>(std::stoul(type.substr(type.find_first_of("0123456789"))));
}

std::string register_class(const std::string& type) {
    const unsigned bits = bits_of(type);
    return bits == 1 ? "pred" : bits == 16 ? "b16" : bits == 32 ? "b32" : "b64";
}

std::vector<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> found;
    for (std::string word; stream >> word;) {
        found.push_back(word);
    }
    return found;
}

std::vector<std::uint64_t> numbers(const std::string& text) {
    std::vector<std::uint64_t> found;
    for (const std::string& word : words(text)) {
        found.push_back(std::stoull(word, nullptr, 16));
    }
    return found;
}

/// Puts register names into the places of the code.
std::string filled(const std::string& code) {
    std::string result;
    for (std::size_t at = 0; at < code.size(); ++at) {
        const auto is = [&](const char* name) { return code.compare(at, std::string(name).size(), name) == 0; };
        if (is("%buf") || is("%loc") || is("%sh")) {
            const std::size_t length = is("%sh") ? 3 : 4;
            result += "%at_" + code.substr(at + 1, length - 1);
            at += length - 1;
        } else if (code[at] == '%' && at + 1 < code.size() &&
                   std::string("0123dex").find(code[at + 1]) != std::string::npos) {
            result += std::string("%v_") + code[at + 1];
            ++at;
        } else {
            result += code[at];
        }
    }
    return result;
}

std::string kernel_of(const Fixture& fixture, std::size_t index) {
    std::string text = fmt::format(
        ".visible .entry f{}(.param .u64 in, .param .u64 out, .param .u64 scratch, .param .u32 count)\n{{\n"
        "  .shared .align 16 .b8 tile[8192]; .local .align 16 .b8 depot[32];\n"
        "  .reg .pred %in_range; .reg .b32 %thread, %n, %word, %tile32; .reg .b64 %pin, %pout, %at_buf, %at_sh, "
        "%at_loc, %raw, %v_x;\n",
        index);
    for (std::size_t i = 0; i < fixture.operands.size(); ++i) {
        text += fmt::format("  .reg .{} %v_{};\n", register_class(fixture.operands[i]), i);
    }
    for (std::size_t i = 0; i < fixture.results.size(); ++i) {
        text += fmt::format("  .reg .{} %v_{};\n", register_class(fixture.results[i]), i == 0 ? 'd' : 'e');
    }
    text +=
        "  ld.param.u64 %pin, [in]; ld.param.u64 %pout, [out]; ld.param.u64 %at_buf, [scratch]; ld.param.u32 %n, "
        "[count];\n"
        "  mov.u32 %thread, %tid.x; setp.ge.u32 %in_range, %thread, %n; @%in_range ret;\n"
        "  mad.wide.u32 %at_buf, %thread, 64, %at_buf; mov.u64 %at_sh, tile; mad.wide.u32 %at_sh, %thread, 64, "
        "%at_sh;\n"
        "  mov.u64 %at_loc, depot;\n";
    text += fmt::format("  mad.wide.u32 %pin, %thread, {}, %pin; mad.wide.u32 %pout, %thread, {}, %pout;\n",
                        8 * fixture.operands.size(), 8 * fixture.results.size());
    for (std::size_t i = 0; i < fixture.operands.size(); ++i) {
        const unsigned bits = bits_of(fixture.operands[i]);
        text += fmt::format("  ld.global.u64 %raw, [%pin+{}]; ", 8 * i);
        text += bits == 1    ? fmt::format("setp.ne.u64 %v_{}, %raw, 0;\n", i)
                : bits == 64 ? fmt::format("mov.b64 %v_{}, %raw;\n", i)
                             : fmt::format("cvt.u{}.u64 %v_{}, %raw;\n", bits, i);
    }
    text += "  " + filled(fixture.code) + "\n";
    for (std::size_t i = 0; i < fixture.results.size(); ++i) {
        const unsigned bits = bits_of(fixture.results[i]);
        const char name = i == 0 ? 'd' : 'e';
        text += bits == 1    ? fmt::format("  selp.u64 %raw, 1, 0, %v_{};", name)
                : bits == 64 ? fmt::format("  mov.b64 %raw, %v_{};", name)
                             : fmt::format("  cvt.u64.u{} %raw, %v_{};", bits, name);
        text += fmt::format(" st.global.u64 [%pout+{}], %raw;\n", 8 * i);
    }
    return text + "  ret;\n}\n";
}

double value_of(const std::string& type, std::uint64_t bits) {
    if (type == "f64") {
        return std::bit_cast<double>(bits);
    }
    if (type == "f32") {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    }
    const auto narrow = static_cast<std::uint16_t>(bits);
    return type == "f16" ? to_float(Half{narrow}) : to_float(Brain{narrow});
}

}  // namespace

std::vector<std::string> fixture_files() {
    return {"integer",    "logic_and_memory", "float",  "approximation",  "half",
            "conversion", "asynchronous",     "narrow", "cluster_of_one", "cache_hint"};
}

std::vector<Fixture> read_fixtures(const std::string& path) {
    std::ifstream file(path);
    std::vector<Fixture> fixtures;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("op ")) {
            Fixture fixture;
            const std::size_t arrow = line.find(" -> "), colon = line.find(" : ", arrow);
            fixture.code = line.substr(3, arrow - 3);
            fixture.results = words(line.substr(arrow + 4, colon - arrow - 4));
            fixture.operands = words(line.substr(colon + 3));
            fixtures.push_back(std::move(fixture));
        } else if (line.starts_with("bound ")) {
            const auto parts = words(line);
            fixtures.back().relative = parts[1] == "relative";
            fixtures.back().bound = std::stod(parts[2]);
        } else if (const std::size_t equal = line.find('='); equal != std::string::npos) {
            fixtures.back().cases.push_back({numbers(line.substr(0, equal)), numbers(line.substr(equal + 1))});
        }
    }
    return fixtures;
}

std::string module_of(const std::vector<Fixture>& fixtures) {
    std::string text = ".version 8.6\n.target sm_90\n.address_size 64\n";
    for (std::size_t i = 0; i < fixtures.size(); ++i) {
        text += kernel_of(fixtures[i], i);
    }
    return text;
}

std::string compare(const Fixture& fixture, std::size_t result, std::uint64_t wanted, std::uint64_t got) {
    const std::string& type = fixture.results[result];
    if (fixture.bound != 0) {
        const double want = std::bit_cast<double>(wanted), have = value_of(type, got);
        const double error = std::fabs(have - want);
        const double allowed = fixture.relative ? fixture.bound * std::fabs(want) : fixture.bound;
        return error <= allowed ? std::string() : fmt::format("wanted {:g} within {:g}, got {:g}", want, allowed, have);
    }
    if (wanted == got) {
        return {};
    }
    // Which NaN f64 arithmetic gives is not specified.
    if (type == "f64" && std::isnan(value_of(type, wanted)) && std::isnan(value_of(type, got))) {
        return {};
    }
    return fmt::format("wanted {:#x}, got {:#x}", wanted, got);
}

}  // namespace egpu::simulated::test

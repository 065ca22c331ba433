// SPDX-License-Identifier: Apache-2.0
// Probe sets of anyone: read or refused with places inside their text, whatever they include. No file is touched: the
// input holds the set and, behind lines of "%%%", what it includes; names choose among those.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "host/probesets/load.hpp"

namespace {

void require(bool condition) {
    if (!condition)
        std::abort();
}

std::vector<std::string> parts_of(std::string_view input) {
    constexpr std::string_view kBetween = "\n%%%\n";
    std::vector<std::string> parts;
    while (true) {
        const auto end = input.find(kBetween);
        parts.emplace_back(input.substr(0, end));
        if (end == std::string_view::npos)
            return parts;
        input.remove_prefix(end + kBetween.size());
    }
}

void check_place(const egpu::Diagnostic& problem) {
    require(problem.code.starts_with("EGPU-S") && !problem.message.empty());
    for (const auto& quoted : problem.quoted) {
        require(quoted.text.size() <= 1000 && quoted.underline_column >= 1);
        for (const char c : quoted.text)
            require(static_cast<unsigned char>(c) >= 0x20 || c == '\t');
    }
    for (const char c : problem.message)
        require(static_cast<unsigned char>(c) >= 0x20 || c == '\t');
    require(to_text(problem).size() < (std::size_t{1} << 22));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parts = parts_of({reinterpret_cast<const char*>(data), size});
    std::size_t reads = 0;
    egpu::host::SetFiles files;
    files.read = [&](const std::string& path) -> egpu::Result<std::string> {
        require(++reads <= 64);
        if (path == "set.yaml")
            return parts[0];
        if (parts.size() == 1)
            return egpu::error("EGPU-X001", "no such file");
        return parts[1 + std::hash<std::string>{}(path) % (parts.size() - 1)];
    };
    files.find = [](const std::string& name) { return std::optional(name + "/" + name + ".yaml"); };
    files.names = [] { return std::vector<std::string>{"bandwidth", "latency"}; };
    const auto read = egpu::host::read_probe_set("set.yaml", files);
    for (const auto& problem : read.problems)
        check_place(problem);
    if (read.problems.empty())
        require(read.set.name == "set");
    return 0;
}

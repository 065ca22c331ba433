// SPDX-License-Identifier: Apache-2.0
// egpu-driver-compile: the driver's compiler behind ptxas's command line, as far as egpu uses it.
//
//   egpu-driver-compile --version
//   egpu-driver-compile -v -arch=sm_90 [--maxrregcount=N] [--opt-level=N] [--def-load-cache=ca|cg]
//                       [--generate-line-info] SOURCE -o TARGET
//
// Exit code: 0 done, 1 refused, 2 usage, 3 no driver. Messages go to stdout, errors with the word "error".
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include <fmt/format.h>

#include "base/files.hpp"
#include "gpu/cuda/jit.hpp"

namespace {

using namespace egpu;

constexpr int kDone = 0, kRefused = 1, kUsage = 2, kNoDriver = 3;
constexpr std::size_t kSourceLimit = std::size_t{1} << 30;

int complain(int code, const std::string& text) {
    fmt::print("error   : {}\n", text);
    return code;
}

std::optional<std::uint32_t> number(std::string_view text) {
    std::uint32_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    return status == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// "sm_90a"
bool read_architecture(std::string_view text, cuda::JitRequest& request) {
    if (!text.starts_with("sm_"))
        return false;
    text.remove_prefix(3);
    if (text.ends_with('a') || text.ends_with('f')) {
        request.suffix = text.back();
        text.remove_suffix(1);
    }
    const auto value = number(text);
    request.architecture = value.value_or(0);
    return value.has_value();
}

struct Arguments {
    cuda::JitRequest request;
    std::string source, target;
};

/// False at an argument that it does not know: an option that is dropped in silence would give other code.
bool read_option(std::string_view word, cuda::JitRequest& request) {
    const std::string_view name = word.substr(0, word.find('='));
    const std::string_view value = name.size() < word.size() ? word.substr(name.size() + 1) : std::string_view();
    if (name == "-arch")
        return read_architecture(value, request);
    if (name == "--maxrregcount")
        return (request.max_registers = number(value)).has_value();
    if (name == "--opt-level")
        return (request.optimisation_level = number(value)).has_value();
    if (word == "--def-load-cache=cg" || word == "--def-load-cache=ca") {
        request.load_cache = value == "cg" ? CU_JIT_CACHE_OPTION_CG : CU_JIT_CACHE_OPTION_CA;
        return true;
    }
    if (word == "--generate-line-info")
        return request.line_info = true;
    return word == "-v";
}

std::optional<Arguments> read_arguments(int count, char** words) {
    Arguments arguments;
    for (int i = 1; i < count; ++i) {
        const std::string_view word = words[i];
        if (word == "-o" && i + 1 < count)
            arguments.target = words[++i];
        else if (!word.starts_with('-') && arguments.source.empty())
            arguments.source = word;
        else if (!read_option(word, arguments.request))
            return std::nullopt;
    }
    const bool whole = !arguments.source.empty() && !arguments.target.empty() && arguments.request.architecture != 0;
    return whole ? std::optional(std::move(arguments)) : std::nullopt;
}

int print_version(const cuda::Driver& driver) {
    int version = 0;
    if (const CUresult result = driver.driver_get_version(&version); result != CUDA_SUCCESS)
        return complain(kNoDriver, driver.name_of(result));
    fmt::print("egpu-driver-compile: the driver's compiler\nrelease {}.{}\n", version / 1000, version % 1000 / 10);
    // Two drivers may speak the same CUDA version.
    if (std::FILE* build = std::fopen("/proc/driver/nvidia/version", "r")) {
        char line[512];
        while (std::fgets(line, sizeof line, build) != nullptr)
            fmt::print("{}", line);
        std::fclose(build);
    }
    return kDone;
}

int compile(const cuda::Driver& driver, Arguments& arguments) {
    auto source = read_text(arguments.source, kSourceLimit);
    if (!source)
        return complain(kUsage, source.error().message);
    arguments.request.ptx = std::move(*source);
    const auto done = cuda::compile(driver, arguments.request);
    fmt::print("{}{}", done.info, done.info.empty() || done.info.ends_with('\n') ? "" : "\n");
    if (done.result != CUDA_SUCCESS) {
        fmt::print("{}{}", done.errors, done.errors.empty() || done.errors.ends_with('\n') ? "" : "\n");
        return complain(kRefused, fmt::format("{} answers {}", done.call, driver.name_of(done.result)));
    }
    const std::string_view cubin(reinterpret_cast<const char*>(done.cubin.data()), done.cubin.size());
    if (const auto written = write_file(arguments.target, cubin); !written)
        return complain(kRefused, written.error().message);
    return kDone;
}

int run(int count, char** words) {
    const bool version = count == 2 && std::string_view(words[1]) == "--version";
    auto arguments = version ? std::optional(Arguments{}) : read_arguments(count, words);
    if (!arguments)
        return complain(kUsage, "egpu-driver-compile is a part of egpu and takes what egpu gives it");
    // egpu keeps what it compiles; the driver need not do it as well.
    ::setenv("CUDA_CACHE_DISABLE", "1", 1);
    const auto driver = cuda::load_driver();
    if (!driver)
        return complain(kNoDriver, driver.error().message);
    return version ? print_version(*driver) : compile(*driver, *arguments);
}

}  // namespace

int main(int count, char** words) {
    int code = kRefused;
    try {
        code = run(count, words);
    } catch (const std::exception& failure) {
        code = complain(kRefused, failure.what());
    }
    std::fflush(nullptr);
    std::_Exit(code);  // without the driver's own end, which may wait for the GPU
}

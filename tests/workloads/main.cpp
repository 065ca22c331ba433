// SPDX-License-Identifier: Apache-2.0
// egpu-workload: small CUDA programs that check their own results and know what a counter of their accesses must say.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "driver_api.hpp"
#include "workload.hpp"

using namespace workload;

namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitNoDriver = 77;

const std::array<const Workload*, 10> kWorkloads{&kGather, &kVecadd, &kReduction, &kHistogram, &kDivergent,
                                                 &kLoop,   &kSpaces, &kGraph,     &kThreads,   &kContexts};

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

const Workload& find(std::string_view name) {
    for (const Workload* one : kWorkloads) {
        if (name == one->name) {
            return *one;
        }
    }
    throw UsageError("no workload " + std::string(name) + "; egpu-workload --list names them");
}

std::uint64_t number(std::string_view option, std::string_view text, std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
        throw UsageError(std::string(option) + " takes a number from " + std::to_string(least) + " to " +
                         std::to_string(most));
    }
    return value;
}

double seconds(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value > 0) || value > 1e6) {
        throw UsageError("--seconds takes a number above 0");
    }
    return value;
}

/// Reads `--option value` pairs; what a workload does not take is an error, not ignored.
Options parse_options(const Workload& workload, int count, char** words) {
    constexpr std::uint64_t most_elements = std::uint64_t{1} << 28;
    Options options = workload.defaults;
    for (int index = 0; index < count; index += 2) {
        const std::string_view option = words[index];
        if (option == "--update" && workload.takes_replays) {
            options.update = true;
            --index;  // it has no value
            continue;
        }
        if (index + 1 == count) {
            throw UsageError(std::string(option) + " takes a value");
        }
        const std::string_view value = words[index + 1];
        if (option == "--elements") {
            options.elements = number(option, value, workload.elements_multiple, most_elements);
            if (options.elements % workload.elements_multiple != 0) {
                throw UsageError("--elements of " + std::string(workload.name) + " takes a multiple of " +
                                 std::to_string(workload.elements_multiple));
            }
        } else if (option == "--launches") {
            options.launches = number(option, value, 1, 1'000'000'000);
        } else if (option == "--block" && workload.takes_block) {
            options.block = number(option, value, 1, 1024);
        } else if (option == "--replays" && workload.takes_replays) {
            options.replays = number(option, value, 1, 1'000'000'000);
        } else if (option == "--seconds" && workload.takes_seconds) {
            options.seconds = seconds(value);
        } else {
            throw UsageError(std::string(workload.name) + " has no option " + std::string(option));
        }
    }
    return options;
}

int run(const Workload& workload, const Options& options) {
    const std::size_t kernels = workload.expected(options).size();
    const std::uint64_t launches = workload.run(options);
    std::printf("%s: %zu kernel%s, %llu launch%s%s, result ok\n", workload.name, kernels, kernels == 1 ? "" : "s",
                static_cast<unsigned long long>(launches), launches == 1 ? "" : "es", kernels == 1 ? "" : " each");
    return kExitOk;
}

int print_expected(const Workload& workload, const Options& options) {
    if (options.seconds > 0) {
        throw UsageError("--expected needs a number of launches, not --seconds");
    }
    using Json = nlohmann::ordered_json;
    Json kernels = Json::array();
    for (const ExpectedKernel& kernel : workload.expected(options)) {
        Json accesses = Json::array();
        for (const Accesses& one : kernel.accesses) {
            Json entry = {
                {"space", one.space}, {"access", one.access}, {"accesses", one.accesses}, {"bytes", one.bytes}};
            if (one.sectors > 0) {
                entry["sectors"] = one.sectors;
            }
            accesses.push_back(std::move(entry));
        }
        kernels.push_back({{"name", kernel.name},
                           {"mangled", kernel.mangled},
                           {"launches", kernel.launches},
                           {"accesses", std::move(accesses)}});
    }
    const Json document = {{"workload", workload.name}, {"kernels", std::move(kernels)}};
    std::printf("%s\n", document.dump(2).c_str());
    return kExitOk;
}

void print_usage(std::FILE* to) {
    std::fputs(
        "usage: egpu-workload NAME [--elements N] [--launches N] [--block N] [--seconds S] [--replays N] [--update]\n"
        "       egpu-workload --expected NAME [the same options]   what counting its accesses must give, as JSON\n"
        "       egpu-workload --list\n",
        to);
}

void print_usage_of(const Workload& workload) {
    std::printf("usage: egpu-workload [--expected] %s [--elements N] [--launches N]%s%s%s\n%s\n", workload.name,
                workload.takes_block ? " [--block N]" : "", workload.takes_seconds ? " [--seconds S]" : "",
                workload.takes_replays ? " [--replays N] [--update]" : "", workload.summary);
}

int print_list() {
    for (const Workload* one : kWorkloads) {
        std::printf("%-10s %s\n", one->name, one->summary);
    }
    return kExitOk;
}

bool asks_for_help(std::string_view word) {
    return word == "--help" || word == "-h";
}

int main_with_errors(int count, char** words) {
    if (count < 2) {
        throw UsageError("which workload?");
    }
    const std::string_view first = words[1];
    if (asks_for_help(first)) {
        print_usage(stdout);
        return kExitOk;
    }
    if (first == "--list") {
        return print_list();
    }
    const bool expected = first == "--expected";
    const int options = expected ? 3 : 2;
    if (expected && count < options) {
        throw UsageError("--expected takes a workload");
    }
    if (expected && asks_for_help(words[2])) {
        print_usage(stdout);
        return kExitOk;
    }
    const Workload& workload = find(words[options - 1]);
    if (std::any_of(words + options, words + count, asks_for_help)) {
        print_usage_of(workload);
        return kExitOk;
    }
    const Options parsed = parse_options(workload, count - options, words + options);
    return expected ? print_expected(workload, parsed) : run(workload, parsed);
}

}  // namespace

int main(int count, char** words) {
    const char* const name = count > 1 ? words[1] : "egpu-workload";
    try {
        return main_with_errors(count, words);
    } catch (const UsageError& error) {
        std::fprintf(stderr, "egpu-workload: %s\n", error.what());
        print_usage(stderr);
        return kExitUsage;
    } catch (const NoDriver& error) {
        std::fprintf(stderr, "egpu-workload: %s\n", error.what());
        return kExitNoDriver;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "egpu-workload: %s: %s\n", name, error.what());
        return kExitFailed;
    }
}

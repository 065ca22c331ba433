// SPDX-License-Identifier: Apache-2.0
// egpu doctor: what works on this machine, what to do about the rest.
#include "host/doctor/doctor.hpp"

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"

namespace egpu::cli {
namespace {

int print_examination() {
    using State = host::CheckResult::State;
    int counts[3] = {0, 0, 0};
    constexpr const char* kNames[] = {"ok", "warn", "fail"};
    for (const auto& result : host::examine_machine()) {
        ++counts[static_cast<int>(result.state)];
        fmt::print("{:<5} {}\n", kNames[static_cast<int>(result.state)], result.text);
        if (!result.remedy.empty())
            fmt::print("      {}\n", result.remedy);
    }
    fmt::print("{} ok, {} warn, {} fail\n", counts[0], counts[1], counts[2]);
    return counts[static_cast<int>(State::fail)] == 0 ? kYes : kEnvironment;
}

}  // namespace

void add_doctor(CLI::App& app, int* exit_code) {
    auto* command = app.add_subcommand("doctor", "What works on this machine, and what to do about the rest");
    command->callback([exit_code] { *exit_code = print_examination(); });
}

}  // namespace egpu::cli

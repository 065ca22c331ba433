// SPDX-License-Identifier: Apache-2.0
// What works on this machine, and what to do about the rest (TARGETS E6.8).
#pragma once

#include <string>
#include <vector>

namespace egpu::host {

struct CheckResult {
    enum class State { ok, warn, fail };
    State state = State::ok;
    std::string text;
    std::string remedy;  ///< second line; "" for ok
};

/// All checks, in the order in which they are shown. Changes nothing on the machine.
std::vector<CheckResult> examine_machine();

}  // namespace egpu::host

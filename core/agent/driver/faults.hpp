// SPDX-License-Identifier: Apache-2.0
// Driver calls of our own that are made to fail, for tests: only in libegpu-agent-faults.so, which is not installed.
//   EGPU_FAULT_CALL=N       the N-th call of our own (from 1) fails without being made; the application's never do
//   EGPU_FAULT_RESULT=code  with this CUresult (2: out of memory)
//   EGPU_FAULT_REPORT=file  one line says which call that was; no line: there were fewer calls
#pragma once

#include "agent/driver/driver.hpp"

namespace egpu::agent {

#ifdef EGPU_DRIVER_FAULTS
/// Once, after `real` was filled.
void prepare_faults(const Driver& real);
const Driver& own_calls(const Driver& real);
#else
inline void prepare_faults(const Driver&) {}
inline const Driver& own_calls(const Driver& real) {
    return real;
}
#endif

}  // namespace egpu::agent

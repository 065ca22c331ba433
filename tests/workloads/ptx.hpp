// SPDX-License-Identifier: Apache-2.0
// The workloads' device code, PTX texts with a closing NUL (ptx.S).
#pragma once

extern "C" {
extern const char ptx_gather[];
extern const char ptx_vecadd[];
extern const char ptx_reduction[];
extern const char ptx_histogram[];
extern const char ptx_divergent[];
extern const char ptx_loop[];
extern const char ptx_spaces[];
}

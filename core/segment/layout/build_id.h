/* SPDX-License-Identifier: Apache-2.0 */
/* The build id: egpu's version and the sizes of the format, hashed. Agent and egpu of different builds don't talk. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint64_t egpu_segment_build_id(void);

#ifdef __cplusplus
}
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The header alone, in C11 without extensions. */
#include <egpu/plugin.h>

const egpu_plugin* egpu_test_descriptor(void);
const egpu_plugin* egpu_test_descriptor(void) {
    return &egpu_plugin_descriptor;
}

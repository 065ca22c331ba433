/* SPDX-License-Identifier: Apache-2.0 */
/* The ABI as plugins that are built have it, written down once more: the header's own checks may be changed with it by
 * mistake. A line here is changed only with EGPU_PLUGIN_ABI_MAJOR or, until 1.0, EGPU_PLUGIN_ABI_MINOR. */
#include <egpu/plugin.h>

#define AT(type, field, at) _Static_assert(offsetof(type, field) == (at), #type "." #field " moved")
#define BYTES(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " has another size")

_Static_assert(EGPU_PLUGIN_MAGIC == 0x55504745, "another magic number");
_Static_assert(EGPU_PLUGIN_ABI_MAJOR == 0 && EGPU_PLUGIN_ABI_MINOR == 1, "another ABI: write down its offsets");

AT(egpu_plugin, magic, 0);
AT(egpu_plugin, struct_size, 4);
AT(egpu_plugin, abi_major, 8);
AT(egpu_plugin, abi_minor, 10);
AT(egpu_plugin, min_host_minor, 12);
AT(egpu_plugin, pad, 14);
AT(egpu_plugin, id, 16);
AT(egpu_plugin, version, 24);
AT(egpu_plugin, license, 32);
AT(egpu_plugin, summary, 40);
AT(egpu_plugin, object, 48);
AT(egpu_plugin, object_end, 56);
AT(egpu_plugin, ops, 64);
BYTES(egpu_plugin, 72);
BYTES(egpu_plugin_ops, 32);
BYTES(egpu_plugin_message, 16);
BYTES(egpu_plugin_device, 24);
BYTES(egpu_plugin_kernel, 56);
BYTES(egpu_plugin_site, 32);
BYTES(egpu_plugin_rows, 40);
BYTES(egpu_plugin_finding, 32);
BYTES(egpu_plugin_host, 80);
_Static_assert(EGPU_PLUGIN_OK == 0 && EGPU_PLUGIN_FAILED == 1 && EGPU_PLUGIN_NOT_FOUND == 2 &&
                   EGPU_PLUGIN_WRONG_SIZE == 3,
               "statuses");
_Static_assert(EGPU_PLUGIN_HINT == 0 && EGPU_PLUGIN_WARNING == 1 && EGPU_PLUGIN_ERROR == 2, "severities");

int egpu_test_offsets(void);
int egpu_test_offsets(void) {
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Only in the scope of the plugin that was linked to it.
int dependency_value(void) {
    return 7;
}

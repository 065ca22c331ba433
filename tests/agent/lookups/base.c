// SPDX-License-Identifier: Apache-2.0
// The function that the shim wraps.
int value(void) {
    return 1;
}
int cu_value(void) {
    return 2;
}

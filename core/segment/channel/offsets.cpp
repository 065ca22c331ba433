// SPDX-License-Identifier: Apache-2.0
// Every offset of the messages, asserted: a compiler, flag or edit that moves a field fails here and not between two
// processes. A change below is a change of the format: raise EGPU_SEGMENT_LAYOUT with it.
#include <cstddef>

#include "segment/channel/messages.h"

#define EGPU_AT(type, field, at) static_assert(offsetof(type, field) == (at))

EGPU_AT(egpu_message, type, 0);
EGPU_AT(egpu_message, request, 4);
EGPU_AT(egpu_message, bytes, 8);
static_assert(sizeof(egpu_message) == 16);

EGPU_AT(egpu_message_device, compute_capability, 0);
EGPU_AT(egpu_message_device, sm_count, 4);
EGPU_AT(egpu_message_device, driver_version, 8);
EGPU_AT(egpu_message_device, simulated, 12);
EGPU_AT(egpu_message_device, name, 16);
static_assert(sizeof(egpu_message_device) == 144);

EGPU_AT(egpu_message_image, hash_low, 0);
EGPU_AT(egpu_message_image, hash_high, 8);
EGPU_AT(egpu_message_image, image_bytes, 16);
EGPU_AT(egpu_message_image, kind, 24);
EGPU_AT(egpu_message_image, relocatable, 28);
EGPU_AT(egpu_message_image, maxregisters, 32);
EGPU_AT(egpu_message_image, optimisation_level, 36);
EGPU_AT(egpu_message_image, tensor_maps_known, 40);
EGPU_AT(egpu_message_image, path, 48);
static_assert(sizeof(egpu_message_image) == 304);

EGPU_AT(egpu_message_kernels, kernels, 0);
EGPU_AT(egpu_message_kernels, copies, 4);
static_assert(sizeof(egpu_message_kernels) == 8);

EGPU_AT(egpu_kernel_answer, kernel_id, 0);
EGPU_AT(egpu_kernel_answer, name_bytes, 4);
static_assert(sizeof(egpu_kernel_answer) == 8);

EGPU_AT(egpu_message_copy, kernel_id, 0);
EGPU_AT(egpu_message_copy, entries, 4);
EGPU_AT(egpu_message_copy, symbol_bytes, 8);
EGPU_AT(egpu_message_copy, name_bytes, 12);
EGPU_AT(egpu_message_copy, image_bytes, 16);
EGPU_AT(egpu_message_copy, copy_id, 24);
EGPU_AT(egpu_message_copy, bank_entries, 28);
EGPU_AT(egpu_message_copy, bank_image_bytes, 32);
EGPU_AT(egpu_message_copy, bank_constants, 40);
EGPU_AT(egpu_message_copy, reserved, 44);
static_assert(sizeof(egpu_message_copy) == 48);

EGPU_AT(egpu_bank_constant, name, 0);
EGPU_AT(egpu_bank_constant, bytes, 8);
static_assert(sizeof(egpu_bank_constant) == 16);

EGPU_AT(egpu_message_original, kernel_id, 0);
EGPU_AT(egpu_message_original, reserved, 4);
static_assert(sizeof(egpu_message_original) == 8);

EGPU_AT(egpu_table_entry, kind, 0);
EGPU_AT(egpu_table_entry, map, 4);
EGPU_AT(egpu_table_entry, offset, 8);
static_assert(sizeof(egpu_table_entry) == 16);

EGPU_AT(egpu_message_copy_result, kernel_id, 0);
EGPU_AT(egpu_message_copy_result, result, 4);
EGPU_AT(egpu_message_copy_result, registers, 8);
EGPU_AT(egpu_message_copy_result, original_registers, 12);
EGPU_AT(egpu_message_copy_result, local_bytes, 16);
EGPU_AT(egpu_message_copy_result, original_local_bytes, 20);
EGPU_AT(egpu_message_copy_result, reason, 24);
EGPU_AT(egpu_message_copy_result, copy_id, 28);
EGPU_AT(egpu_message_copy_result, bank_reason, 32);
EGPU_AT(egpu_message_copy_result, bank_result, 36);
static_assert(sizeof(egpu_message_copy_result) == 40);

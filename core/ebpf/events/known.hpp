// SPDX-License-Identifier: Apache-2.0
// Where a context's field has its value: for the verifier, which refuses a program that reads it elsewhere, and for
// those who make up a context.
#pragma once

#include "ebpf/events/events.hpp"

namespace egpu::ebpf {

/// True where a program at this point finds the field's value in its context.
bool is_known_at(const ContextField& field, const InjectionPoint& point);

/// For whom the field's value is the same at this point: the bytes of an asynchronous copy are those of each lane.
Variability variability_at(const ContextField& field, const InjectionPoint& point);

}  // namespace egpu::ebpf

// SPDX-License-Identifier: Apache-2.0
// From a rule's refusal to the message of TARGETS E6.6: place, quoted source, registers.
#pragma once

#include "base/diagnostic.hpp"
#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {

Diagnostic to_diagnostic(const Refusal& refusal, const Scene& scene);

}  // namespace egpu::ebpf

// SPDX-License-Identifier: Apache-2.0
// The values of a set's keys, one function a key that is more than a scalar.
#pragma once

#include "host/probesets/probeset.hpp"
#include "host/probesets/reader.hpp"

namespace egpu::host {

KernelPatterns read_kernels(TreeReader& reader, const TreeNode& node);
Placed<LaunchWindow> read_launches(TreeReader& reader, const TreeNode& node);
ProbeEntry read_probe(TreeReader& reader, const TreeNode& node);
MapEntry read_map(TreeReader& reader, const Text& name, const TreeNode& node);
Expectation read_expectation(TreeReader& reader, const TreeNode& node);

}  // namespace egpu::host

// SPDX-License-Identifier: Apache-2.0
// Twins: private clones of the graphs that instances were made from. An application may destroy a graph once it is
// instantiated (PyTorch does); its instances can then only be changed by an update from a graph like it.
#pragma once

#include "agent/graphs/nodes.hpp"
#include "gpu/device/driver.h"

namespace egpu::agent {

/// A clone of `graph`, from which `nodes` were just read; fills in their Node::twin. Null where the driver doesn't
/// clone it, where it holds other than plain nodes, no kernel that could get a copy, or where it can't be told which
/// node of the clone is which. Inside OwnCalls.
CUgraph make_twin(CUgraph graph, NodeList* nodes);

/// Inside OwnCalls. Null is nothing.
void free_twin(CUgraph twin);

}  // namespace egpu::agent

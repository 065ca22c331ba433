// SPDX-License-Identifier: Apache-2.0
// Instantiated graphs: what a launch of each of them runs. Captured launches run when their graph does, so that is when
// they are counted.
#pragma once

#include "agent/maps/idle.hpp"
#include "gpu/device/driver.h"

namespace egpu::agent {

struct Kernel;

/// After a successful instantiation: reads the graph. `launched_by_device`: the GPU may launch it, which nobody sees.
void instance_made(CUgraphExec instance, CUgraph graph, bool launched_by_device);
/// After it took over what `graph` holds.
void instance_updated(CUgraphExec instance, CUgraph graph);
/// After one of its child graphs took over what `graph` holds.
void instance_child_updated(CUgraphExec instance, CUgraphNode node, CUgraph graph);
/// After one of its kernel nodes got another function (`copy` null: the kernel's original).
void instance_node_set(CUgraphExec instance, CUgraphNode node, Kernel* kernel, CUfunction copy);
/// After one of its nodes that is no kernel got other parameters.
void instance_other_node_set(CUgraphExec instance);
void instance_node_enabled(CUgraphExec instance, CUgraphNode node, bool enabled);
/// Before it is destroyed: the driver may give its handle to another.
void instance_gone(CUgraphExec instance);

/// After a node's parameters in its graph were set, or it was destroyed.
void graph_node_changed(CUgraphNode node);
/// Before a graph is destroyed: its instances live on, but can't be addressed through its nodes.
void graph_gone(CUgraph graph);

/// Before a context ends: nothing that is of it is used afterwards. `place`: its index.
void instances_lose_context(CUcontext context, unsigned int place);

/// Whether an instance holds originals where launches now run copies, or the other way round, and nothing was tried
/// about it. No lock.
bool instance_differs(CUgraphExec instance);

/// Where an instance is about to be launched, or was.
struct GraphLaunch {
    CUstream stream = nullptr;
    StreamForm form = StreamForm::legacy;
    bool context_idle = false;  ///< nothing that the application launched is still running there
};
/// Before a launch: sets its nodes to what a launch now runs (`choose`: the copy, or null for the original), by the
/// graph it was made from, or by its twin. What can't be set stays, and is counted as what it is. False where its last
/// launch is not known to be over: then nothing was tried. Inside OwnCalls.
using ChooseForNode = CUfunction (*)(CUfunction original, const CUDA_KERNEL_NODE_PARAMS& params);
bool instance_follows(CUgraphExec instance, const GraphLaunch& launch, ChooseForNode choose);
/// The driver refused the copies when it was made: they are not tried again at its launches.
void instance_keeps_originals(CUgraphExec instance);
/// After a launch of an instance that could not follow: records an event behind it, by which the next launch knows
/// whether this one is over. Inside OwnCalls.
void mark_end_of_launch(CUgraphExec instance, const GraphLaunch& launch);

/// After a launch of it: counts its kernels. No lock, no allocation.
void instance_launched(CUgraphExec instance, CUstream stream);

}  // namespace egpu::agent

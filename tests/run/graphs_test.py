#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs whose probes change: each launch counts under the program that ran in it."""
import json

from harness import WORKLOAD, case, check, equal, finish, wait_for
from live_session import ELEMENTS, Run, check_counts, program


def graph(replays=20000, more=()):
    """Replays of a graph of four launches whose source the program destroyed before, as PyTorch does."""
    return [WORKLOAD, "graph", "--elements", str(ELEMENTS), "--launches", "4", "--replays", str(replays), *more]


@case("a probe is removed while a graph is replayed whose source is gone, and comes back: the graph follows")
def graph_follows():
    with Run(probes=["bandwidth"], command=graph()) as run:
        run.change("remove", "bandwidth")
        wait_for(lambda: json.loads(run.ask("kernels", "-j").stdout)[0]["graph_nodes_behind"] == 0, "the graph to follow")
        stopped = run.launches()[1]
        run.wait_for_launches(more=20)
        equal(run.launches()[1], stopped, "launches of the original code")
        equal(run.change("add", "bandwidth")["maps"], "kept", "maps")
        run.wait_for_launches(which=1)
        err, summary = run.stop(interrupt=False)
        kernel, metric = summary["kernels"][0], check_counts(summary)
        equal(kernel["launches"], 80000, "launches")
        equal(metric["launches_covered"], kernel["launches_instrumented"], "launches covered")
        check(metric["launches_covered"] < 80000, str(metric))
        former = kernel["launches_former"]
        equal((former["graph_gone"], former["graph_changed"], former["refused"]), (0, 0, 0), "launches that went on")
        check(("went on after the probes changed" in err) == (former["all"] != 0), err)


@case("a probe is replaced while a graph holds it: each counts what it made, in maps of its own")
def graph_replaced():
    with Run(probes=[program("stores")], command=graph()) as run:
        answer = run.change("replace", "stores", program("twice", step=2))
        equal((answer["maps"], answer["graphs_hold_former"]), ("fresh", True), "maps of the same shape")
        run.wait_for_launches(which=1)
        err, summary = run.stop(interrupt=False)
        old, new = check_counts(summary, "stores~1.stores"), check_counts(summary, "stores.stores", 2 * ELEMENTS)
        equal(old["launches_covered"] + new["launches_covered"], 80000, "launches of both")
        check("values of stores for loop_step are of" in err, err)


@case("a graph that can't follow goes on under the probe that it holds, and that is said")
def graph_stays():
    # Half-way the program gives the instance the parameters of another graph, and destroys that as well.
    with Run(probes=["bandwidth"], command=graph(more=["--update"])) as run:
        wait_for(lambda: run.launches()[0] > 41000, "the update", 60)
        text = run.ask("probe", "remove", "bandwidth").stdout.decode()
        check("4 nodes of CUDA graphs still hold what ran before" in text and "went on with it since" in text, text)
        check("still counts in 4 nodes" in run.ask("probe", "list").stdout.decode(), "probe list says so")
        err, summary = run.stop(interrupt=False)
        kernel, metric = summary["kernels"][0], check_counts(summary)
        equal((kernel["launches_instrumented"], metric["launches_covered"]), (80000, 80000), "launches")
        check(0 < kernel["launches_former"]["graph_changed"] < 40000, str(kernel))
        check("as the application had changed its nodes" in err and "they count under what it holds: bandwidth" in err, err)


finish()

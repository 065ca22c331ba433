/* SPDX-License-Identifier: Apache-2.0 */
/* The segment: one POSIX shared memory object between an egpu process and the process it observes, and its readers.
 *
 * The egpu process lays it out (Boost.Interprocess names the object, posix_fallocate reserves it) before the
 * application starts; from then on nobody allocates in it. All integers are little endian and of fixed width, every
 * offset is from the segment's start and is checked against the mapped length by whoever follows it (access.hpp).
 * Each word has one writer, named below: H the egpu process, A the agent. Multi-word data is published by a sequence
 * (odd while written) or a double buffer; readers never lock and never wait.
 *
 *   header | kernels[] | copies[] | copy_times[] | maps[] | keys of each map | snapshots of each map (2) |
 * to_host ring | to_agent ring | commands ring | catalogue (2) | reserve
 *
 * Maps of probes that are added while the application runs lie in the reserve: the egpu process writes the entry, then
 * raises map_count. A reader that follows the count checks the entry as it checked the others (View::refresh).
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EGPU_SEGMENT_MAGIC 0x3147455355504745ull /* "EGPUSEG1" */
#define EGPU_SEGMENT_LAYOUT 8u
#define EGPU_SEGMENT_MAX_MAPS 64u
#define EGPU_SEGMENT_MAX_KERNELS 8192u
#define EGPU_SEGMENT_MAX_COPIES 16384u

/* Where a piece lies. */
struct egpu_extent {
    uint64_t offset;
    uint64_t bytes;
};

enum egpu_session_state {
    EGPU_SESSION_STARTING = 0, /* laid out, no agent yet */
    EGPU_SESSION_RUNNING = 1,
    EGPU_SESSION_DRAINED = 2, /* the agent's final drain is done */
    EGPU_SESSION_ENDED = 3,   /* the egpu process has let go: the agent only runs originals */
};

/* What a final drain was started by (egpu_segment_header.end_reason). */
enum egpu_end_reason {
    EGPU_END_NONE = 0,
    EGPU_END_EXIT = 1,
    EGPU_END_UNDERSCORE_EXIT = 2,
    EGPU_END_CONTEXT = 3,
    EGPU_END_EXEC = 4
};

/* A byte ring with one producer and one consumer; positions only grow, index = position % bytes. */
struct egpu_ring {
    struct egpu_extent data;
    uint64_t written;       /* by the producer */
    uint64_t read;          /* by the consumer */
    uint32_t wake_consumer; /* futex words: incremented by the other side after each change */
    uint32_t wake_producer;
};

struct egpu_segment_header {
    uint64_t magic;             /* H, written last */
    uint32_t layout_version;    /* H */
    uint32_t header_bytes;      /* H */
    uint64_t build_id;          /* H: agent and egpu must be of one build */
    uint64_t bytes;             /* H: of the whole segment */
    uint32_t session_id;        /* H: the egpu process's pid */
    uint32_t host_pid;          /* H */
    uint64_t host_start_time;   /* H: /proc/PID/stat field 22, tells a reused pid */
    uint64_t started_ns;        /* H: CLOCK_REALTIME */
    uint64_t host_heartbeat_ns; /* H: CLOCK_MONOTONIC, 10 times a second */

    uint32_t state;                     /* A and H: egpu_session_state, only grows */
    uint32_t agent_pid;                 /* A: compare-and-swap from 0 by the process that first uses CUDA */
    uint64_t agent_start_time;          /* A */
    uint64_t agent_heartbeat_ns;        /* A: each drain, CLOCK_MONOTONIC */
    uint64_t last_drain_ns;             /* A: CLOCK_MONOTONIC of the last complete copy */
    uint64_t drains;                    /* A: count of complete copies */
    uint32_t end_reason;                /* A: egpu_end_reason of the final drain */
    uint32_t other_processes;           /* A: processes of the application that used CUDA and were turned away */
    uint32_t enabled;                   /* H: 0 = launch originals everywhere (detached) */
    uint32_t drain_interval_us;         /* H: 50,000 for 20 Hz */
    uint32_t drain_request;             /* H: incremented to ask for a copy now; futex */
    uint32_t wait_ms;                   /* H: how long a module load may wait for its answer */
    uint32_t contexts;                  /* A: contexts seen */
    uint32_t gpu_memory_kib;            /* A: allocated by egpu on the device */
    uint64_t gpu_memory_limit;          /* H: bytes */
    uint64_t wait_ns_total;             /* A: time application threads were held, in holds of over 1 ms */
    uint64_t wait_ns_longest;           /* A: the longest hold */
    uint64_t launches_unknown;          /* A: launches of handles that belong to no image it saw */
    uint32_t device_attribute_sm_count; /* A */
    uint32_t compute_capability;        /* A: 90 */
    uint32_t simulated;                 /* A: 1 where the stand-in driver answers */
    uint32_t driver_version;            /* A: cuDriverGetVersion */
    char device_name[128];              /* A: then `device_ready` is set */
    uint32_t device_ready;              /* A */
    uint32_t agent_error;               /* A: 0, or a code of segment/channel/messages.h, with text below */
    char agent_error_text[256];         /* A */
    char program[256];                  /* A: /proc/self/exe's last part */

    uint32_t kernel_capacity;        /* H */
    uint32_t map_count;              /* H: grows, raised after the entry is written */
    struct egpu_extent kernels;      /* egpu_kernel_counters[kernel_capacity] */
    struct egpu_extent maps;         /* egpu_map_entry[EGPU_SEGMENT_MAX_MAPS] */
    struct egpu_ring to_host;        /* producer A */
    struct egpu_ring to_agent;       /* producer H */
    struct egpu_extent catalogue[2]; /* H: JSON text (host/session/catalogue.hpp) */
    uint64_t catalogue_bytes[2];     /* H */
    uint32_t catalogue_index;        /* H: which one is current: 0, 1; set last */
    uint32_t catalogue_version;      /* H: incremented with each */

    uint64_t launches_captured; /* A: launches by graphs whose nodes hold the original */
    uint32_t images_unanswered; /* A: loads that went on without an answer (time-out, dead host, broken channel) */
    uint32_t channel_broken;    /* A: 1 once a ring held nonsense; no copies from then on */
    uint32_t handles_dropped;   /* A: kernels beyond EGPU_SEGMENT_MAX_KERNELS handles: launched uncounted */
    uint32_t copies_loaded;     /* A: instrumented copies in the table */
    struct egpu_extent copies;  /* egpu_copy_counters[], by copy id - 1 */
    struct egpu_extent reserve; /* for maps of probes added later */
    struct egpu_ring commands;  /* producer H, consumer the agent's drain thread */
    uint32_t sample_launches;   /* H: 0 or 1: every launch runs the copy, N: one in N of each kernel */
    uint32_t copies_waiting;    /* A: copies that wait for a quiet moment to be loaded */
    uint64_t launches_unasked;  /* A: launches of originals of which the driver did not say whether they were captured:
                                   counted only where a graph launches them */

    uint32_t measure_overhead;     /* H: 1: launches alternate between copy and original, and are timed */
    uint32_t waits;                /* A: holds of over 1 ms */
    struct egpu_extent copy_times; /* egpu_copy_times[], by copy id - 1; empty without time_launches */
    uint32_t gpu_memory_most_kib;  /* A: the most that gpu_memory_kib was */
    uint32_t time_launches;        /* H: 1: launches of copies are timed now and then, or (measure_overhead) in pairs */
    uint32_t takes_turns;          /* H: 1 where some launches run the original: sampled, or outside the window */
    uint32_t launch_skip;          /* H: so many launches of each kernel run the original first */
    uint32_t launch_count;         /* H: so many run the copy then, as sample_launches says; 0: all. Their sum fits */
    uint32_t launches_not_followed; /* A: about so many whose last thread was not told (inject/codegen/grids) */
    uint8_t reserved[80];
    uint64_t graph_launches;        /* A: launches of instantiated graphs */
    uint64_t graph_launches_partly; /* A: of these, those that may have run kernels that nobody counted */
};

/* Counters of one kernel (index = kernel id - 1); written by the agent with relaxed atomic adds. */
struct egpu_kernel_counters {
    uint64_t launches;
    uint64_t launches_instrumented;
    uint32_t graph_nodes; /* A: nodes of living graph instances that hold the original */
    uint32_t reserved[3];
    uint32_t copy_state;        /* A: 0 none, 1 loaded, 2 load failed (code in copy_result) */
    int32_t copy_result;        /* A: CUresult of a failed load */
    uint64_t launches_captured; /* A: of `launches`, those by graphs whose nodes hold the original */
    uint32_t copy_reason;       /* A: egpu_copy_reason of the last answer */
    uint32_t sample_turns;      /* A: launches that could have run the copy, modulo 2^32: whose turn it is */
    uint64_t launches_left_out; /* A: of `launches`, those that ran the original because it was not their turn, or (with
                                   measure_overhead) to be compared */
};

/* Why a graph instance goes on with a copy after its kernel is to run another one, or its original. */
enum egpu_graph_reason {
    EGPU_GRAPH_BUSY = 0,      /* its last launch was not known to be over */
    EGPU_GRAPH_NO_SOURCE = 1, /* the graph it was made from is gone, and could not be kept */
    EGPU_GRAPH_CHANGED = 2,   /* the application changed nodes since: their parameters are not known */
    EGPU_GRAPH_REFUSED = 3,   /* the driver refused the change */
};
#define EGPU_GRAPH_REASONS 4u

/* One instrumented copy (index = copy id - 1): a kernel has a new one with each set of probes. A cache line each: they
 * are counted on launches, by whatever threads. */
struct egpu_copy_counters {
    uint64_t launches;                            /* A */
    uint64_t launches_former[EGPU_GRAPH_REASONS]; /* A: of `launches`, those by graphs after it was to run no more */
    uint64_t launches_banked;                     /* A: of `launches`, those that read constants from its own bank */
    uint32_t graph_nodes;                         /* A: nodes of living graph instances that hold it */
    uint32_t reserved[3];
};

/* Times of launches of a copy (index = copy id - 1), by events around them in their stream: of single launches now and
 * then, and with measure_overhead against the original, over pairs of launches of one shape, one of each. The segment
 * holds none unless time_launches. Written by the agent's drain thread. */
struct egpu_copy_times {
    uint64_t sequence;        /* A: odd while it is written */
    uint64_t pairs;           /* A */
    uint64_t original_ns;     /* A: sum over the pairs */
    uint64_t instrumented_ns; /* A: sum over the pairs */
    double log_ratio;         /* A: sum of ln(instrumented / original); IEEE 754 */
    double log_ratio_squares; /* A: sum of its squares */
    uint64_t single_launches; /* A: timed, in no pair */
    uint64_t single_ns;       /* A: sum over these */
};

/* One map of the session. */
struct egpu_map_entry {
    char name[64];        /* H: "bandwidth/traffic" */
    uint32_t value_bytes; /* H, with the next four: maps/layout */
    uint32_t stride;
    uint32_t capacity;
    uint32_t shards;
    uint32_t key_bytes;             /* H */
    uint32_t is_array;              /* H */
    uint32_t used_slots;            /* H: published with release after the key is written */
    uint32_t refused_keys;          /* H: static keys that found the map full */
    struct egpu_extent keys;        /* H: key_bytes x capacity (hash); empty for arrays */
    struct egpu_extent snapshot[2]; /* A: stride x capacity x shards each, shard by shard */
    uint32_t snapshot_index;        /* A: current one; set last */
    uint32_t snapshot_slots[2];     /* A: slots that it holds */
    uint32_t adds_up;               /* H: 1 where every field is a number that programs only add to: the agent then
                                       sums what several contexts and devices hold; 0: one of them at a time has it */
    uint64_t snapshot_ns[2];        /* A: CLOCK_MONOTONIC of the copy; 0: none yet */
    uint64_t snapshot_sequence[2];  /* A: odd while it is written */
    uint64_t narrow_words;          /* H: bit i: word i of a value (8 bytes) is two numbers of 4 bytes */
    uint64_t ring_bytes;            /* H: of a ring buffer, what max_entries says; 0: it is none */
    uint64_t reserved[2];
};

/* What a ring buffer sent, on its way to the egpu process: in place of the map's snapshots (both extents are one),
 * ring_bytes of data and these numbers behind them. The data are what the GPU's chunks held (maps/layout/ring_buffer),
 * one record behind the other, across the end to the start; positions only grow, index = position % ring_bytes. */
struct egpu_record_ring {
    uint64_t written; /* A */
    uint64_t read;    /* H */
    uint64_t dropped; /* A: records that found no room on a GPU */
    uint64_t records; /* H: taken */
    uint64_t damaged; /* H: 1 once a record made no sense: none is taken from then on */
    uint64_t behind;  /* A: bytes on the GPU that the last copy left there */
    uint64_t reserved[2];
};

#ifdef __cplusplus
}
#endif

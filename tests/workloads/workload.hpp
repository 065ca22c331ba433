// SPDX-License-Identifier: Apache-2.0
// What each workload is: its options, what it runs and checks, and what counting at PTX level must give for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace workload {

struct Options {
    std::uint64_t elements = 0;
    std::uint64_t launches = 0;
    std::uint64_t block = 256;
    double seconds = 0;         ///< 0: as many launches as `launches` says
    std::uint64_t replays = 0;  ///< of a graph
    bool update = false;        ///< the graph gets other parameters half-way
};

/// All accesses of a kernel, over all launches, of one kind in one space.
struct Accesses {
    const char* space;           ///< "global"
    const char* access;          ///< "load"
    std::uint64_t accesses = 0;  ///< executed by a thread each
    std::uint64_t bytes = 0;
    std::uint64_t sectors = 0;  ///< of 32 bytes, touched by warp accesses; 0: not known in closed form
};

struct ExpectedKernel {
    const char* name;
    const char* mangled;
    std::uint64_t launches = 0;
    std::vector<Accesses> accesses;
};

struct Workload {
    const char* name;
    const char* summary;
    Options defaults;
    bool takes_block;
    bool takes_seconds;
    std::uint64_t elements_multiple;  ///< --elements must be a multiple of it, and not less
    /// Runs everything and checks the result; throws Failure. Returns the launches that each kernel had.
    std::uint64_t (*run)(const Options& options);
    std::vector<ExpectedKernel> (*expected)(const Options& options);
    bool takes_replays = false;
};

extern const Workload kGather;
extern const Workload kVecadd;
extern const Workload kReduction;
extern const Workload kHistogram;
extern const Workload kDivergent;
extern const Workload kLoop;
extern const Workload kSpaces;
extern const Workload kGraph;
extern const Workload kThreads;
extern const Workload kContexts;

/// Blocks of `threads` threads for n elements, a thread each.
inline unsigned blocks_for(std::uint64_t elements, std::uint64_t threads) {
    return static_cast<unsigned>((elements + threads - 1) / threads);
}

}  // namespace workload

// SPDX-License-Identifier: Apache-2.0
// What loading the agent costs a process, in its own time on the CPU: another process's turn is not our load time.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

namespace {

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// Loads the agent in a child and gives the seconds that it took there; negative where it could not be loaded.
double load_in_a_child() {
    int result[2];
    if (pipe(result) != 0)
        return -1;
    const pid_t child = fork();
    if (child == 0) {
        const double begin = cpu_seconds();
        void* library = dlopen(EGPU_AGENT, RTLD_NOW | RTLD_LOCAL);
        const double took = library != nullptr ? cpu_seconds() - begin : -1;
        const bool told = write(result[1], &took, sizeof(took)) == static_cast<ssize_t>(sizeof(took));
        _exit(told ? 0 : 1);
    }
    close(result[1]);
    double took = -1;
    if (read(result[0], &took, sizeof(took)) != static_cast<ssize_t>(sizeof(took)))
        took = -1;
    close(result[0]);
    if (child > 0)
        waitpid(child, nullptr, 0);
    return took;
}

void agent_load(benchmark::State& state) {
    for (auto _ : state) {
        const double took = load_in_a_child();
        if (took < 0) {
            state.SkipWithError("the agent can't be loaded: " EGPU_AGENT);
            return;
        }
        state.SetIterationTime(took);
    }
}
BENCHMARK(agent_load)->UseManualTime()->Iterations(200)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();

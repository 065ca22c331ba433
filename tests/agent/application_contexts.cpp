// SPDX-License-Identifier: Apache-2.0
// Ways of the test application with several contexts and devices, with modules that come and go, and with launches of
// other shapes than a plain block.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "application.hpp"

namespace application {

namespace {

CUcontext create(CUdevice device) {
    CUcontext context = nullptr;
    check(CALL_AS(cuCtxCreate, cuCtxCreate_v2, 4000)(&context, 0, device), "create context");
    return context;
}

void destroy(CUcontext context) {
    check(CALL_AS(cuCtxDestroy, cuCtxDestroy_v2, 4000)(context), "destroy context");
}

void make_current(CUcontext context) {
    check(CALL(cuCtxSetCurrent, 4000)(context), "set current");
}

CUstream stream_here() {
    CUstream stream = nullptr;
    check(CALL(cuStreamCreate, 2000)(&stream, 1), "stream");
    return stream;
}

// A module in each of two contexts, launched in turn.
void two_contexts(int launches, CUdevice second_device) {
    const CUcontext first = retain_and_set();
    const CUfunction in_first = load_work();
    const CUcontext second = create(second_device);
    const CUfunction in_second = load_work();
    for (int i = 0; i < launches; ++i) {
        make_current(first);
        launch(in_first, 1);
        make_current(second);
        launch(in_second, 1);
    }
    synchronise();
}

// One kernel of a library in two contexts: by what is current, and by its stream.
void library_in_two(int launches, CUdevice second_device) {
    const CUcontext first = retain_and_set();
    const CUfunction kernel = load_work_as_library();
    const CUstream of_first = stream_here();
    launch(kernel, launches);
    create(second_device);
    launch(kernel, launches);
    launch(kernel, launches, 128, of_first);
    make_current(first);
    launch(kernel, launches);
    synchronise();
}

// The context that counted first goes, the other goes on, a third one comes.
void contexts_end(int launches) {
    check(CALL(cuInit, 2000)(0), "cuInit");
    const CUcontext first = create(0);
    const CUfunction kernel = load_work_as_library();
    launch(kernel, launches);
    const CUcontext second = create(0);
    launch(kernel, launches);
    destroy(first);
    make_current(second);
    launch(kernel, launches);
    destroy(second);
    create(0);
    launch(kernel, launches);
    synchronise();
}

// As cudaDeviceReset in mid-run: the same context handle again, with nothing in it.
void reset_and_go_on(int launches) {
    for (int round = 0; round < 3; ++round) {
        retain_and_set();
        launch(load_work(), launches);
        check(CALL_AS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000)(0), "reset");
    }
}

void reload(int rounds) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    check(CALL(cuModuleLoadData, 2000)(&module, kText), "load");
    check(CALL(cuModuleGetFunction, 2000)(&function, module, "work"), "function");
    launch(function, rounds);
    check(CALL(cuModuleUnload, 2000)(module), "unload");
}

long resident_pages() {
    long total = 0, resident = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld %ld", &total, &resident) != 2)
            resident = 0;
        std::fclose(file);
    }
    return resident;
}

// The same image again and again: says how much memory the last nine tenths of it took.
void many_reloads(int rounds) {
    retain_and_set();
    for (int i = 0; i < rounds / 10; ++i)
        reload(1);
    const long before = resident_pages();
    for (int i = rounds / 10; i < rounds; ++i)
        reload(1);
    std::printf("grown %ld KiB\n", (resident_pages() - before) * (sysconf(_SC_PAGESIZE) / 1024));
}

// Modules of the same names come and go on some threads, while others launch what stays.
void reload_under_load(int rounds) {
    const CUcontext context = retain_and_set();
    const CUfunction stays = load_work_as_library();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([=] {
            make_current(context);
            for (int round = 0; round < rounds; ++round)
                i % 2 == 0 ? reload(1) : launch(stays, 1);
        });
    for (std::thread& thread : threads)
        thread.join();
    synchronise();
}

void launch_shaped(CUfunction function, unsigned int threads, unsigned int shared, unsigned int cluster,
                   bool cooperative) {
    CUlaunchAttribute attributes[2] = {};
    CUlaunchConfig config{1, 1, 1, threads, 1, 1, shared, nullptr, attributes, 0};
    if (cluster != 0) {
        attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[config.numAttrs++].value.clusterDim = {cluster, 1, 1};
    }
    if (cooperative) {
        attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attributes[config.numAttrs++].value.cooperative = 1;
    }
    check(CALL(cuLaunchKernelEx, 11060)(&config, function, nullptr, nullptr), "launch of another shape");
}

int occupancy_calls() {
    const auto calls = reinterpret_cast<int (*)()>(dlsym(library, "mock_occupancy_calls"));
    return calls != nullptr ? calls() : 0;
}

// 200 KiB of dynamic shared memory, asked for when the copy is there already.
void much_shared_memory(int launches, bool of_library) {
    retain_and_set();
    const CUfunction work = of_library ? load_work_as_library() : load_work();
    launch(work, 1);
    constexpr int kBytes = 200 << 10;
    if (of_library)
        check(CALL(cuKernelSetAttribute, 12000)(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kBytes,
                                                reinterpret_cast<CUkernel>(work), 0),
              "attribute");
    else
        check(CALL(cuFuncSetAttribute, 9000)(work, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kBytes),
              "attribute");
    for (int i = 0; i < launches; ++i)
        check(CALL(cuLaunchKernel, 7000)(work, 1, 1, 1, 128, 1, 1, kBytes, nullptr, nullptr, nullptr), "launch");
}

// Each shape often: says how many occupancy queries that took.
void shapes(int launches) {
    retain_and_set();
    const CUfunction work = load_work();
    const int before = occupancy_calls();
    for (int i = 0; i < launches; ++i) {
        launch(work, 1, 128);
        launch_shaped(work, 128, 40 << 10, 0, false);
        launch_shaped(work, 128, 0, 2, false);
        launch_shaped(work, 128, 0, 0, true);
    }
    std::printf("queries %d\n", occupancy_calls() - before);
}

// Launches on from the moment of the load, and synchronises as the way says.
void late_copies(const std::string& way, int launches) {
    retain_and_set();
    const CUfunction work = load_work();
    const CUstream one = stream_here(), other = stream_here();
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1200);
    while (std::chrono::steady_clock::now() < end) {
        launch(work, 1, 128, one);
        if (way == "late-two-streams")
            launch(work, 1, 128, other);
        if (way == "late-context-sync")
            synchronise();
        else if (way != "late-busy")
            check(CALL(cuStreamSynchronize, 2000)(one), "synchronise stream");
        usleep(2000);
    }
    launch(work, launches, 128, one);
    synchronise();
}

double thread_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Processor time of a launch call with all that lies under it, in ns: the best of many short rounds.
void time_launches(int launches) {
    retain_and_set();
    for (const bool of_library : {false, true}) {
        const CUfunction work = of_library ? load_work_as_library() : load_work();
        const auto real = CALL(cuLaunchKernel, 7000);
        double best = 1e9;
        for (int round = 0; round < 400; ++round) {
            const double begin = thread_ns();
            for (int i = 0; i < launches; ++i)
                real(work, 1, 1, 1, 128, 1, 1, 0, nullptr, nullptr, nullptr);
            best = std::min(best, (thread_ns() - begin) / launches);
        }
        std::printf("%s %.1f ns\n", of_library ? "library" : "module", best);
    }
}

}  // namespace

bool run_contexts(const std::string& way, int launches) {
    static const std::map<std::string, void (*)(int)> ways = {
        {"two-contexts", [](int n) { two_contexts(n, 0); }},
        {"two-devices", [](int n) { two_contexts(n, 1); }},
        {"library-in-two", [](int n) { library_in_two(n, 0); }},
        {"library-on-two", [](int n) { library_in_two(n, 1); }},
        {"contexts-end", contexts_end},
        {"reset-and-go-on", reset_and_go_on},
        {"many-reloads", many_reloads},
        {"reload-under-load", reload_under_load},
        {"shared-memory", [](int n) { much_shared_memory(n, false); }},
        {"library-shared-memory", [](int n) { much_shared_memory(n, true); }},
        {"shapes", shapes},
        {"time", time_launches},
    };
    if (way.starts_with("late-")) {
        late_copies(way, launches);
        return true;
    }
    const auto found = ways.find(way);
    if (found == ways.end())
        return false;
    found->second(launches);
    return true;
}

}  // namespace application

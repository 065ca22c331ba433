// SPDX-License-Identifier: Apache-2.0
// What every program here shares: calls that must succeed, results that must be right, an end for one that hangs, and
// the accesses that a counter must find (lines "expect KERNEL SPACE ACCESS N", read by tests/gpu/run).
#pragma once

#include <cuda_runtime.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace program {

[[noreturn]] inline void fail(const char* what, const char* why) {
    std::fprintf(stderr, "%s: %s\n", what, why);
    std::fflush(stdout);
    _exit(1);
}

inline void must(cudaError_t error, const char* call) {
    if (error != cudaSuccess) {
        fail(call, cudaGetErrorString(error));
    }
}

inline void must(bool right, const char* what) {
    if (!right) {
        fail(what, "wrong");
    }
}

/// Ends this process, and with it its kernels, where it hangs.
inline void limit(unsigned seconds) {
    alarm(seconds);
}

inline void expect(const char* kernel, const char* space, const char* access, unsigned long long count) {
    std::printf("expect %s %s %s %llu\n", kernel, space, access, count);
}

inline int done(const char* name) {
    std::printf("%s: result ok\n", name);
    return 0;
}

inline double milliseconds_now() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline int multiprocessors() {
    int count = 0;
    must(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
    return count;
}

/// The longest time that one call of a thread took, and which.
class Stalls {
public:
    explicit Stalls(std::string thread) : thread_(std::move(thread)) {}
    template <typename Call>
    cudaError_t time(const char* name, Call call) {
        const double begin = milliseconds_now();
        const cudaError_t error = call();
        const double took = milliseconds_now() - begin;
        ++calls_;
        if (took > longest_) {
            longest_ = took;
            name_ = name;
        }
        return error;
    }
    /// A line "stall THREAD MILLISECONDS CALL CALLS" on stderr: not the same in each run.
    void print() const {
        std::fprintf(stderr, "stall %s %.3f %s %llu\n", thread_.c_str(), longest_, name_, calls_);
    }

private:
    std::string thread_;
    double longest_ = 0;
    const char* name_ = "none";
    unsigned long long calls_ = 0;
};

/// Device memory of a type, freed at the end; zero at first.
template <typename T>
struct Array {
    T* pointer = nullptr;
    size_t count;
    explicit Array(size_t elements) : count(elements) {
        must(cudaMalloc(&pointer, count * sizeof(T)), "cudaMalloc");
        must(cudaMemset(pointer, 0, count * sizeof(T)), "cudaMemset");
    }
    Array(const Array&) = delete;
    ~Array() { cudaFree(pointer); }
    void write(const std::vector<T>& values) {
        must(cudaMemcpy(pointer, values.data(), count * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    std::vector<T> read() const {
        std::vector<T> values(count);
        must(cudaMemcpy(values.data(), pointer, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
        return values;
    }
};

}  // namespace program

#define MUST(call) ::program::must((call), #call)

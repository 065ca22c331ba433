// SPDX-License-Identifier: Apache-2.0
// Constants that change while they are used: streams that each have an element of one __constant__ array of their own,
// updated and read without regard for each other; two streams in turn with events between; a graph whose constants change
// between its launches. Each launch must see what its stream put there.
#include "program.cuh"

constexpr unsigned streams = 4;
constexpr unsigned degree = 64;

struct Element {
    float values[degree];
};
__constant__ Element elements[streams];

__global__ void evaluate(unsigned which, float* out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < degree; ++k) sum = sum * 1.0f + elements[which].values[k];
        out[i] = sum;
    }
}

__global__ void evaluate_first(float* out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < degree; ++k) sum = sum * 1.0f + elements[0].values[k];
        out[i] = sum;
    }
}

namespace {

constexpr unsigned n = 1024;

/// Element `which`, filled with one value: updated in the stream from pinned memory that lives until the stream is done.
struct Updates {
    Element* host = nullptr;
    explicit Updates(unsigned count) { MUST(cudaMallocHost(&host, count * sizeof(Element))); }
    ~Updates() { cudaFreeHost(host); }
    void queue(unsigned number, unsigned which, unsigned value, cudaStream_t stream) {
        for (float& one : host[number].values) one = static_cast<float>(value);
        MUST(cudaMemcpyToSymbolAsync(elements, &host[number], sizeof(Element), which * sizeof(Element),
                                     cudaMemcpyHostToDevice, stream));
    }
};

void check(float* device, unsigned value, const char* what) {
    std::vector<float> out(n);
    MUST(cudaMemcpy(out.data(), device, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (const float one : out) program::must(one == static_cast<float>(value * degree), what);
}

unsigned long long launches_of_evaluate = 0, launches_of_first = 0;

void independent_streams(unsigned rounds) {
    cudaStream_t all[streams];
    Updates updates(rounds * streams);
    program::Array<float> out(static_cast<size_t>(rounds) * streams * n);
    for (auto& stream : all) MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (unsigned round = 0; round < rounds; ++round)
        for (unsigned which = 0; which < streams; ++which) {
            const unsigned number = round * streams + which;
            updates.queue(number, which, number % 97, all[which]);
            evaluate<<<n / 256, 256, 0, all[which]>>>(which, out.pointer + static_cast<size_t>(number) * n, n);
            MUST(cudaGetLastError());
            ++launches_of_evaluate;
        }
    MUST(cudaDeviceSynchronize());
    for (unsigned number = 0; number < rounds * streams; ++number)
        check(out.pointer + static_cast<size_t>(number) * n, number % 97, "a stream's own element");
    for (auto& stream : all) MUST(cudaStreamDestroy(stream));
}

void streams_in_turn(unsigned rounds) {
    cudaStream_t two[2];
    cudaEvent_t updated, read;
    Updates updates(rounds);
    program::Array<float> out(static_cast<size_t>(rounds) * n);
    for (auto& stream : two) MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MUST(cudaEventCreateWithFlags(&updated, cudaEventDisableTiming));
    MUST(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));
    for (unsigned round = 0; round < rounds; ++round) {
        const cudaStream_t from = two[round % 2], to = two[(round + 1) % 2];
        if (round != 0) MUST(cudaStreamWaitEvent(from, read));
        updates.queue(round, 0, round % 89, from);
        MUST(cudaEventRecord(updated, from));
        MUST(cudaStreamWaitEvent(to, updated));
        evaluate_first<<<n / 256, 256, 0, to>>>(out.pointer + static_cast<size_t>(round) * n, n);
        MUST(cudaGetLastError());
        MUST(cudaEventRecord(read, to));
        ++launches_of_first;
        if (round % 8 == 7) MUST(cudaDeviceSynchronize());
    }
    MUST(cudaDeviceSynchronize());
    for (unsigned round = 0; round < rounds; ++round)
        check(out.pointer + static_cast<size_t>(round) * n, round % 89, "what the other stream put there");
    for (auto& stream : two) MUST(cudaStreamDestroy(stream));
}

void graph(unsigned rounds) {
    cudaStream_t stream;
    cudaGraph_t captured;
    cudaGraphExec_t instance;
    program::Array<float> out(n);
    Updates updates(rounds);
    MUST(cudaStreamCreate(&stream));
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    evaluate_first<<<n / 256, 256, 0, stream>>>(out.pointer, n);
    MUST(cudaStreamEndCapture(stream, &captured));
    MUST(cudaGraphInstantiate(&instance, captured, 0));
    for (unsigned round = 0; round < rounds; ++round) {
        updates.queue(round, 0, round % 83, stream);
        MUST(cudaGraphLaunch(instance, stream));
        MUST(cudaStreamSynchronize(stream));
        check(out.pointer, round % 83, "a graph's constants");
        // And beside it a plain launch, in the same stream.
        evaluate_first<<<n / 256, 256, 0, stream>>>(out.pointer, n);
        MUST(cudaStreamSynchronize(stream));
        check(out.pointer, round % 83, "constants beside a graph");
        launches_of_first += 2;
    }
    MUST(cudaGraphExecDestroy(instance));
    MUST(cudaGraphDestroy(captured));
    MUST(cudaStreamDestroy(stream));
}

}  // namespace

int main(int count, char** words) {
    program::limit(60);
    const unsigned rounds = count > 1 ? static_cast<unsigned>(std::atoi(words[1])) : 200;
    independent_streams(rounds);
    streams_in_turn(rounds);
    graph(rounds);
    program::expect("evaluate", "global", "store", launches_of_evaluate * n);
    program::expect("evaluate_first", "global", "store", launches_of_first * n);
    return program::done("constant_streams");
}

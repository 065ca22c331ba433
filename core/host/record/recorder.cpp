// SPDX-License-Identifier: Apache-2.0
#include "host/record/recorder.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "base/signals.hpp"
#include "host/record/writer.hpp"

namespace egpu::host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kWriteEvery = std::chrono::seconds(1);
/// Samples are taken less often where one costs much, such as of thousands of busy kernels: a twentieth of one core.
constexpr int kShare = 20;
/// Values kept for a file that another process holds.
constexpr std::size_t kMostWaiting = std::size_t{4} << 20;

std::size_t values_of(const Sample& sample) {
    return sample.points.size() + sample.histograms.size() * std::tuple_size_v<HistogramSlots>;
}

}  // namespace

struct Recorder::State {
    RecordOptions options;
    std::unique_ptr<Source> source;
    std::unique_ptr<RecordingWriter> writer;
    std::vector<Sample> waiting;  // not in the file yet
    std::size_t waiting_values = 0;
    Status problem = ok();
    std::mutex mutex;
    std::condition_variable wake;
    bool stopping = false;
    std::thread thread;

    void take() {
        for (auto& sample : source->take_samples()) {
            waiting_values += values_of(sample);
            waiting.push_back(std::move(sample));
        }
    }
    void note(Status status) {
        if (status) {
            waiting.clear();
            waiting_values = 0;
            return;
        }
        if (status.error().code == "EGPU-R004" && waiting_values < kMostWaiting)
            return;  // with the next ones
        waiting.clear();
        problem = status;
        if (options.on_problem)
            options.on_problem(status.error());
    }
    void write() {
        if (problem)
            note(writer->write(waiting, *source));
    }
    void run() {
        auto next_write = Clock::now() + kWriteEvery;
        std::unique_lock lock(mutex);
        while (!stopping && problem) {
            const auto begin = Clock::now();
            take();
            if (begin >= next_write) {
                write();
                next_write = begin + kWriteEvery;
            }
            const auto rest = std::max<Clock::duration>(options.interval, (Clock::now() - begin) * kShare);
            wake.wait_until(lock, begin + rest, [this] { return stopping; });
        }
    }
    void stop() {
        {
            const std::lock_guard lock(mutex);
            stopping = true;
        }
        wake.notify_all();
        if (thread.joinable())
            thread.join();
    }
};

Recorder::Recorder(std::unique_ptr<State> state) : state_(std::move(state)) {}

Recorder::~Recorder() {
    if (!state_->thread.joinable())
        return;
    state_->stop();
    state_->write();
}

Result<std::unique_ptr<Recorder>> Recorder::start(RecordOptions options, std::unique_ptr<Source> source) {
    auto state = std::make_unique<State>();
    state->source = std::move(source);
    // Before anything that takes time: a program that is over in milliseconds has a beginning, too, and a rate.
    state->take();
    auto writer = RecordingWriter::create(
        options.file, static_cast<std::uint64_t>(std::max<std::int64_t>(options.interval.count(), 1)));
    if (!writer)
        return writer.errors();
    state->options = std::move(options);
    state->writer = std::move(*writer);
    const AllSignalsBlocked blocked;
    State* const own = state.get();
    state->thread = std::thread([own] { own->run(); });
    return std::unique_ptr<Recorder>(new Recorder(std::move(state)));
}

Status Recorder::finish(const SessionView& last, const std::string& summary) {
    state_->stop();
    if (!state_->problem)
        return state_->problem;
    state_->take();
    Status written = state_->writer->finish(state_->waiting, *state_->source, last, summary);
    for (int attempt = 0; !written && written.error().code == "EGPU-R004" && attempt < 20; ++attempt)
        written = state_->writer->finish(state_->waiting, *state_->source, last, summary);
    return written;
}

bool Recorder::had_problem() const {
    return !state_->problem;
}

}  // namespace egpu::host

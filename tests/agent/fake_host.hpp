// SPDX-License-Identifier: Apache-2.0
// The egpu process of the agent's tests: a real segment, and a thread that answers as it is told.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "segment/access/copy_times.hpp"
#include "segment/channel/channel.hpp"
#include "segment/create/create.hpp"
#include "segment/snapshots/snapshots.hpp"

namespace egpu::test {

struct HostOptions {
    enum class Answer { copies, kernels_only, nothing, nonsense, wrong_sizes } answer = Answer::copies;
    std::string copy_lines = "// mock-add\n";  ///< how the copy behaves (mock_driver.cpp)
    std::vector<std::string> symbols;          ///< globals of the original that the copy's table names
    /// The copy has a form with the application's app_table in its own bank, which behaves like this; "": it has not.
    std::string bank_lines;
    std::string bank_constant = "app_table";
    std::uint64_t bank_bytes = 16;  ///< of the constant
    std::uint32_t table_map = 0;    ///< map that entry 0 of the table points into
    std::uint64_t table_offset = 0;
    std::uint32_t wait_ms = 2000;
    bool adds_up = true;         ///< what the map says of its values
    bool is_ring = false;        ///< the map is a ring buffer of 4096 bytes
    std::uint32_t late_ms = 0;   ///< the kernels and copies come so much later
    bool names_at_once = false;  ///< the kernels come at once, and again with the copies
    std::uint64_t gpu_memory_limit = 64u << 20;
    bool measure_overhead = false;
    bool time_launches = false;  ///< now and then; what measure_overhead times is in pairs
};

class FakeHost {
public:
    explicit FakeHost(const HostOptions& options);
    ~FakeHost();

    const segment::View& view() const { return segment_->view(); }
    egpu_segment_header& header() const { return view().header(); }
    const egpu_kernel_counters& work() const { return view().kernels()[kWorkId - 1]; }
    /// Of the only copy; only where launches are timed.
    segment::CopyTimes times() const { return segment::read_times(view().copy_times()[0]).value(); }
    const std::string& name() const { return segment_->name(); }
    /// The first word of slot 0 of map 0 in its current snapshot, summed over shards; ~0 where there is none.
    std::uint64_t counted() const;
    /// After the application ended.
    void stop();

    std::vector<egpu_message_copy_result> results;
    std::vector<egpu_message_device> devices;
    int images_with_bytes = 0, images_without = 0;
    bool tensor_maps_known = false;  ///< by what the last image said
    bool device_came_first = true;   ///< before each image

    static constexpr std::uint32_t kWorkId = 3, kOtherId = 4;

private:
    void serve();
    void answer_image(const egpu_message& message);
    void send_kernels(std::uint32_t request);
    void send_copy(std::uint32_t request);

    HostOptions options_;
    std::unique_ptr<segment::OwnedSegment> segment_;
    segment::MessageReceiver receiver_;
    segment::MessageSender sender_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// Applications run on the driver of this machine instead of the mock.
extern bool real_driver;

/// What an application did under the agent.
struct Outcome {
    int exit_code = -1;  ///< -1: ended by a signal
    int signal = 0;
    std::string output;
    bool ok() const { return exit_code == 0 && output.find("ok\n") != std::string::npos; }
};

/// A started application, its output in a pipe.
class Application {
public:
    /// `segment` empty: without EGPU_SEGMENT. `environment`: more variables, "NAME=value".
    Application(const std::string& segment, const std::string& way, int launches = 10,
                const std::vector<std::string>& environment = {}, const char* program = EGPU_APPLICATION);
    ~Application();
    pid_t pid() const { return pid_; }
    void send(const std::string& text);
    /// Waits until it printed this.
    void wait_for(const std::string& text);
    /// Until it ended. One that says nothing for a minute is ended, its threads in the output.
    Outcome wait();

private:
    bool read_more();

    pid_t pid_ = -1;
    int input_ = -1, output_ = -1;
    std::string text_;
};

Outcome run_application(const std::string& segment, const std::string& way, int launches = 10,
                        const std::vector<std::string>& environment = {});

}  // namespace egpu::test

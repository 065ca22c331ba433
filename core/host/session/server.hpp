// SPDX-License-Identifier: Apache-2.0
// The egpu process's end of the channel: answers an agent's images with kernels and instrumented copies, on a thread
// of its own.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "host/pipeline/pipeline.hpp"
#include "host/view/session_view.hpp"
#include "segment/channel/channel.hpp"
#include "segment/channel/messages.h"
#include "segment/create/create.hpp"

namespace egpu::host {

class Server {
public:
    /// Both must outlive the server. Starts its thread.
    Server(segment::OwnedSegment& segment, Pipeline& pipeline);
    ~Server() { stop(); }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    /// Handles what has arrived, then ends the thread.
    void stop();

    /// Changes of the probes while the application runs: built, published, sent to the agent. What the agent made of
    /// it stands in the catalogue as results come (Kernel::waiting). One thread at a time.
    Result<ProbeChange> add_probe(LoadedProbe probe);
    Result<ProbeChange> remove_probe(const std::string& name);
    /// One that was removed, as it was.
    Result<ProbeChange> restore_probe(const std::string& name);
    Result<ProbeChange> replace_probe(const std::string& name, LoadedProbe probe);

    /// Takes all probes off, for good: the application goes on with its original kernels, what was counted stays. The
    /// kernels concerned.
    Result<std::vector<std::uint32_t>> stop_observing();

    /// Adds a warning to the session's diagnostics.
    void note(const std::string& text);
    /// What a plugin's code found out takes the place of what it found out before.
    void set_findings(const std::string& plugin, std::vector<ReportedFinding> findings);
    /// A copy of the catalogue as it stands now.
    Catalogue catalogue();
    /// By kernel id - 1.
    std::vector<KernelCounts> kernel_counts();
    /// Set where the agent sent what makes no sense: the session ended, originals run.
    bool broken() const { return broken_.load(); }

private:
    void run();
    void take_insights();
    void handle(const egpu_message& message);
    void handle_device(const egpu_message& message);
    void handle_image(const egpu_message& message);
    void answer_image(std::uint32_t request, const egpu_message_image& head, std::span<const std::byte> image);
    void handle_copy_result(const egpu_message& message);
    bool send_kernels(std::uint32_t request, const ImageAnswer& answer);
    bool send_copy(segment::MessageSender& sender, std::uint32_t request, const CopyImage& copy,
                   const segment::Patience& patience);
    Result<ProbeChange> carry_out(Result<ProbeChange> change);
    Result<std::vector<maps::Layout>> room_for(const std::vector<Map>& maps);
    std::uint32_t assumed_sm_count() const { return pipeline_.assumed_sm_count(); }
    Status still_observes();
    bool command_copies(const ProbeChange& change);
    void wake_agent();
    void publish();
    void publish_keys();
    void give_up(const std::string& why);

    segment::OwnedSegment& segment_;
    Pipeline& pipeline_;
    std::mutex pipeline_mutex_;  ///< the server's thread changes the pipeline, others read the catalogue
    segment::MessageReceiver receiver_;
    segment::MessageSender sender_;
    segment::MessageSender commands_;
    Device device_;
    bool device_known_ = false;
    std::vector<std::uint32_t> published_keys_;  ///< by map
    bool changed_ = false;                       ///< since the catalogue was published; the server's thread only
    std::atomic<bool> stopping_{false};
    std::atomic<bool> broken_{false};
    std::thread thread_;
};

}  // namespace egpu::host

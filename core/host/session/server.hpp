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

    /// A copy of the catalogue as it stands now.
    Catalogue catalogue();
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
    bool send_copy(std::uint32_t request, const CopyImage& copy);
    void publish();
    void publish_keys();
    void give_up(const std::string& why);

    segment::OwnedSegment& segment_;
    Pipeline& pipeline_;
    std::mutex pipeline_mutex_;  ///< the server's thread changes the pipeline, others read the catalogue
    segment::MessageReceiver receiver_;
    segment::MessageSender sender_;
    Device device_;
    bool device_known_ = false;
    std::vector<std::uint32_t> published_keys_;  ///< by map
    bool changed_ = false;                       ///< since the catalogue was published; the server's thread only
    std::atomic<bool> stopping_{false};
    std::atomic<bool> broken_{false};
    std::thread thread_;
};

}  // namespace egpu::host

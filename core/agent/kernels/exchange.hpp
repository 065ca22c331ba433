// SPDX-License-Identifier: Apache-2.0
// The conversation with the egpu process about one image: question, kernels, copies. All of it under the load lock.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "agent/kernels/content_hash.hpp"
#include "agent/session/buffer.hpp"
#include "segment/channel/messages.h"

namespace egpu::agent {

/// By what the egpu process knows an image again.
struct ImageIdentity {
    ContentHash hash;
    std::uint64_t bytes = 0;
    std::uint32_t kind = 0;  ///< egpu_image_kind
    bool relocatable = false;
    std::uint32_t maxregisters = 0;
    std::uint32_t optimisation_level = 0xffffffff;
};

/// What the application loaded.
struct LoadedImage {
    ImageIdentity identity;
    std::span<const std::byte> bytes;  ///< empty: the egpu process has them
    const char* path = "";             ///< of the file that holds it
};

/// A COPY message: its parts were checked to lie inside the body.
struct ReceivedCopy {
    egpu_message_copy head{};
    bool of_command = false;  ///< counted among the segment's copies_waiting until it is freed
    Buffer body;              ///< whole body; ends with a NUL that was not sent, behind the image
    ContentHash content;      ///< of all that was received
    ReceivedCopy* next = nullptr;

    std::span<const std::byte> entries() const;
    std::span<const std::byte> bank_entries() const;
    std::span<const std::byte> bank_constants() const;
    std::string_view symbols() const;
    std::string_view name() const;
    const char* symbol_at(std::uint64_t offset) const;  ///< NUL-ended; null where there is none
    const void* image() const;                          ///< PTX is NUL-ended
    const void* bank_image() const;                     ///< null where there is none

private:
    std::size_t symbols_at() const;
    std::size_t bank_image_at() const;
};

struct Answer {
    std::uint32_t request = 0;
    Buffer kernels;  ///< body of the KERNELS message
    std::uint32_t kernel_count = 0;
    bool complete = false;           ///< its end came: nothing is missing
    ReceivedCopy* copies = nullptr;  ///< in the order they came; owned by whoever takes the answer
};
void free_copies_of(ReceivedCopy** copies);
/// Frees one that is in no list.
void free_copy(ReceivedCopy* copy);
/// A COPY message that came whole; null where its sizes make no sense or memory is short.
ReceivedCopy* copy_from(std::span<const std::byte> body);

/// Sends the image (its bytes once a hash) and waits for the answer, at most the session's wait_ms and only while the
/// egpu process lives. False where no kernel list came; the reason is counted in the segment.
bool ask_about(const LoadedImage& image, Answer* answer);

/// What came for requests that were not waited for any longer: one after the other, until there is none. Without driver
/// calls and without waiting for more than a message that has begun.
bool next_late_answer(Answer* answer);
/// True while the ring has something for us: an estimate, without the lock.
bool messages_wait();

/// One entry of Answer::kernels; false at the end or where the rest makes no sense.
struct NamedKernel {
    std::uint32_t id = 0;
    std::string_view name;
};
bool next_kernel(const Answer& answer, std::size_t* position, NamedKernel* kernel);

/// Tells what became of a copy; `request` 0: of one that a command brought.
void tell_result(std::uint32_t request, const egpu_message_copy_result& result);

/// Tells which device there is (also in the segment's header), once. Before the first image.
void tell_device(int device);
/// Whether copies made for the device that was told run on this one.
bool is_like_told_device(int device);

}  // namespace egpu::agent

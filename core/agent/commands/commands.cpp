// SPDX-License-Identifier: Apache-2.0
// Commands are read whole without any lock, kept in order, and carried out under the load lock when it is to be had: a
// module load may hold it for as long as it waits for its answer, and the drain must go on meanwhile.
#include "agent/commands/commands.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "agent/kernels/copies.hpp"
#include "agent/kernels/inventory.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"
#include "segment/channel/channel.hpp"

namespace egpu::agent {

namespace {

using segment::ChannelState;
using segment::MessageReceiver;

constexpr std::uint32_t kStall = 1000;                               // ms, as in kernels/exchange.cpp
constexpr std::uint64_t kLargestCommand = std::uint64_t{256} << 20;  // bytes: a copy is one kernel's code
constexpr std::uint64_t kLockPatience = 1'000'000;                   // ns

struct Command {
    std::uint32_t type = 0;
    Buffer body;
    Command* next = nullptr;
};

constinit bool open = false;
alignas(MessageReceiver) constinit unsigned char storage[sizeof(MessageReceiver)] = {};
constinit Command* first = nullptr;  // the drain thread's own
constinit Command** last = &first;

MessageReceiver& receiver() {
    return *reinterpret_cast<MessageReceiver*>(storage);
}

bool worth_waiting(void*) {
    return host_alive(true);
}

// False where there is none, or the ring is of no use any more: the session then stays as it is.
bool read_one() {
    egpu_message header{};
    if (receiver().receive(&header, {0, nullptr, nullptr}) != ChannelState::ok)
        return false;
    if ((header.type != EGPU_MESSAGE_COPY && header.type != EGPU_MESSAGE_ORIGINAL) || header.bytes > kLargestCommand) {
        receiver().give_up();
        return false;
    }
    void* place = std::malloc(sizeof(Command));
    if (place == nullptr)
        return false;  // the next receive skips the body: the egpu process hears nothing of it and says so
    auto* command = new (place) Command{header.type, Buffer(header.bytes), nullptr};
    if (command->body.size() != header.bytes ||
        receiver().read(command->body.bytes(), {kStall, worth_waiting, nullptr}) != ChannelState::ok) {
        command->~Command();
        std::free(command);
        return false;
    }
    *last = command;
    last = &command->next;
    return true;
}

// Every loaded image that has the kernel: the same bytes may be loaded more than once.
template <typename Action>
bool for_each_image(std::uint32_t kernel_id, const Action& action) {
    bool any = false;
    for (Image* image = first_image(); image != nullptr; image = image->next)
        for (std::uint32_t i = 0; i < image->kernel_count; ++i)
            if (image->kernels[i].id == kernel_id) {
                action(image, &image->kernels[i]);
                any = true;
            }
    return any;
}

void tell(const egpu_message_copy& head, egpu_copy_reason reason) {
    egpu_message_copy_result result{};
    result.kernel_id = head.kernel_id;
    result.copy_id = head.copy_id;
    result.reason = reason;
    tell_result(0, result);
}

void carry_out_copy(const Buffer& body) {
    egpu_message_copy head{};
    if (body.size() < sizeof(head))
        return;
    std::memcpy(&head, body.data(), sizeof(head));
    const bool any = for_each_image(head.kernel_id, [&](Image* image, Kernel* kernel) {
        ReceivedCopy* copy = copy_from(body.bytes());
        if (copy != nullptr)
            use_copy(image, kernel, copy);
        else
            tell(head, EGPU_COPY_NO_MEMORY);
    });
    if (!any)
        tell(head, EGPU_COPY_NO_KERNEL);
}

void carry_out_original(const Buffer& body) {
    egpu_message_original order{};
    if (body.size() < sizeof(order))
        return;
    std::memcpy(&order, body.data(), sizeof(order));
    egpu_message_copy about{};
    about.kernel_id = order.kernel_id;
    const bool any = for_each_image(order.kernel_id, use_original);
    tell(about, any ? EGPU_COPY_LOADED : EGPU_COPY_NO_KERNEL);
}

void carry_out_all() {
    while (first != nullptr) {
        Command* command = first;
        first = command->next;
        if (first == nullptr)
            last = &first;
        if (command->type == EGPU_MESSAGE_COPY)
            carry_out_copy(command->body);
        else
            carry_out_original(command->body);
        command->~Command();
        std::free(command);
    }
}

}  // namespace

void take_commands() {
    if (mode() != Mode::observing)
        return;
    if (!open) {
        new (storage) MessageReceiver(view().commands());
        open = true;
    }
    while (read_one()) {
    }
    if (first == nullptr || !load_lock().lock_within(kLockPatience))
        return;
    refresh_view();
    carry_out_all();
    load_lock().unlock();
}

}  // namespace egpu::agent

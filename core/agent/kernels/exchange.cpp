// SPDX-License-Identifier: Apache-2.0
#include "agent/kernels/exchange.hpp"

#include <cstring>
#include <new>

#include "agent/driver/driver.hpp"
#include "agent/driver/tensor_maps.hpp"
#include "agent/session/session.hpp"
#include "agent/session/text.hpp"
#include "segment/access/shared.hpp"
#include "segment/channel/channel.hpp"

namespace egpu::agent {

namespace {

using segment::ChannelState;
using segment::MessageReceiver;
using segment::MessageSender;
using segment::Patience;

constexpr const char* kSimulatedDevice = "egpu simulated GPU";  // gpu/simulated/libcuda/devices.cpp
constexpr std::uint32_t kStall = 1000;  // ms without progress inside a message before the host counts as hung
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint32_t kMostEntries = 1u << 16;  // words of egpu_table: 64 KiB of constants hold 8,192
constexpr std::uint32_t kMostSymbolBytes = 1u << 24;
constexpr std::uint64_t kMostKernelBytes = std::uint64_t{64} << 20;

// Kernels and copies that came after nobody waited for them any longer.
struct LateAnswer {
    Answer answer;
    LateAnswer* next = nullptr;
};

constinit bool channel_open = false;
constinit std::uint32_t last_request = 0;
constinit int told_device = -1;
constinit LateAnswer* late_answers = nullptr;  // oldest first
constinit std::uint32_t late_count = 0;        // of them; atomic
alignas(MessageSender) constinit unsigned char sender_storage[sizeof(MessageSender)] = {};
alignas(MessageReceiver) constinit unsigned char receiver_storage[sizeof(MessageReceiver)] = {};

MessageSender& sender() {
    return *reinterpret_cast<MessageSender*>(sender_storage);
}
MessageReceiver& receiver() {
    return *reinterpret_cast<MessageReceiver*>(receiver_storage);
}

void open_channel() {
    if (channel_open)
        return;
    new (sender_storage) MessageSender(view().to_host());
    new (receiver_storage) MessageReceiver(view().to_agent());
    __atomic_store_n(&channel_open, true, __ATOMIC_RELEASE);
}

bool worth_waiting(void*) {
    return host_alive(true);
}

Patience patience(std::uint32_t milliseconds) {
    return {milliseconds, worth_waiting, nullptr};
}

bool usable(ChannelState state) {
    if (state == ChannelState::broken) {
        segment::store_relaxed(view().header().channel_broken, std::uint32_t{1});
        run_originals();
    }
    return state == ChannelState::ok;
}

std::uint32_t left_until(std::uint64_t deadline) {
    const std::uint64_t now = segment::monotonic_ns();
    return now >= deadline ? 0 : static_cast<std::uint32_t>((deadline - now + kMillisecond - 1) / kMillisecond);
}

std::uint64_t padded(std::uint64_t bytes) {
    return (bytes + 7) & ~std::uint64_t{7};
}

// The bank's image with the NUL behind it.
std::uint64_t bank_room(const egpu_message_copy& head) {
    return head.bank_image_bytes != 0 ? padded(head.bank_image_bytes + 1) : 0;
}

bool send_image(const LoadedImage& image, std::uint32_t request) {
    const ImageIdentity& identity = image.identity;
    egpu_message_image head{};
    head.hash_low = identity.hash.low;
    head.hash_high = identity.hash.high;
    head.image_bytes = identity.bytes;
    head.kind = identity.kind;
    head.relocatable = identity.relocatable ? 1 : 0;
    head.maxregisters = identity.maxregisters;
    head.optimisation_level = identity.optimisation_level;
    copy_text(head.path, image.path);
    const bool known = was_sent(identity.hash);
    if (!known && image.bytes.empty())
        return false;
    // Asked where copies are planned. The simulated GPU has no maps, and would say so.
    head.tensor_maps_known = !known && view().header().simulated == 0 && tensor_maps_known() ? 1 : 0;
    const std::span<const std::byte> parts[] = {segment::bytes_of(head), image.bytes};
    const std::span<const std::span<const std::byte>> sent(parts, known ? 1 : 2);
    if (!usable(sender().send(EGPU_MESSAGE_IMAGE, request, sent, patience(kStall))))
        return false;
    if (!known)
        remember_sent(identity.hash);
    return true;
}

// A message that doesn't keep its own word ends the conversation for good.
bool nonsense() {
    receiver().give_up();
    return usable(ChannelState::broken);
}

bool receive_kernels(Answer* answer) {
    egpu_message_kernels head{};
    const std::uint64_t bytes = receiver().body_left();
    if (bytes < sizeof(head) || bytes > kMostKernelBytes)
        return nonsense();
    if (!usable(receiver().read(segment::writable_bytes_of(head), patience(kStall))))
        return false;
    answer->kernels = Buffer(bytes - sizeof(head));
    if (answer->kernels.size() != bytes - sizeof(head))
        return false;
    answer->kernel_count = head.kernels;
    return usable(receiver().read(answer->kernels.bytes(), patience(kStall)));
}

bool sizes_fit(const egpu_message_copy& head, std::uint64_t body_bytes) {
    if (head.entries > kMostEntries || head.bank_entries > kMostEntries || head.bank_constants > kMostEntries ||
        head.symbol_bytes > kMostSymbolBytes || head.name_bytes > head.symbol_bytes || head.image_bytes == 0 ||
        head.image_bytes > body_bytes || head.bank_image_bytes > body_bytes ||
        (head.bank_image_bytes != 0 && head.bank_constants == 0))
        return false;
    const std::uint64_t before = (std::uint64_t{head.entries} + head.bank_entries) * sizeof(egpu_table_entry) +
                                 head.bank_constants * sizeof(egpu_bank_constant) + padded(head.symbol_bytes) +
                                 bank_room(head);
    return body_bytes >= before + head.image_bytes;
}

// With room for a body of that size, and the NUL behind it. Null where memory is short.
ReceivedCopy* new_copy(const egpu_message_copy& head, std::uint64_t body_bytes) {
    void* place = std::malloc(sizeof(ReceivedCopy));
    if (place == nullptr)
        return nullptr;
    auto* copy = new (place) ReceivedCopy;
    copy->head = head;
    copy->body = Buffer(body_bytes + 1);
    return copy;
}

bool receive_copy(Answer* answer) {
    egpu_message_copy head{};
    const std::uint64_t bytes = receiver().body_left();
    if (bytes < sizeof(head))
        return nonsense();
    if (!usable(receiver().read(segment::writable_bytes_of(head), patience(kStall))))
        return false;
    const std::uint64_t rest = bytes - sizeof(head);
    if (!sizes_fit(head, rest))
        return nonsense();
    ReceivedCopy* copy = new_copy(head, rest);
    if (copy == nullptr)
        return true;  // skipped by the next receive; the original runs
    if (copy->body.size() != 0) {
        copy->body.data()[rest] = std::byte{0};
        if (!usable(receiver().read(copy->body.bytes().first(rest), patience(kStall)))) {
            free_copies_of(&copy);  // half of it is none
            return false;
        }
    }
    copy->content = content_hash(copy->body.bytes());
    ReceivedCopy** end = &answer->copies;
    while (*end != nullptr)
        end = &(*end)->next;
    *end = copy;
    return true;
}

// The part of an answer that is received now; false where the channel is broken.
bool receive_part(const egpu_message& header, Answer* answer) {
    switch (header.type) {
        case EGPU_MESSAGE_KERNELS:
            return receive_kernels(answer);
        case EGPU_MESSAGE_COPY:
            return receive_copy(answer);
        default:
            return true;
    }
}

Answer* late_answer_to(std::uint32_t request) {
    LateAnswer** link = &late_answers;
    while (*link != nullptr && (*link)->answer.request != request)
        link = &(*link)->next;
    if (*link == nullptr) {
        void* place = std::malloc(sizeof(LateAnswer));
        if (place == nullptr)
            return nullptr;
        *link = new (place) LateAnswer;
        (*link)->answer.request = request;
        __atomic_add_fetch(&late_count, 1, __ATOMIC_RELAXED);
    }
    return &(*link)->answer;
}

bool is_answer(const egpu_message& header) {
    return header.type >= EGPU_MESSAGE_KERNELS && header.type <= EGPU_MESSAGE_END_OF_COPIES &&
           header.request <= last_request;
}

// Without memory for it, it is passed over: its originals run.
bool receive_late(const egpu_message& header) {
    if (header.type == EGPU_MESSAGE_END_OF_COPIES)
        return true;
    Answer* answer = late_answer_to(header.request);
    return answer == nullptr || receive_part(header, answer);
}

// Messages until the end of the answer to `request` (then it is complete); those to requests that timed out are kept
// for later. False where not even the kernels' names came.
bool receive_answer(Answer* answer, std::uint64_t deadline) {
    bool named = false;
    for (;;) {
        egpu_message header{};
        if (!usable(receiver().receive(&header, patience(left_until(deadline)))))
            return named;
        if (!is_answer(header))
            return nonsense() || named;
        if (header.request != answer->request) {
            if (!receive_late(header))
                return named;
            continue;
        }
        if (header.type == EGPU_MESSAGE_END_OF_COPIES) {
            answer->complete = named;
            return named;
        }
        if (!receive_part(header, answer))
            return named;
        named = named || header.type == EGPU_MESSAGE_KERNELS;
    }
}

// Takes off the ring what lies there.
void receive_what_came() {
    while (channel_open && !receiver().broken()) {
        egpu_message header{};
        if (!usable(receiver().receive(&header, patience(0))))
            return;
        if (!is_answer(header)) {
            nonsense();
            return;
        }
        if (!receive_late(header))
            return;
    }
}

}  // namespace

std::span<const std::byte> ReceivedCopy::entries() const {
    if (body.size() == 0)
        return {};
    return body.bytes().first(head.entries * sizeof(egpu_table_entry));
}

std::span<const std::byte> ReceivedCopy::bank_entries() const {
    if (body.size() == 0)
        return {};
    return body.bytes().subspan(entries().size(), head.bank_entries * sizeof(egpu_table_entry));
}

std::span<const std::byte> ReceivedCopy::bank_constants() const {
    if (body.size() == 0)
        return {};
    return body.bytes().subspan(entries().size() + bank_entries().size(),
                                head.bank_constants * sizeof(egpu_bank_constant));
}

std::size_t ReceivedCopy::symbols_at() const {
    return entries().size() + bank_entries().size() + bank_constants().size();
}

std::size_t ReceivedCopy::bank_image_at() const {
    return symbols_at() + padded(head.symbol_bytes);
}

std::string_view ReceivedCopy::symbols() const {
    if (body.size() == 0)
        return {};
    return {reinterpret_cast<const char*>(body.data() + symbols_at()), head.symbol_bytes};
}

const char* ReceivedCopy::symbol_at(std::uint64_t offset) const {
    const std::string_view all = symbols();
    const bool ends = offset < all.size() && all.find('\0', static_cast<std::size_t>(offset)) != std::string_view::npos;
    return ends ? all.data() + offset : nullptr;
}

const void* ReceivedCopy::bank_image() const {
    if (body.size() == 0 || head.bank_image_bytes == 0)
        return nullptr;
    std::byte* image = body.data() + bank_image_at();
    image[head.bank_image_bytes] = std::byte{0};  // where it was sent
    return image;
}

std::string_view ReceivedCopy::name() const {
    std::string_view name = symbols().substr(0, head.name_bytes);
    while (!name.empty() && name.back() == '\0')
        name.remove_suffix(1);
    return name;
}

const void* ReceivedCopy::image() const {
    if (body.size() == 0)
        return nullptr;
    std::byte* image = body.data() + bank_image_at() + bank_room(head);
    image[head.image_bytes] = std::byte{0};  // in the padding, or the byte that was added
    return image;
}

void free_copies_of(ReceivedCopy** copies) {
    while (*copies != nullptr) {
        ReceivedCopy* copy = *copies;
        *copies = copy->next;
        free_copy(copy);
    }
}

void free_copy(ReceivedCopy* copy) {
    if (copy->of_command)
        segment::add_relaxed(view().header().copies_waiting, ~std::uint32_t{0});
    copy->~ReceivedCopy();
    std::free(copy);
}

ReceivedCopy* copy_from(std::span<const std::byte> body) {
    egpu_message_copy head{};
    if (body.size() < sizeof(head))
        return nullptr;
    std::memcpy(&head, body.data(), sizeof(head));
    const std::span<const std::byte> rest = body.subspan(sizeof(head));
    ReceivedCopy* copy = sizes_fit(head, rest.size()) ? new_copy(head, rest.size()) : nullptr;
    if (copy != nullptr && copy->body.size() != 0) {
        std::memcpy(copy->body.data(), rest.data(), rest.size());
        copy->body.data()[rest.size()] = std::byte{0};
        copy->content = content_hash(copy->body.bytes());
    }
    return copy;
}

bool next_late_answer(Answer* answer) {
    receive_what_came();
    LateAnswer* late = late_answers;
    if (late == nullptr)
        return false;
    late_answers = late->next;
    __atomic_sub_fetch(&late_count, 1, __ATOMIC_RELAXED);
    *answer = static_cast<Answer&&>(late->answer);
    late->~LateAnswer();
    std::free(late);
    return true;
}

bool messages_wait() {
    if (!__atomic_load_n(&channel_open, __ATOMIC_ACQUIRE))
        return false;
    const egpu_ring& ring = view().header().to_agent;
    return segment::load_acquire(ring.written) != segment::load_relaxed(ring.read) ||
           __atomic_load_n(&late_count, __ATOMIC_RELAXED) != 0;
}

bool ask_about(const LoadedImage& image, Answer* answer) {
    egpu_segment_header& header = view().header();
    const std::uint64_t begin = segment::monotonic_ns();
    open_channel();
    answer->request = ++last_request;
    bool answered = host_alive(true) && send_image(image, answer->request);
    if (answered) {
        const std::uint64_t wait = segment::load_relaxed(header.wait_ms) * kMillisecond;
        answered = receive_answer(answer, begin + wait);
    }
    if (!answer->complete)
        segment::add_relaxed(header.images_unanswered, std::uint32_t{1});
    return answered;
}

bool next_kernel(const Answer& answer, std::size_t* position, NamedKernel* kernel) {
    const std::span<const std::byte> left = std::span<const std::byte>(answer.kernels.bytes()).subspan(*position);
    egpu_kernel_answer head{};
    if (left.size() < sizeof(head))
        return false;
    std::memcpy(&head, left.data(), sizeof(head));
    if (head.name_bytes > left.size() - sizeof(head) || head.kernel_id == 0 || head.kernel_id > view().kernels().size())
        return false;
    kernel->id = head.kernel_id;
    kernel->name = {reinterpret_cast<const char*>(left.data() + sizeof(head)), head.name_bytes};
    while (!kernel->name.empty() && kernel->name.back() == '\0')
        kernel->name.remove_suffix(1);
    const std::uint64_t step = sizeof(head) + padded(head.name_bytes);
    *position += step < left.size() ? step : left.size();
    return true;
}

void tell_result(std::uint32_t request, const egpu_message_copy_result& result) {
    open_channel();
    const std::span<const std::byte> parts[] = {segment::bytes_of(result)};
    usable(sender().send(EGPU_MESSAGE_COPY_RESULT, request, parts, patience(kStall)));
}

bool is_like_told_device(int device) {
    if (device == told_device || told_device < 0)
        return true;
    const auto ask = driver().cuDeviceGetAttribute;
    for (const CUdevice_attribute which :
         {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR}) {
        int told = 0, here = -1;
        if (ask == nullptr || ask(&told, which, told_device) != CUDA_SUCCESS ||
            ask(&here, which, device) != CUDA_SUCCESS || told != here)
            return false;
    }
    return true;
}

void tell_device(int device) {
    if (told_device >= 0)
        return;
    told_device = device;
    open_channel();
    const Driver& real = driver();
    int major = 0, minor = 0, processors = 0, version = 0;
    egpu_message_device message{};
    real.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    real.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    real.cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    real.cuDriverGetVersion(&version);
    real.cuDeviceGetName(message.name, sizeof(message.name) - 1, device);
    message.compute_capability = static_cast<std::uint32_t>(major * 10 + minor);
    message.sm_count = static_cast<std::uint32_t>(processors);
    message.driver_version = static_cast<std::uint32_t>(version);
    message.simulated = std::strcmp(message.name, kSimulatedDevice) == 0 ? 1 : 0;
    egpu_segment_header& header = view().header();
    header.compute_capability = message.compute_capability;
    header.device_attribute_sm_count = message.sm_count;
    header.driver_version = message.driver_version;
    header.simulated = message.simulated;
    std::memcpy(header.device_name, message.name, sizeof(header.device_name));
    segment::store_release(header.device_ready, std::uint32_t{1});
    const std::span<const std::byte> parts[] = {segment::bytes_of(message)};
    usable(sender().send(EGPU_MESSAGE_DEVICE, ++last_request, parts, patience(kStall)));
}

}  // namespace egpu::agent

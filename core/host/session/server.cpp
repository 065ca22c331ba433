// SPDX-License-Identifier: Apache-2.0
#include "host/session/server.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/signals.hpp"
#include "host/session/map_description.hpp"
#include "host/view/live_view.hpp"
#include "inject/codegen/grids.hpp"
#include "segment/access/shared.hpp"
#include "segment/channel/messages.h"

namespace egpu::host {
namespace {

/// How long the server waits for the agent to go on in the middle of a message.
constexpr std::uint32_t kMessageTimeoutMs = 5000;
/// Between messages: how often it looks whether it is to stop.
constexpr std::uint32_t kPauseMs = 50;

constexpr std::size_t padded(std::size_t bytes) {
    return (bytes + 7) & ~std::size_t{7};
}

void append(std::vector<std::byte>& out, const void* data, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    out.insert(out.end(), from, from + bytes);
    out.resize(padded(out.size()));
}

std::string reason_text(std::uint32_t reason, std::int32_t result) {
    std::string text = copy_reason_text(reason);
    if (result != 0)
        text += fmt::format(" (CUDA error {})", result);
    return text;
}

/// Where a name stands among the symbols, which it is added to.
std::uint64_t add_symbol(std::string& symbols, const std::string& name) {
    const std::uint64_t at = symbols.size();
    symbols += name;
    symbols.push_back('\0');
    return at;
}

/// What the agent makes a word of egpu_table of, by the entry's kind (egpu_table_entry).
std::uint64_t offset_of(const inject::TableEntry& entry, const std::vector<maps::Layout>& layouts,
                        std::string& symbols) {
    switch (entry.kind) {
        case inject::TableEntry::Kind::map_element:
            return layouts.at(entry.map).device_offset_of(entry.slot, 0);
        case inject::TableEntry::Kind::grids:
            return inject::kGridBytes;
        case inject::TableEntry::Kind::global:
            break;
    }
    return add_symbol(symbols, entry.symbol);
}

/// Why launches of a copy's kernel beside the first context run the original; the same for kernels with the same maps.
std::string one_place_text(const Catalogue& catalogue, std::uint32_t copy_id) {
    std::vector<std::string> programs, maps;
    const auto add = [](std::vector<std::string>& names, const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
    };
    for (const std::uint32_t index : catalogue.copies.at(copy_id - 1).probes) {
        const Probe& program = catalogue.probes.at(index);
        for (const auto& use : program.maps.value_or(std::vector<MapUse>()))
            if (const Map& map = catalogue.maps.at(use.map); !adds_up(map)) {
                add(programs, program.probe + "/" + program.program);
                add(maps, map.name);
            }
    }
    return fmt::format(
        "every context or device but the first runs the original of kernels with {}: what several count into {} can't "
        "be added up; a PERCPU map can",
        fmt::join(programs, ", "), fmt::join(maps, ", "));
}

}  // namespace

Server::Server(segment::OwnedSegment& segment, Pipeline& pipeline)
    : segment_(segment),
      pipeline_(pipeline),
      receiver_(segment.view().to_host()),
      sender_(segment.view().to_agent()),
      commands_(segment.view().commands()),
      published_keys_(pipeline.keys().size(), 0) {
    pipeline_.look_into_graphs([this](std::uint32_t copy_id) {
        const auto copies = segment_.view().copies();
        return copy_id >= 1 && copy_id <= copies.size() && segment::load_relaxed(copies[copy_id - 1].graph_nodes) != 0;
    });
    publish();
    const AllSignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
}

void Server::stop() {
    if (!thread_.joinable())
        return;
    stopping_ = true;
    thread_.join();
}

Catalogue Server::catalogue() {
    const std::lock_guard lock(pipeline_mutex_);
    return pipeline_.catalogue();
}

std::vector<KernelCounts> Server::kernel_counts() {
    return host::kernel_counts(segment_.view(), catalogue());
}

void Server::note(const std::string& text) {
    const std::lock_guard lock(pipeline_mutex_);
    pipeline_.note_once(text);
}

void Server::set_findings(const std::string& plugin, std::vector<ReportedFinding> findings) {
    const std::lock_guard lock(pipeline_mutex_);
    auto& all = pipeline_.catalogue().findings;
    std::vector<ReportedFinding> now;
    for (const auto& finding : all)
        if (finding.plugin != plugin)
            now.push_back(finding);
    now.insert(now.end(), findings.begin(), findings.end());
    if (now == all)
        return;
    all = std::move(now);
    publish();
}

void Server::run() {
    while (!broken_) {
        segment_.beat();
        egpu_message message{};
        const auto state = receiver_.receive(&message, {.timeout_ms = stopping_ ? 0 : kPauseMs});
        if (state == segment::ChannelState::broken)
            return give_up("the agent's channel is damaged");
        if (state == segment::ChannelState::timed_out)
            take_insights();
        if (state == segment::ChannelState::timed_out && changed_) {
            // The catalogue is written when the agent pauses, not after each of its results: it grows with them.
            const std::lock_guard lock(pipeline_mutex_);
            publish();
            changed_ = false;
            continue;
        }
        if (state == segment::ChannelState::timed_out) {
            if (stopping_)
                return;
            continue;
        }
        // A defect of ours must not take the session's report with it: the application goes on with its originals.
        try {
            handle(message);
        } catch (const std::exception& failure) {
            give_up(fmt::format("internal error while answering the agent ({})", failure.what()));
        }
    }
}

void Server::take_insights() {
    const std::lock_guard lock(pipeline_mutex_);
    changed_ = pipeline_.take_insights() || changed_;
}

void Server::handle(const egpu_message& message) {
    switch (message.type) {
        case EGPU_MESSAGE_DEVICE:
            return handle_device(message);
        case EGPU_MESSAGE_IMAGE:
            return handle_image(message);
        case EGPU_MESSAGE_COPY_RESULT:
            return handle_copy_result(message);
        default:
            return give_up(fmt::format("the agent sent a message of unknown type {}", message.type));
    }
}

void Server::handle_device(const egpu_message& message) {
    egpu_message_device body{};
    if (message.bytes != sizeof body || receiver_.read(segment::writable_bytes_of(body),
                                                       {.timeout_ms = kMessageTimeoutMs}) != segment::ChannelState::ok)
        return give_up("the agent's description of the device is damaged");
    device_.compute_capability = body.compute_capability;
    device_.sm_count = body.sm_count;
    device_.simulated = body.simulated != 0;
    device_.driver_version = body.driver_version;
    device_.name.assign(body.name, ::strnlen(body.name, sizeof body.name));
    device_known_ = true;
}

void Server::handle_image(const egpu_message& message) {
    egpu_message_image body{};
    const segment::Patience patience{.timeout_ms = kMessageTimeoutMs};
    if (message.bytes < sizeof body ||
        receiver_.read(segment::writable_bytes_of(body), patience) != segment::ChannelState::ok)
        return give_up("the agent's message about an image is damaged");
    if (!device_known_)
        return give_up("the agent sent an image before it described the device");
    // An image that was sent before comes without its bytes.
    const std::uint64_t sent_bytes = message.bytes - sizeof body;
    if (sent_bytes != 0 && sent_bytes != body.image_bytes)
        return give_up("the agent's image has another size than it says");
    std::vector<std::byte> image(sent_bytes);
    if (receiver_.read(image, patience) != segment::ChannelState::ok)
        return give_up("the agent's image is damaged");
    answer_image(message.request, body, image);
}

void Server::answer_image(std::uint32_t request, const egpu_message_image& head, std::span<const std::byte> image) {
    const std::string path(head.path, ::strnlen(head.path, sizeof head.path));
    const LoadOptions options{head.maxregisters, head.optimisation_level};
    ImageAnswer answer;
    bool unknown = false;
    {
        const std::lock_guard lock(pipeline_mutex_);
        if (!image.empty()) {
            // Launches are counted under their kernels' names even where the copies come too late for them.
            device_.tensor_maps_known = head.tensor_maps_known != 0;
            pipeline_.when_named([&](const ImageAnswer& named) {
                publish();
                send_kernels(request, named);
            });
            answer = pipeline_.add_image(image, path.substr(path.rfind('/') + 1), device_, options);
            pipeline_.when_named({});
            publish();
        } else if (auto known = pipeline_.known_image({head.hash_low, head.hash_high}, options)) {
            answer = std::move(*known);
        } else {
            unknown = true;
        }
    }
    if (unknown)
        return give_up("the agent named an image that it never sent");
    bool sent = send_kernels(request, answer);
    for (const auto& copy : answer.copies)
        sent = sent && send_copy(sender_, request, copy, {.timeout_ms = kMessageTimeoutMs});
    if (sent)
        sender_.send(EGPU_MESSAGE_END_OF_COPIES, request, {}, {.timeout_ms = kMessageTimeoutMs});
}

void Server::handle_copy_result(const egpu_message& message) {
    egpu_message_copy_result body{};
    if (message.bytes != sizeof body || receiver_.read(segment::writable_bytes_of(body),
                                                       {.timeout_ms = kMessageTimeoutMs}) != segment::ChannelState::ok)
        return give_up("the agent's result of a copy is damaged");
    const std::lock_guard lock(pipeline_mutex_);
    const Kernel* kernel = pipeline_.catalogue().kernel(body.kernel_id);
    if (kernel == nullptr || kernel->copy != body.copy_id || body.reason == EGPU_COPY_SUPERSEDED)
        return;  // of a copy that the kernel is not to run any more
    changed_ = true;
    if (body.reason == EGPU_COPY_NO_KERNEL)
        return pipeline_.copy_loaded(body.kernel_id, 0, 0);  // comes with the module's next load
    // The kernel runs instrumented in the first context; its launches elsewhere are counted as missed.
    if (body.reason == EGPU_COPY_ONE_PLACE) {
        pipeline_.note_once(one_place_text(pipeline_.catalogue(), body.copy_id), "EGPU-A037");
    } else if (body.reason == EGPU_COPY_OTHER_DEVICE) {
        pipeline_.note_once(fmt::format("launches of {} on a further device run the original: {}", kernel->name,
                                        copy_reason_text(body.reason)),
                            "EGPU-A037");
    } else if (body.reason != EGPU_COPY_LOADED) {
        pipeline_.copy_failed(body.kernel_id, reason_text(body.reason, body.result));
    } else {
        if (body.bank_reason != EGPU_COPY_LOADED)
            pipeline_.constants_by_address(body.kernel_id, reason_text(body.bank_reason, body.bank_result));
        // The simulated GPU allocates no registers: what it says of them is nominal.
        if (!device_.simulated)
            pipeline_.copy_loaded(body.kernel_id, body.original_registers, body.registers);
        else
            pipeline_.copy_loaded(body.kernel_id, 0, 0);
    }
}

bool Server::send_kernels(std::uint32_t request, const ImageAnswer& answer) {
    std::vector<std::byte> body;
    const egpu_message_kernels head{static_cast<std::uint32_t>(answer.kernels.size()),
                                    static_cast<std::uint32_t>(answer.copies.size())};
    append(body, &head, sizeof head);
    for (const auto& [id, name] : answer.kernels) {
        const egpu_kernel_answer entry{id, static_cast<std::uint32_t>(name.size())};
        append(body, &entry, sizeof entry);
        append(body, name.data(), name.size());
    }
    const std::span<const std::byte> parts[] = {body};
    return sender_.send(EGPU_MESSAGE_KERNELS, request, parts, {.timeout_ms = kMessageTimeoutMs}) ==
           segment::ChannelState::ok;
}

bool Server::send_copy(segment::MessageSender& sender, std::uint32_t request, const CopyImage& copy,
                       const segment::Patience& patience) {
    std::string symbols;
    add_symbol(symbols, copy.entry);
    const auto entries_of = [&](const std::vector<inject::TableEntry>& table) {
        std::vector<egpu_table_entry> entries;
        for (const auto& entry : table) {
            egpu_table_entry out{static_cast<std::uint32_t>(entry.kind), entry.map, 0};
            out.offset = offset_of(entry, pipeline_.layouts(), symbols);
            entries.push_back(out);
        }
        return entries;
    };
    const auto entries = entries_of(copy.table), bank_entries = entries_of(copy.bank_table);
    std::vector<egpu_bank_constant> constants;
    for (const auto& constant : copy.bank)
        constants.push_back({add_symbol(symbols, constant.symbol), constant.bytes});
    const egpu_message_copy head{.kernel_id = copy.kernel_id,
                                 .entries = static_cast<std::uint32_t>(entries.size()),
                                 .symbol_bytes = static_cast<std::uint32_t>(symbols.size()),
                                 .name_bytes = static_cast<std::uint32_t>(copy.entry.size()),
                                 .image_bytes = copy.image.size(),
                                 .copy_id = copy.copy_id,
                                 .bank_entries = static_cast<std::uint32_t>(bank_entries.size()),
                                 .bank_image_bytes = copy.bank_image.size(),
                                 .bank_constants = static_cast<std::uint32_t>(constants.size()),
                                 .reserved = 0};
    std::vector<std::byte> front;
    append(front, &head, sizeof head);
    append(front, entries.data(), entries.size() * sizeof(egpu_table_entry));
    append(front, bank_entries.data(), bank_entries.size() * sizeof(egpu_table_entry));
    append(front, constants.data(), constants.size() * sizeof(egpu_bank_constant));
    append(front, symbols.data(), symbols.size());
    if (!copy.bank_image.empty()) {
        auto bank_image = copy.bank_image;
        bank_image.push_back(std::byte{0});
        append(front, bank_image.data(), bank_image.size());
    }
    std::vector<std::byte> image = copy.image;
    image.resize(padded(image.size()));
    const std::span<const std::byte> parts[] = {front, image};
    return sender.send(EGPU_MESSAGE_COPY, request, parts, patience) == segment::ChannelState::ok;
}

void Server::publish() {
    publish_keys();
    if (!segment_.publish_catalogue(to_json(pipeline_.catalogue())))
        pipeline_.note_once(
            "the names of this session are too many for its segment: other egpu commands see an older list");
}

void Server::publish_keys() {
    published_keys_.resize(pipeline_.keys().size(), 0);
    for (std::uint32_t map = 0; map < published_keys_.size(); ++map) {
        const auto& keys = pipeline_.keys()[map].keys();
        for (; published_keys_[map] < keys.size(); ++published_keys_[map])
            segment_.publish_key(map, keys[published_keys_[map]]);
        segment_.view().map(map).refused_keys = static_cast<std::uint32_t>(pipeline_.keys()[map].refused());
    }
}

void Server::give_up(const std::string& why) {
    const std::lock_guard lock(pipeline_mutex_);
    broken_ = true;
    std::atomic_ref<std::uint32_t>(segment_.view().header().enabled).store(0);
    std::atomic_ref<std::uint32_t>(segment_.view().header().state).store(EGPU_SESSION_ENDED);
    pipeline_.note_once(why + ": the application goes on with its original kernels");
}

}  // namespace egpu::host

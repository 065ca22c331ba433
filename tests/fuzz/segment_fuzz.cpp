// SPDX-License-Identifier: Apache-2.0
// A segment damaged by the input, then used by both sides. First byte 0: the rest lies over the segment's start. Else:
// patches of {offset: 3 bytes, length: 1 byte, bytes}, half of them before and half of them after opening.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "../segment/memory_segment.hpp"
#include "segment/access/snapshot_writer.hpp"
#include "segment/channel/channel.hpp"
#include "segment/layout/build_id.h"
#include "segment/snapshots/snapshots.hpp"

namespace egpu::segment {
namespace {

class Input {
public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
    std::uint8_t byte() {
        if (left_ == 0)
            return 0;
        --left_;
        return *data_++;
    }
    std::size_t left() const { return left_; }

private:
    const std::uint8_t* data_;
    std::size_t left_;
};

void patch(Input& input, MemorySegment& memory, std::size_t until_left) {
    while (input.left() > until_left) {
        std::size_t at = input.byte();
        at |= std::size_t{input.byte()} << 8;
        at |= std::size_t{input.byte()} << 16;
        at %= memory.bytes();
        for (std::size_t n = input.byte(); n > 0 && at < memory.bytes(); --n, ++at)
            memory.base()[at] = static_cast<std::byte>(input.byte());
    }
}

void exercise_rings(const View& view) {
    for (const RingView& ring : {view.to_host(), view.to_agent()}) {
        MessageReceiver receiver(ring);
        egpu_message header{};
        for (int i = 0; i < 8 && receiver.receive(&header, {0}) == ChannelState::ok; ++i) {
            std::byte some[64];
            receiver.read(std::span(some).first(receiver.body_left() < 64 ? receiver.body_left() : 64), {0});
        }
        MessageSender sender(ring);
        const std::byte body[24] = {};
        const std::span<const std::byte> parts[] = {body};
        sender.send(EGPU_MESSAGE_IMAGE, 1, parts, {0});
    }
}

void exercise_times(const View& view) {
    for (egpu_copy_times& times : view.copy_times())
        add_pair(times, {1, 2, 0.5});
}

void exercise_maps(const View& view) {
    for (std::uint32_t i = 0; i < view.map_count(); ++i) {
        maps::Snapshot snapshot;
        if (copy_snapshot(view, i, &snapshot) == maps::CopyResult::copied) {
            std::vector<std::byte> value(view.geometry(i).value_bytes);
            const maps::FieldRange field{0, 4};
            (void)maps::merge_slot(snapshot.bytes, layout_of(view, i), 0, std::span(&field, 1), value);
        }
        key_of(view, i, view.used_slots(i));
        const SnapshotWriter writer = begin_snapshot(view, i);
        std::memset(writer.data.data(), 1, writer.data.size());
        publish_snapshot(writer, view.used_slots(i), 1);
    }
}

}  // namespace
}  // namespace egpu::segment

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace egpu::segment;
    MemorySegment memory;
    Input input(data, size);
    if (input.byte() == 0) {
        for (std::size_t at = 0; input.left() > 0 && at < memory.bytes(); ++at)
            memory.base()[at] = static_cast<std::byte>(input.byte());
    } else {
        patch(input, memory, input.left() / 2);
    }
    View view;
    if (View::open(memory.base(), memory.bytes(), egpu_segment_build_id(), &view) != AccessError::none &&
        View::open(memory.base(), memory.bytes(), 0, &view) != AccessError::none)
        return 0;
    patch(input, memory, 0);
    touch_all(view);
    exercise_maps(view);
    exercise_times(view);
    exercise_rings(view);
    read_catalogue(view);
    return 0;
}

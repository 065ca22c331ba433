// SPDX-License-Identifier: Apache-2.0
// Helpers of bpftime's GPU programs by its numbers (github.com/eunomia-bpf/bpftime, example/gpu): those with a meaning
// on the GPU itself are taken, what would need a call to the host, or would change the application, is refused.
#include <algorithm>
#include <array>

#include "ebpf/helpers/helpers.hpp"

namespace egpu::ebpf {
namespace {

using enum ArgumentKind;

constexpr std::array<ArgumentKind, 5> kNothing{none, none, none, none, none};
constexpr std::array<ArgumentKind, 5> kThreeWords{stack_word, stack_word, stack_word, none, none};

constexpr std::array kBpftimeHelpers{
    Helper{HelperId::bpftime_timer, "bpf_get_globaltimer", kNothing, ReturnKind::scalar, false, 4, "__u64", "void",
           "The same as egpu_time_ns."},
    Helper{HelperId::bpftime_block_index, "bpf_get_block_idx", kThreeWords, ReturnKind::error, true, 6, "long",
           "__u64 *x, __u64 *y, __u64 *z", "Writes the block's place in the grid to three 64-bit variables."},
    Helper{HelperId::bpftime_block_size, "bpf_get_block_dim", kThreeWords, ReturnKind::error, true, 6, "long",
           "__u64 *x, __u64 *y, __u64 *z", "Writes the threads of a block to three 64-bit variables."},
    Helper{HelperId::bpftime_thread_index, "bpf_get_thread_idx", kThreeWords, ReturnKind::error, true, 6, "long",
           "__u64 *x, __u64 *y, __u64 *z", "Writes the thread's place in its block to three 64-bit variables."},
    Helper{HelperId::bpftime_barrier, "bpf_gpu_membar", kNothing, ReturnKind::error, true, 40, "long", "void",
           "What the thread wrote before is seen by the whole system before what it writes after."},
    Helper{HelperId::bpftime_grid_size, "bpf_get_grid_dim", kThreeWords, ReturnKind::error, true, 6, "long",
           "__u64 *x, __u64 *y, __u64 *z", "Writes the blocks of the grid to three 64-bit variables."},
    Helper{HelperId::bpftime_sm, "bpf_get_sm_id", kNothing, ReturnKind::scalar, true, 1, "__u64", "void",
           "The number of the SM."},
    Helper{HelperId::bpftime_warp_slot, "bpf_get_warp_id", kNothing, ReturnKind::scalar, true, 1, "__u64", "void",
           "The warp's place on its SM (PTX %warpid), which may change; ctx->warp is the one in its block."},
    Helper{HelperId::bpftime_lane, "bpf_get_lane_id", kNothing, ReturnKind::scalar, false, 1, "__u64", "void",
           "The thread's lane in its warp."},
};

struct FieldsRow {
    HelperId id;
    std::array<std::string_view, 3> fields;
    std::size_t count;
};
constexpr std::array kBpftimeFields{
    FieldsRow{HelperId::bpftime_block_index, {"block.x", "block.y", "block.z"}, 3},
    FieldsRow{HelperId::bpftime_block_size, {"block_dim.x", "block_dim.y", "block_dim.z"}, 3},
    FieldsRow{HelperId::bpftime_thread_index, {"thread.x", "thread.y", "thread.z"}, 3},
    FieldsRow{HelperId::bpftime_grid_size, {"grid_dim.x", "grid_dim.y", "grid_dim.z"}, 3},
    FieldsRow{HelperId::bpftime_sm, {"sm"}, 1},
    FieldsRow{HelperId::bpftime_lane, {"lane"}, 1},
};

}  // namespace

std::span<const Helper> bpftime_helpers() {
    return kBpftimeHelpers;
}

std::span<const std::string_view> bpftime_fields(HelperId id) {
    const auto found = std::ranges::find(kBpftimeFields, id, &FieldsRow::id);
    if (found == kBpftimeFields.end())
        return {};
    return std::span(found->fields).first(found->count);
}

}  // namespace egpu::ebpf

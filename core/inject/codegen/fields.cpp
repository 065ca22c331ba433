// SPDX-License-Identifier: Apache-2.0
// Context fields that are not constants of the site, from special registers and the instruction's own operands.
//
//   ctx->warp      mov.u32 %egpu_w0, %tid.x; ... shr.u32 %egpu_w0, %egpu_w0, 5;
//   ctx->address   ld.global.f32 %f1, [%rd4+16]:   add.s64 %egpu_d0, %rd4, 16;
// Special registers: PTX ISA chapter 10.
#include <array>

#include "inject/codegen/emitter.hpp"
#include "inject/codegen/grids.hpp"

namespace egpu::inject {

using ebpf::Granularity;

std::string Emitter::widened(const std::string& narrow) {
    const std::string wide = registers_.b64();
    emit(fmt::format("cvt.u64.u32 {}, {}", wide, narrow));
    return wide;
}

std::string Emitter::special64(const char* name) {
    const std::string wide = registers_.b64();
    emit(fmt::format("mov.u64 {}, {}", wide, name));
    return wide;
}

std::string Emitter::special32(const char* name) {
    const std::string narrow = registers_.b32();
    emit(fmt::format("mov.u32 {}, {}", narrow, name));
    return widened(narrow);
}

/// The lane's address as the instruction has it: a generic or global address, or an offset in its window.
std::string Emitter::address() {
    const std::string wide = registers_.b64();
    if (site_.address_base.empty()) {
        emit(fmt::format("mov.u64 {}, {}", wide, literal64(static_cast<std::uint64_t>(site_.address_offset))));
        return wide;
    }
    if (site_.address_bits == 32) {
        const std::string narrow = registers_.b32();
        emit(fmt::format("add.s32 {}, {}, {}", narrow, site_.address_base, site_.address_offset));
        emit(fmt::format("cvt.u64.u32 {}, {}", wide, narrow));
        return wide;
    }
    emit(fmt::format("mov.u64 {}, {}", wide, site_.address_base));
    if (site_.address_offset != 0)
        emit(fmt::format("add.s64 {}, {}, {}", wide, wide, site_.address_offset));
    return wide;
}

/// What the lane's access moves. A size in a register is that of all lanes of the copy, as those that don't execute it
/// don't count.
std::string Emitter::bytes_per_lane() {
    if (site_.bytes_register.empty())
        return constant64(site_.bytes_per_lane);
    if (site_.bytes_register_bits == 32)
        return widened(site_.bytes_register);
    const std::string wide = registers_.b64();
    if (site_.bytes_register_bits != 1)
        emit(fmt::format("cvt.u64.u{} {}, {}", site_.bytes_register_bits, wide, site_.bytes_register));
    else if (site_.bytes_negated)
        emit(fmt::format("selp.b64 {}, {}, 0, {}", wide, site_.bytes_per_lane, site_.bytes_register));
    else
        emit(fmt::format("selp.b64 {}, 0, {}, {}", wide, site_.bytes_per_lane, site_.bytes_register));
    return wide;
}

/// Index of the warp in its block: threads are numbered x first (CUDA C++ programming guide, thread hierarchy).
std::string Emitter::linear_warp() {
    std::array<std::string, 5> at;
    const char* names[5] = {"%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y"};
    for (std::size_t i = 0; i < at.size(); ++i) {
        at[i] = registers_.b32();
        emit(fmt::format("mov.u32 {}, {}", at[i], names[i]));
    }
    emit(fmt::format("mad.lo.s32 {}, {}, {}, {}", at[1], at[2], at[4], at[1]));
    emit(fmt::format("mad.lo.s32 {}, {}, {}, {}", at[0], at[1], at[3], at[0]));
    emit(fmt::format("shr.u32 {}, {}, 5", at[0], at[0]));
    return widened(at[0]);
}

/// Which window a generic address lies in (PTX ISA 9.7.9.20 isspacep); enum egpu_space.
std::string Emitter::space_of_generic() {
    const std::string generic = address();
    const std::string wide = registers_.b64();
    emit(fmt::format("mov.u64 {}, {}", wide, static_cast<int>(ebpf::Space::global)));
    for (const auto& [name, space] :
         {std::pair{"shared", ebpf::Space::shared}, std::pair{"local", ebpf::Space::local}}) {
        const std::string inside = registers_.predicate();
        emit(fmt::format("isspacep.{} {}, {}", name, inside, generic));
        emit(fmt::format("selp.b64 {}, {}, {}, {}", wide, static_cast<int>(space), wide, inside));
    }
    return wide;
}

/// From the first thread's entry to now (TARGETS E2, kernel_time).
std::string Emitter::elapsed() {
    const std::string now = special64("%globaltimer");
    emit(fmt::format("sub.s64 {}, {}, {}", now, now, kGridStart));
    return now;
}

std::string Emitter::field(std::uint32_t at, const ebpf::ContextField& field) {
    static const std::map<std::string_view, const char*> kSpecial32 = {
        {"sm", "%smid"},
        {"lane", "%laneid"},
        {"grid_dim.x", "%nctaid.x"},
        {"grid_dim.y", "%nctaid.y"},
        {"grid_dim.z", "%nctaid.z"},
        {"block_dim.x", "%ntid.x"},
        {"block_dim.y", "%ntid.y"},
        {"block_dim.z", "%ntid.z"},
        {"block.x", "%ctaid.x"},
        {"block.y", "%ctaid.y"},
        {"block.z", "%ctaid.z"},
        {"thread.x", "%tid.x"},
        {"thread.y", "%tid.y"},
        {"thread.z", "%tid.z"},
    };
    const std::string_view name = field.name;
    if (const auto special = kSpecial32.find(name); special != kSpecial32.end())
        return special32(special->second);
    if (name == "launch")
        return special64("%gridid");
    if (name == "warp")
        return linear_warp();
    if (name == "active_mask")
        return widened(mask_);
    if (name == "active_lanes")
        return widened(lanes_);
    if (name == "bytes")
        return bytes_.empty() ? bytes_per_lane() : widened(bytes_);
    if (name == "sectors")
        return sectors_.empty() ? constant64(0) : widened(sectors_);
    if (name == "address")
        return address();
    if (name == "elapsed")
        return elapsed();
    if (name == "latency" && !site_.latency.empty())
        return site_.latency;
    if (name == "space")
        return site_.space == ebpf::Space::generic
                   ? space_of_generic()
                   : constant64(static_cast<std::uint64_t>(site_.space.value_or(ebpf::Space::generic)));
    if (name == "kernel")
        return constant64(site_.kernel_id);
    if (name == "site")
        return constant64(site_.site_id);
    if (name == "access")
        return constant64(static_cast<std::uint64_t>(site_.access));
    if (name == "bytes_per_lane")
        return bytes_per_lane();
    if (name == "latency")
        refuse(at, "EGPU-P224", "ctx->latency is read where no latency is measured",
               "use the event load_return or atomic_return");
    else
        refuse(at, "EGPU-P225", fmt::format("ctx->{} is not available yet", name),
               "leave it out: this version observes one device");
    return registers_.b64();
}

}  // namespace egpu::inject

// SPDX-License-Identifier: Apache-2.0
// How the modifiers and operands of the table's instructions are read: one function for all opcodes of one form.
#pragma once

#include <optional>

#include "ptx/opcodes/memory.hpp"

namespace egpu::ptx {

/// The access of an instruction of this form; nullopt where its operands can't be read. `kind` is the row's; of an
/// asynchronous copy it is what happens to the memory that is written.
using Form = std::optional<MemoryAccess> (*)(const Instruction& instruction, AccessKind kind);

/// ld, ldu, st, atom, red: `ld.global.v2.f32 {d, e}, [a];`
std::optional<MemoryAccess> plain_form(const Instruction& instruction, AccessKind kind);
/// st.async, red.async: the same, in the shared memory of a block of the cluster, with a barrier behind.
std::optional<MemoryAccess> remote_form(const Instruction& instruction, AccessKind kind);
/// multimem.ld_reduce, multimem.st, multimem.red: one access to a multimem address, which several GPUs' memory answers.
std::optional<MemoryAccess> multimem_form(const Instruction& instruction, AccessKind kind);
/// `st.bulk.shared::cta [a], size, 0;`
std::optional<MemoryAccess> bulk_store_form(const Instruction& instruction, AccessKind kind);
/// `cp.async.ca.shared.global [to], [from], 16 {, src-size or ignore-src} {, policy};` reads global memory.
std::optional<MemoryAccess> copy_form(const Instruction& instruction, AccessKind kind);
/// `cp.async.bulk.TO.FROM.completion [to], [from], size, ...;`, cp.reduce and multimem.cp likewise.
std::optional<MemoryAccess> bulk_copy_form(const Instruction& instruction, AccessKind kind);
/// `cp.async.bulk.tensor.2d.TO.FROM.completion [to], [map, {x, y}], ...;`: bytes are in the tensor map, but
/// for the modes that gather, scatter or unfold images (im2col), where they are unknown.
std::optional<MemoryAccess> tensor_copy_form(const Instruction& instruction, AccessKind kind);
/// tex, tld4: what is read depends on the sampler.
std::optional<MemoryAccess> texture_form(const Instruction& instruction, AccessKind kind);
/// `suld.b.2d.v2.b32.trap {d, e}, [s, {x, y}];`; formatted stores (sust.p) convert to a size that the surface says.
std::optional<MemoryAccess> surface_form(const Instruction& instruction, AccessKind kind);
/// `wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {d, ...}, [p], stride;`
std::optional<MemoryAccess> wmma_form(const Instruction& instruction, AccessKind kind);
/// `ldmatrix.sync.aligned.m8n8.x4.shared.b16 {d, e, f, g}, [p];`
std::optional<MemoryAccess> matrix_form(const Instruction& instruction, AccessKind kind);
/// `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d, ...}, a, b, p, 1, 1, 0, 0;` reads b, and a unless it is in
/// registers, from the shared memory that their descriptors name.
std::optional<MemoryAccess> warpgroup_form(const Instruction& instruction, AccessKind kind);

}  // namespace egpu::ptx

// SPDX-License-Identifier: Apache-2.0
// Why a launch reads from the bank what it would have read from the original's constants.
//
// Let V be a byte of the original's constants, V' the same byte of the bank, L a launch of the copy that reads it, R
// the refresh that was put into L's stream right before L. A program without a data race on V orders each update of V
// before or after L: by the stream, by events that the stream waits for, or by the host before it launches L. Each of
// these orders R as well. So R, which copies all of V to V', runs after the updates that L is to see and before the
// others. What is left are refreshes of other launches that write V' between R and L's last read:
//   - One that begins after R began, and ends before the next update of V, writes the byte that is there.
//   - One that ends before R begins is overwritten by R.
//   - One that read V before an update and writes V' after R would bring the old byte back. That needs two refreshes of
//     one bank at once, in two streams: possible where two streams use different elements of one variable and update
//     them without regard for each other, which is no race. Therefore the refreshes of one bank never overlap: a bank
//     has an owner, the stream whose launches it serves, and its refreshes are in that stream's order. Another stream
//     takes the bank over only where the account of the context (maps/idle.hpp) knows of no work outside of its own;
//     until then its launches read by address. Refreshes are entered into that account after they were queued, so a
//     synchronisation that did not wait for one can't take it off. A destroyed stream's handle is given to another one
//     once its work is done (cuStreamDestroy), so that a handle means one order of work.
// A launch of the former owner may still run when the new owner refreshes: the updates that it may see are over, so
// that refresh writes what is there. Two threads that use one stream: a thread that queues an update between another's
// R and L has not ordered it with L. Each copy is a module of one kernel: a bank is refreshed for that kernel only, and
// holds only what it reads. Nothing is refreshed once and kept: what changes constants (copies, kernels, other
// processes' memory) isn't all seen.
#include "agent/kernels/constants.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "agent/driver/driver.hpp"
#include "agent/kernels/copy_table.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

constexpr std::uintptr_t kPerThreadTag = 6;  // handles are multiples of 8, the legacy stream is 1

constinit std::uintptr_t threads_ever = 0;
thread_local std::uintptr_t this_thread = 0;

bool failed(egpu_message_copy_result* out, egpu_copy_reason reason, CUresult result) {
    out->reason = reason;
    out->result = static_cast<std::int32_t>(result);
    return false;
}

// What stands for a stream as an owner: its handle, or for stream 0 of a thread a number that is the thread's alone.
std::uintptr_t owner_of(CUstream stream, StreamForm form) {
    const std::uintptr_t token = idle::token_of(stream, form);
    if (token != idle::kMany)
        return token;
    if (this_thread == 0)
        this_thread = __atomic_add_fetch(&threads_ever, 1, __ATOMIC_RELAXED);
    return this_thread << 3 | kPerThreadTag;
}

bool only_work_of(const Place& place, CUstream stream, StreamForm form) {
    const std::uintptr_t token = idle::token_of(stream, form);
    return token != idle::kMany && __atomic_load_n(&place.busy, __ATOMIC_ACQUIRE) == token;
}

// In the stream. What was queued before a failure does no harm: those bytes are what they are to be, or nobody's.
bool refresh(const Copy& copy, CUstream stream, StreamForm form) {
    const Driver& real = driver();
    const auto call = form == StreamForm::legacy ? real.cuMemcpyDtoDAsync_v2 : real.cuMemcpyDtoDAsync_v2_ptsz;
    const OwnCalls own;
    if (call == nullptr || !own.relaxed())
        return false;
    for (std::uint32_t i = 0; i < copy.bank.refresh_count; ++i) {
        const Refresh& one = copy.bank.refreshes[i];
        if (call(one.to, one.from, one.bytes, stream) != CUDA_SUCCESS)
            return false;
    }
    return true;
}

bool has_its_constants(Copy& copy, Place* place, CUstream stream, StreamForm form) {
    Bank& bank = copy.bank;
    const std::uintptr_t owner = owner_of(stream, form);
    if (bank.owner != owner && bank.owner != 0 && !only_work_of(*place, stream, form))
        return false;
    bank.owner = owner;
    const bool done = refresh(copy, stream, form);
    work_queued(*place, stream, form);  // again: see above
    if (!done)
        segment::store_relaxed(copy.kernel->counters->copy_reason, std::uint32_t{EGPU_COPY_NO_REFRESH});
    return done;
}

CUdeviceptr find_constant(CUmodule module, const char* name, std::uint64_t bytes, CUresult* result) {
    CUdeviceptr address = 0;
    std::size_t size = 0;
    *result = driver().cuModuleGetGlobal_v2(&address, &size, module, name);
    if (*result != CUDA_SUCCESS)
        return 0;
    *result = CUDA_ERROR_INVALID_VALUE;  // where it is another one
    return size == bytes ? address : 0;
}

// Where each constant comes from and goes to, sorted; neighbours that are neighbours in both are copied as one.
bool find_constants(const Image& image, const ReceivedCopy& received, Bank* bank, egpu_message_copy_result* result) {
    if (bank->refreshes == nullptr)
        bank->refreshes = static_cast<Refresh*>(std::calloc(received.head.bank_constants, sizeof(Refresh)));
    if (bank->refreshes == nullptr)
        return failed(result, EGPU_COPY_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
    bank->refresh_count = 0;
    for (std::uint32_t i = 0; i < received.head.bank_constants; ++i) {
        egpu_bank_constant constant{};
        std::memcpy(&constant, received.bank_constants().data() + i * sizeof(constant), sizeof(constant));
        const char* name = received.symbol_at(constant.name);
        if (name == nullptr)
            return failed(result, EGPU_COPY_NO_SYMBOL, CUDA_ERROR_INVALID_VALUE);
        CUresult found = CUDA_SUCCESS;
        std::size_t original_bytes = 0;
        const CUdeviceptr to = find_constant(bank->module, name, constant.bytes, &found);
        const CUdeviceptr from = global_of(image, name, &original_bytes);
        if (to == 0 || from == 0 || original_bytes != constant.bytes)
            return failed(result, EGPU_COPY_NO_SYMBOL, to == 0 ? found : CUDA_ERROR_NOT_FOUND);
        bank->refreshes[i] = {to, from, constant.bytes};
    }
    Refresh* end = bank->refreshes + received.head.bank_constants;
    std::sort(bank->refreshes, end, [](const Refresh& a, const Refresh& b) { return a.to < b.to; });
    Refresh* last = bank->refreshes;
    for (Refresh* next = last + 1; next < end; ++next) {
        if (last->to + last->bytes == next->to && last->from + last->bytes == next->from)
            last->bytes += next->bytes;
        else
            *++last = *next;
    }
    bank->refresh_count = static_cast<std::uint32_t>(last - bank->refreshes) + 1;
    return true;
}

}  // namespace

// Those listed are properties of the launch alone.
bool may_follow_other_work(const CUlaunchConfig* config) {
    for (unsigned int i = 0; config != nullptr && config->attrs != nullptr && i < config->numAttrs; ++i)
        switch (config->attrs[i].id) {
            case CU_LAUNCH_ATTRIBUTE_IGNORE:
            case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
            case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
            case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
            case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            case CU_LAUNCH_ATTRIBUTE_PRIORITY:
            case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
                break;
            default:
                return false;
        }
    return true;
}

bool load_bank(const ReceivedCopy& received, const char* name, Bank* bank, egpu_message_copy_result* result) {
    const Driver& real = driver();
    CUresult loaded = real.cuModuleLoadData(&bank->module, received.bank_image());
    if (loaded == CUDA_SUCCESS)
        loaded = real.cuModuleGetFunction(&bank->functions.copy, bank->module, name);
    if (loaded == CUDA_SUCCESS)
        return true;
    bank->functions.copy = nullptr;
    return failed(result, EGPU_COPY_LOAD_FAILED, loaded);
}

bool fit_bank(const Image& image, Place* place, const ReceivedCopy& received, Copy* copy,
              egpu_message_copy_result* result) {
    Bank& bank = copy->bank;
    return find_constants(image, received, &bank, result) &&
           fill_table(image, place, bank.module, received, received.bank_entries(), result);
}

CUfunction refreshed(Copy* copy, Place* place, const BlockShape& shape, CUstream stream, StreamForm form) {
    Bank& bank = copy->bank;
    if (!fits(bank) || !may_follow_other_work(shape.config) || !keeps_residency(&bank.functions, shape))
        return nullptr;
    // Whoever comes second at one moment doesn't wait.
    if (__atomic_exchange_n(&bank.taken, 1, __ATOMIC_ACQUIRE) != 0)
        return nullptr;
    const bool done = has_its_constants(*copy, place, stream, form);
    __atomic_store_n(&bank.taken, 0, __ATOMIC_RELEASE);
    return done ? bank.functions.copy : nullptr;
}

}  // namespace egpu::agent

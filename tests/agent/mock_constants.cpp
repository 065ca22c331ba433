// SPDX-License-Identifier: Apache-2.0
// Copies to the device and on it, which the application makes to update constants and the agent before launches that
// read them from a bank. The environment variable MOCK_REFRESH_ERROR=N makes the latter fail with N.
#include "mock_constants.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "mock_events.hpp"

namespace {

std::mutex changing;
int launches_from_bank = 0, stale_banks = 0;
const std::vector<std::uint64_t>* application_table = nullptr;
std::vector<CUstream> refreshed_on;  // since the last launch from a bank
void (*during_refresh)(void) = nullptr;

}  // namespace

void mock_note_table(const std::vector<std::uint64_t>* words) {
    const std::lock_guard lock(changing);
    application_table = words;
}

void mock_reads_bank(CUstream stream, const std::vector<std::uint64_t>& bank) {
    const std::lock_guard lock(changing);
    ++launches_from_bank;
    if (refreshed_on != std::vector<CUstream>{stream} || bank != *application_table)
        ++stale_banks;
    refreshed_on.clear();
}

#pragma GCC visibility push(default)
extern "C" {

/// Launches of copies that read a bank, and those of them for which it had not been refreshed.
void mock_bank_counts(int* launches, int* stale) {
    const std::lock_guard lock(changing);
    *launches = launches_from_bank;
    *stale = stale_banks;
}

/// What happens at the moment of a refresh, before it is queued: another thread's doing.
void mock_call_during_refresh(void (*call)(void)) {
    during_refresh = call;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream) {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    if (during_refresh != nullptr)
        during_refresh();
    mock_must_be_relaxed();
    if (const char* error = std::getenv("MOCK_REFRESH_ERROR"))
        return static_cast<CUresult>(std::atoi(error));
    mock_copied_on_device();
    const std::lock_guard lock(changing);
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
    refreshed_on.push_back(stream);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

}  // extern "C"
#pragma GCC visibility pop

// SPDX-License-Identifier: Apache-2.0
#include "agent/kernels/copy_table.hpp"

#include <cstring>

#include "agent/driver/driver.hpp"
#include "agent/maps/contents.hpp"
#include "agent/maps/device_maps.hpp"
#include "agent/maps/grids.hpp"
#include "agent/session/session.hpp"

namespace egpu::agent {

namespace {

constexpr const char* kTableSymbol = "egpu_table";

bool failed(egpu_message_copy_result* out, egpu_copy_reason reason, CUresult result) {
    out->reason = reason;
    out->result = static_cast<std::int32_t>(result);
    return false;
}

bool map_word(Place* place, const egpu_table_entry& entry, std::uint64_t* word, egpu_message_copy_result* result) {
    if (entry.map >= view().map_count() || entry.offset >= view().geometry(entry.map).layout().device_bytes())
        return failed(result, EGPU_COPY_NO_SYMBOL, CUDA_ERROR_INVALID_VALUE);
    if (!may_have(*place, entry.map))
        return failed(result, EGPU_COPY_ONE_PLACE, CUDA_SUCCESS);
    const CUdeviceptr base = map_memory(place, entry.map, first_content(entry.map));
    if (base == 0)
        return failed(result, EGPU_COPY_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
    *word = base + entry.offset;
    return true;
}

bool fill_entry(const Image& image, Place* place, const ReceivedCopy& received, const egpu_table_entry& entry,
                std::uint64_t* word, egpu_message_copy_result* result) {
    if (entry.kind == 1)
        return map_word(place, entry, word, result);
    if (entry.kind == 3) {
        *word = grids_memory(place, entry.offset);
        return *word != 0 || failed(result, EGPU_COPY_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
    }
    const char* name = entry.kind == 2 ? received.symbol_at(entry.offset) : nullptr;
    if (name == nullptr)
        return failed(result, EGPU_COPY_NO_SYMBOL, CUDA_ERROR_INVALID_VALUE);
    std::size_t bytes = 0;
    *word = global_of(image, name, &bytes);
    return *word != 0 || failed(result, EGPU_COPY_NO_SYMBOL, CUDA_ERROR_NOT_FOUND);
}

}  // namespace

CUdeviceptr global_of(const Image& image, const char* name, std::size_t* bytes) {
    const Driver& real = driver();
    CUdeviceptr address = 0;
    if (image.library == nullptr)
        return real.cuModuleGetGlobal_v2(&address, bytes, image.module, name) == CUDA_SUCCESS ? address : 0;
    if (real.cuLibraryGetGlobal(&address, bytes, image.library, name) == CUDA_SUCCESS)
        return address;
    const bool managed = real.cuLibraryGetManaged != nullptr &&
                         real.cuLibraryGetManaged(&address, bytes, image.library, name) == CUDA_SUCCESS;
    return managed ? address : 0;
}

bool fill_table(const Image& image, Place* place, CUmodule copy, const ReceivedCopy& received,
                std::span<const std::byte> entries, egpu_message_copy_result* result) {
    const std::size_t count = entries.size() / sizeof(egpu_table_entry);
    const std::size_t bytes = count * sizeof(std::uint64_t);
    if (bytes == 0)
        return true;
    const Driver& real = driver();
    CUdeviceptr address = 0;
    std::size_t size = 0;
    const CUresult found = real.cuModuleGetGlobal_v2(&address, &size, copy, kTableSymbol);
    if (found != CUDA_SUCCESS || size < bytes)
        return failed(result, EGPU_COPY_NO_SYMBOL, found != CUDA_SUCCESS ? found : CUDA_ERROR_INVALID_VALUE);
    Buffer words(bytes);
    if (words.size() == 0)
        return failed(result, EGPU_COPY_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
    auto* word = reinterpret_cast<std::uint64_t*>(words.data());
    for (std::size_t i = 0; i < count; ++i) {
        egpu_table_entry entry{};
        std::memcpy(&entry, entries.data() + i * sizeof(entry), sizeof(entry));
        if (!fill_entry(image, place, received, entry, &word[i], result))
            return false;
    }
    CUresult sent = real.cuMemcpyHtoDAsync_v2(address, words.data(), bytes, place->stream);
    if (sent == CUDA_SUCCESS)
        sent = real.cuStreamSynchronize(place->stream);
    return sent == CUDA_SUCCESS || failed(result, EGPU_COPY_LOAD_FAILED, sent);
}

}  // namespace egpu::agent

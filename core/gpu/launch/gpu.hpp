// SPDX-License-Identifier: Apache-2.0
// A GPU behind a driver, the installed one or the stand-in of the simulated GPU: runs one kernel at a time, for tests
// of what egpu generates. Needs nothing of CUDA at build time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace egpu::launch {

/// One thread of a kernel without parameters, which finds its memory through a constant array of addresses.
struct KernelRun {
    std::string ptx, entry;
    std::vector<std::vector<std::byte>> buffers;  ///< device memory, 256-byte aligned: copied there, and back
    std::string table;                            ///< the array's symbol; "": the kernel has none
    struct Word {
        std::size_t buffer = 0;
        std::uint64_t offset = 0;
    };
    std::vector<Word> words;  ///< the array's contents: addresses in buffers
};

class Gpu {
public:
    /// `library`: "libcuda.so.1", or the path of a stand-in. EGPU-G001 where it can't be loaded, G002 where it or its
    /// first device doesn't start.
    static Result<Gpu> open(const std::string& library);
    Gpu(Gpu&&) noexcept;
    Gpu& operator=(Gpu&&) noexcept;
    ~Gpu();

    const std::string& name() const;
    std::uint32_t architecture() const;  ///< 90 for sm_90

    /// EGPU-G003 with the driver's words where a call fails; the context is made anew then. G004 where the kernel
    /// hasn't ended after ten seconds: the device is still busy, and all further runs fail.
    Status run(KernelRun& kernel);

private:
    struct State;
    explicit Gpu(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace egpu::launch

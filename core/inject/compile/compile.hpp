// SPDX-License-Identifier: Apache-2.0
// PTX to a cubin by a ptxas process, with the figures it prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace egpu::inject {

struct CompileOptions {
    std::string architecture;          ///< "sm_90", "sm_90a"
    std::vector<std::string> options;  ///< recorded options of the original ("-maxrregcount", "32", "-fmad", "false")
    std::uint32_t timeout_seconds = 120;
};

struct Compiled {
    std::vector<std::byte> cubin;
    std::uint32_t registers = 0;
    std::uint32_t spill_bytes = 0;  ///< stores + loads
    std::uint32_t stack_bytes = 0;
    std::uint32_t static_shared_bytes = 0;
    std::string messages;  ///< what ptxas printed (C75xx lines among it)
};

/// Lines of ptxas's messages that say it serialised wgmma instructions or ignored setmaxnreg (C75xx). More in a copy
/// than in its original: a program stands where none may (CopyRequest::spare_wgmma).
std::size_t advice_count(const std::string& messages);

/// A ptxas executable: $EGPU_PTXAS, PATH, /usr/local/cuda/bin; nullopt where there is none.
std::optional<std::string> find_ptxas();
/// "13.0"; "" where it can't be told.
std::string ptxas_version(const std::string& ptxas);

/// EGPU-P3xx with ptxas's own messages where it refuses. `entry` selects whose figures are reported.
Result<Compiled> compile_ptx(const std::string& ptxas, const std::string& ptx, const std::string& entry,
                             const CompileOptions& options);

}  // namespace egpu::inject

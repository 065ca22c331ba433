// SPDX-License-Identifier: Apache-2.0
// PTX to a cubin by a process of its own (ptxas, or the driver's JIT behind the same command line), with the figures
// that it prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
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
    std::string messages;  ///< what the compiler printed (C75xx lines among it)
};

/// Lines of ptxas's messages that say it serialised wgmma instructions or ignored setmaxnreg (C75xx). More in a copy
/// than in its original: a program stands where none may (CopyRequest::spare_wgmma).
std::size_t advice_count(const std::string& messages);

/// What makes cubins on this machine.
struct Compiler {
    enum class Kind { ptxas, driver };
    Kind kind = Kind::ptxas;
    std::string program;   ///< what is run
    std::string version;   ///< of the toolkit or the driver: "13.0"
    std::string identity;  ///< all that decides what it gives for the same text and options: for a cache's key
    std::string why;       ///< driver: why not ptxas; else ""
};

/// A ptxas executable: $EGPU_PTXAS, PATH, /usr/local/cuda/bin; nullopt where there is none, or EGPU_PTXAS is "none".
std::optional<std::string> find_ptxas();
/// "13.0"; "" where it can't be told.
std::string ptxas_version(const std::string& ptxas);

/// ptxas where there is one whose cubins the driver takes, else the driver's JIT in a process of its own: `driver_tool`
/// is the program egpu-driver-compile. `driver_version` is what cuDriverGetVersion says (13000), 0 where unknown.
/// EGPU-P305 where neither works.
Result<Compiler> choose_compiler(const std::string& driver_tool, std::uint32_t driver_version);

/// The driver's JIT; `why` is what its `why` says.
Result<Compiler> driver_compiler(const std::string& driver_tool, std::string why);

/// Recorded options that this compiler has no way to be told. ptxas: none. The driver's JIT has the register limit, the
/// optimisation level, line information and the cache of loads.
std::vector<std::string> untold_options(const Compiler& compiler, const std::vector<std::string>& options);

/// True where a multiplication without a rounding mode stands in the text: fused with an addition or not, it rounds
/// differently, so --fmad decides about results. (nvcc's -fmad=false writes the mode out, so its texts have none.)
bool fusing_matters(std::string_view ptx);

/// EGPU-P3xx with the compiler's own messages where it refuses. `entry` selects whose figures are reported.
Result<Compiled> compile_ptx(const Compiler& compiler, const std::string& ptx, const std::string& entry,
                             const CompileOptions& options, const std::stop_token& stop = {});
/// The same by this ptxas.
Result<Compiled> compile_ptx(const std::string& ptxas, const std::string& ptx, const std::string& entry,
                             const CompileOptions& options);

}  // namespace egpu::inject

// SPDX-License-Identifier: Apache-2.0
// cuInit: the first success is where the session begins.
#include <cstdlib>

#include "agent/calls/process_end.hpp"
#include "agent/drain/drain.hpp"
#include "agent/hook/entry.hpp"
#include "agent/session/session.hpp"

using namespace egpu::agent;

namespace {

// Registered when the first cuInit returns, so it runs before the driver's own handler, which takes the device away.
void at_application_end() {
    end_of_process(EGPU_END_EXIT);
}

}  // namespace

CUresult cuInit(unsigned int Flags) {
    const Driver& real = real_driver();
    if (real.cuInit == nullptr)
        return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
    const CUresult result = real.cuInit(Flags);
    if (result == CUDA_SUCCESS && mode() == Mode::waiting && start_session()) {
        std::atexit(at_application_end);
        start_drain();
    }
    return result;
}

// SPDX-License-Identifier: Apache-2.0
// Bytes to a program on a fixed object: the verifier ends, and what it accepts doesn't fault in the interpreter.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "../ebpf/verifier/random_program.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace egpu::ebpf::test;
    static egpu::ebpf::Object object = random_object();
    object.programs.front().instructions = random_instructions({data, size});
    bool accepted = false;
    if (const auto fault = run_if_accepted(object, object.programs.front(), accepted)) {
        std::fprintf(stderr, "%s", fault->c_str());
        std::abort();
    }
    return 0;
}

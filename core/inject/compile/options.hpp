// SPDX-License-Identifier: Apache-2.0
// Which of the options that an original was compiled with its copy is compiled with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace egpu::inject {

/// The options that change code, each as ptxas takes it ("--maxrregcount=32"). Architecture, file names and what is
/// printed are left out: they are no part of how the code was made. What is unknown is left out, too, and `dropped`
/// gets it.
std::vector<std::string> code_options(const std::vector<std::string>& recorded,
                                      std::vector<std::string>* dropped = nullptr);

/// What an image and the call that loaded it say of how the running code was compiled.
struct OriginalOptions {
    bool runs_cubin = false;                 ///< machine code of the image runs, else what the driver made of its PTX
    std::string cubin_note;                  ///< .note.nv.tkinfo of that machine code
    std::string ptx_record;                  ///< option record of the PTX in the fatbinary
    std::uint32_t max_registers = 0;         ///< JIT option of the load call; 0: none
    std::uint32_t optimisation_level = ~0U;  ///< the same; over 4: none
};

/// Who decides: machine code was made by the options in its note, and nothing else matters (JIT options of a load call
/// do not reach machine code). What the driver compiles itself, it compiles with the record of the fatbinary; an option
/// of the load call takes the place of the recorded one.
std::vector<std::string> options_of_original(const OriginalOptions& original,
                                             std::vector<std::string>* dropped = nullptr);

/// Words between blanks.
std::vector<std::string> words_of(std::string_view text);

}  // namespace egpu::inject

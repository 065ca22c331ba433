// SPDX-License-Identifier: Apache-2.0
// Which of the options that an original was compiled with its copy is compiled with.
#pragma once

#include <string>
#include <vector>

namespace egpu::inject {

/// The options that change code, each as ptxas takes it ("-maxrregcount=32"); file names, architectures, output and
/// debugging options are dropped, and what is unknown is, too. `dropped` gets the words left out.
std::vector<std::string> code_options(const std::vector<std::string>& recorded,
                                      std::vector<std::string>* dropped = nullptr);

}  // namespace egpu::inject

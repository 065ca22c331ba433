// SPDX-License-Identifier: Apache-2.0
// The program egpu-ui: command line, window, picture.
#pragma once

namespace egpu::ui {

/// Exit codes as of every egpu command but run: 0 done, 2 bad usage, 3 nothing could be opened or written.
int run_application(int argc, char** argv);

}  // namespace egpu::ui

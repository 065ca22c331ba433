// SPDX-License-Identifier: Apache-2.0
// Where the demo data of the window is: a recording, installed with it.
#pragma once

#include <QString>

namespace egpu::ui {

/// Its path, whether it is there or not.
QString demo_file();

}  // namespace egpu::ui

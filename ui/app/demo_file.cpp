// SPDX-License-Identifier: Apache-2.0
#include "ui/app/demo_file.hpp"

#include "base/files.hpp"

namespace egpu::ui {

QString demo_file() {
    return QString::fromStdString(installed_path("share/egpu/demo.egpu"));
}

}  // namespace egpu::ui

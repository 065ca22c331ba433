// SPDX-License-Identifier: Apache-2.0
// egpu-ui: the window of egpu.
#include "ui/app/application.hpp"

int main(int argc, char** argv) {
    return egpu::ui::run_application(argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
#include "base/version.hpp"

namespace egpu {

const char* version() {
    return EGPU_VERSION;
}

}  // namespace egpu

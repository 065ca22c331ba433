# SPDX-License-Identifier: Apache-2.0
# Headers of the SDK; everything else is installed where it is built.
install(DIRECTORY core/include/egpu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

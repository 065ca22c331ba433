// SPDX-License-Identifier: Apache-2.0
// Drivers that lay tensor maps out in one way or another: only the way that copies can read is believed.
#include "agent/driver/tensor_maps.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "mock_tensor_maps.hpp"

namespace egpu::agent {
namespace {

using mock::TensorMapLayout;

TensorMaps found_with(const TensorMapLayout& layout) {
    mock::tensor_map_layout = layout;
    const TensorMaps found = layout_of_tensor_maps(&mock::encode_tensor_map);
    mock::tensor_map_layout = {};
    return found;
}

TEST(TensorMaps, AsMeasured) {
    EXPECT_EQ(found_with({}), TensorMaps::as_measured);
}

TEST(TensorMaps, AnotherLayout) {
    for (const TensorMapLayout& layout :
         {TensorMapLayout{.type_at = 72}, TensorMapLayout{.interleave_at = 77}, TensorMapLayout{.strides_at = 417},
          TensorMapLayout{.box_at = 448}, TensorMapLayout{.bits_of_stride = 4}, TensorMapLayout{.box_less = 0},
          TensorMapLayout{.first_type = 1}, TensorMapLayout{.takes_narrow_types = true}})
        EXPECT_EQ(found_with(layout), TensorMaps::otherwise);
}

TEST(TensorMaps, NoMaps) {
    EXPECT_EQ(layout_of_tensor_maps(nullptr), TensorMaps::otherwise);
    EXPECT_EQ(found_with({.result = CUDA_ERROR_NOT_SUPPORTED}), TensorMaps::otherwise);
}

TEST(TensorMaps, AreAskedAboutAgainWhereNoContextIsCurrent) {
    EXPECT_EQ(found_with({.result = CUDA_ERROR_INVALID_CONTEXT}), TensorMaps::not_asked);
    EXPECT_EQ(found_with({.result = CUDA_ERROR_NOT_INITIALIZED}), TensorMaps::not_asked);
}

}  // namespace
}  // namespace egpu::agent

/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes an image has that the application passed to the driver as a bare pointer. No allocation, no
 * exceptions: the agent calls this inside the application. */
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum egpu_image_kind { EGPU_IMAGE_UNKNOWN = 0, EGPU_IMAGE_PTX = 1, EGPU_IMAGE_FATBIN = 2, EGPU_IMAGE_CUBIN = 3 };

struct egpu_image_extent {
    enum egpu_image_kind kind;
    const void* data; /* the container behind a 0x466243B1 wrapper, else the image itself */
    size_t bytes;     /* PTX: without the closing NUL */
    int relocatable;  /* wrapper version 2 */
};

/* Returns 0 and fills *extent, or -1 where the image is of no known kind or says a size over 1 GiB. */
int egpu_image_extent_of(const void* image, struct egpu_image_extent* extent);

#ifdef __cplusplus
}
#endif

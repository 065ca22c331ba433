/* SPDX-License-Identifier: Apache-2.0 */
/* The length of an image behind a bare pointer. Nothing says how many bytes may be read, so each byte is read only when
 * the ones before it say that the image goes on. Layouts: ptx/fatbin/container.cpp and cubin.cpp. */
#include "ptx/fatbin/extent/extent.h"

#include <stdint.h>
#include <string.h>

#define MOST_BYTES ((uint64_t)1 << 30)

static uint16_t read_u16(const unsigned char* at) {
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t read_u32(const unsigned char* at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t read_u64(const unsigned char* at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* memcmp may read past the first difference; this does not. */
static int begins_with(const unsigned char* at, const char* text) {
    while (*text != '\0' && *at == (unsigned char)*text) {
        ++at;
        ++text;
    }
    return *text == '\0';
}

/* Behind blanks and comments; the NUL that closes the text ends every loop. */
static const unsigned char* skip_trivia(const unsigned char* at) {
    for (;;) {
        if (*at == ' ' || (*at >= '\t' && *at <= '\r')) {
            ++at;
        } else if (begins_with(at, "//")) {
            while (*at != '\0' && *at != '\n')
                ++at;
        } else if (begins_with(at, "/*")) {
            at += 2;
            while (*at != '\0' && !begins_with(at, "*/"))
                ++at;
            at += *at == '\0' ? 0 : 2;
        } else {
            return at;
        }
    }
}

static int text_extent(const unsigned char* image, struct egpu_image_extent* extent) {
    size_t length;
    if (!begins_with(skip_trivia(image), ".version"))
        return -1;
    length = strnlen((const char*)image, (size_t)MOST_BYTES + 1);
    if (length > MOST_BYTES)
        return -1;
    extent->kind = EGPU_IMAGE_PTX;
    extent->data = image;
    extent->bytes = length;
    return 0;
}

static int container_extent(const unsigned char* container, struct egpu_image_extent* extent) {
    uint64_t header = read_u16(container + 6);
    uint64_t members = read_u64(container + 8);
    if (read_u16(container + 4) != 1 || header < 16 || members > MOST_BYTES - header)
        return -1;
    extent->kind = EGPU_IMAGE_FATBIN;
    extent->data = container;
    extent->bytes = (size_t)(header + members);
    return 0;
}

static int wrapper_extent(const unsigned char* wrapper, struct egpu_image_extent* extent) {
    uint32_t version = read_u32(wrapper + 4);
    const unsigned char* container = (const unsigned char*)(uintptr_t)read_u64(wrapper + 8);
    if ((version != 1 && version != 2) || container == NULL || !begins_with(container, "\x50\xed\x55\xba"))
        return -1;
    extent->relocatable = version == 2;
    return container_extent(container, extent);
}

/* Grows *end to where [offset, offset + size) ends; -1 where that is too far. */
static int grow(uint64_t* end, uint64_t offset, uint64_t size) {
    if (offset > MOST_BYTES || size > MOST_BYTES - offset)
        return -1;
    if (offset + size > *end)
        *end = offset + size;
    return 0;
}

/* NOBITS, and the types that relocatable cubins use for memory without bytes in the file. */
static int has_no_bytes(uint32_t type) {
    return type == 0 || type == 8 || type == 0x70000007 || type == 0x70000009 || type == 0x7000000a ||
           type == 0x70000015;
}

/* The end of whatever lies last: a section, the section headers or the program headers. */
static int elf_extent(const unsigned char* elf, struct egpu_image_extent* extent) {
    uint64_t end = 64, sections = read_u64(elf + 0x28), segments = read_u64(elf + 0x20), i;
    uint64_t count = read_u16(elf + 0x3c), section_bytes = read_u16(elf + 0x3a);
    if (elf[4] != 2 || elf[5] != 1 || read_u16(elf + 0x12) != 190)
        return -1;
    if (segments != 0 && grow(&end, segments, (uint64_t)read_u16(elf + 0x36) * read_u16(elf + 0x38)) != 0)
        return -1;
    if (sections != 0) {
        if (section_bytes != 64 || sections > MOST_BYTES)
            return -1;
        if (count == 0) /* over 65,279 sections: the count stands in the first one */
            count = read_u64(elf + sections + 0x20);
        if (count > MOST_BYTES / 64 || grow(&end, sections, count * 64) != 0)
            return -1;
        for (i = 0; i < count; ++i) {
            const unsigned char* section = elf + sections + i * 64;
            if (!has_no_bytes(read_u32(section + 4)) &&
                grow(&end, read_u64(section + 0x18), read_u64(section + 0x20)) != 0)
                return -1;
        }
    }
    extent->kind = EGPU_IMAGE_CUBIN;
    extent->data = elf;
    extent->bytes = (size_t)end;
    return 0;
}

int egpu_image_extent_of(const void* image, struct egpu_image_extent* extent) {
    const unsigned char* bytes = image;
    memset(extent, 0, sizeof *extent);
    if (bytes == NULL)
        return -1;
    if (begins_with(bytes,
                    "\x7f"
                    "ELF"))
        return elf_extent(bytes, extent);
    if (begins_with(bytes, "\x50\xed\x55\xba"))
        return container_extent(bytes, extent);
    if (begins_with(bytes, "\xb1\x43\x62\x46"))
        return wrapper_extent(bytes, extent);
    return text_extent(bytes, extent);
}

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes bad/ from the fixtures of this folder: images that must be refused, each named after the code of its refusal."""
import pathlib
import struct

here = pathlib.Path(__file__).parent


def read(name):
    return bytearray((here / name).read_bytes())


def bad(code, name, data):
    (here / "bad" / f"{code}_{name}").write_bytes(bytes(data))


def changed(name, offset, form, *values):
    data = read(name)
    struct.pack_into(form, data, offset, *values)
    return data


MEMBER = 16  # the first member's header, behind the container's
plain, lz4, zstd, cubin = "plain.fatbin", "lz4.fatbin", "zstd.fatbin", "kernels.cubin"
first = struct.unpack_from("<IQ", read(lz4), MEMBER + 4)
lz4_ptx = MEMBER + first[0] + first[1]  # the second member of lz4.fatbin is the compressed one

bad("P101", "text.txt", b"a file that holds no GPU code\n")
bad("P101", "empty.fatbin", b"")
bad("P101", "comment_only.ptx", b"// .version 9.0\n/* .version 9.0")
bad("P102", "header_cut_off.fatbin", read(plain)[:12])
bad("P102", "members_cut_off.fatbin", read(plain)[:-8])
bad("P102", "version_2.fatbin", changed(plain, 4, "<H", 2))
bad("P102", "short_header.fatbin", changed(plain, 6, "<H", 8))
bad("P102", "size_wraps.fatbin", changed(plain, 8, "<Q", 2**64 - 1))
bad("P102", "member_header_short.fatbin", changed(plain, MEMBER + 4, "<I", 32))
bad("P102", "member_header_long.fatbin", changed(plain, MEMBER + 4, "<I", 2**31))
bad("P102", "payload_wraps.fatbin", changed(plain, MEMBER + 8, "<Q", 2**64 - 64))
bad("P103", "no_cubin.fatbin", changed(plain, MEMBER + 64, "<I", 0))
bad("P103", "elf_cut_off.cubin", read(cubin)[:40])
bad("P103", "sections_cut_off.cubin", read(cubin)[: struct.unpack_from("<Q", read(cubin), 0x28)[0] + 100])
bad("P103", "section_outside.cubin", changed(cubin, struct.unpack_from("<Q", read(cubin), 0x28)[0] + 64 + 0x20, "<Q", 2**63))
bad("P103", "section_table_wraps.cubin", changed(cubin, 0x28, "<Q", 2**64 - 64))
bad("P103", "elf_32.cubin", changed(cubin, 4, "<B", 1))
bad("P103", "big_endian.cubin", changed(cubin, 5, "<B", 2))
bad("P104", "lz4_damaged.fatbin", changed(lz4, lz4_ptx + struct.unpack_from("<I", read(lz4), lz4_ptx + 4)[0], "<Q", 2**64 - 1))
bad("P104", "lz4_size_is_a_lie.fatbin", changed(lz4, lz4_ptx + 56, "<Q", 10**9))
bad("P104", "zstd_damaged.fatbin", changed(zstd, MEMBER + 64 + 40, "<QQQ", 0, 2**64 - 1, 2**63))
bad("P104", "zstd_size_is_a_lie.fatbin", changed(zstd, MEMBER + 56, "<Q", 10**9))
bad("P104", "longer_than_its_payload.fatbin", changed(zstd, MEMBER + 16, "<I", 2**31))
bad("P105", "terabyte.fatbin", changed(zstd, MEMBER + 56, "<Q", 2**40))

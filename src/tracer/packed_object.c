// SPDX-License-Identifier: Apache-2.0
#include "tracer/packed_object.h"

#include <errno.h>
#include <stdlib.h>

#include <zlib.h>

#include "base/cleanup.h"
#include "base/types.h"

#define ELF_MAX_BYTES (16u << 20)

/* The last four bytes of a gzip file are the size of what is in it, the least first. */
static size_t unpacked_bytes(const u8 *packed, size_t bytes)
{
	const u8 *size = packed + bytes - 4;

	return bytes < 18 ? 0 : size[0] | size[1] << 8 | size[2] << 16 | (size_t)size[3] << 24;
}

static int inflate_all(const void *packed, size_t bytes, void *elf, size_t elf_bytes)
{
	z_stream z = { .next_in = (void *)packed, .avail_in = (uInt)bytes, .next_out = elf };
	int r;

	z.avail_out = (uInt)elf_bytes;
	if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		return -ENOMEM;
	r = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	return r == Z_STREAM_END && !z.avail_out ? 0 : -EBADMSG;
}

int packed_object_unpack(const void *packed, size_t bytes, void **ret_elf, size_t *ret_bytes)
{
	_cleanup_(freep) void *elf = NULL;
	size_t elf_bytes = unpacked_bytes(packed, bytes);
	int r;

	if (!elf_bytes || elf_bytes > ELF_MAX_BYTES)
		return -EBADMSG;
	elf = malloc(elf_bytes);
	if (!elf)
		return -ENOMEM;
	r = inflate_all(packed, bytes, elf, elf_bytes);
	if (r < 0)
		return r;
	*ret_elf = TAKE(elf);
	*ret_bytes = elf_bytes;
	return 0;
}

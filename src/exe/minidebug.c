// SPDX-License-Identifier: Apache-2.0
#include "exe/minidebug.h"

#include <errno.h>

#include <lzma.h>

#include "base/buf.h"

#define MINIDEBUG_MAX (64u << 20)	/* bytes, decompressed; firefox has 12 MiB */
#define DECODER_MAX (64u << 20)		/* bytes of the decoder's own */
#define STEP 65536

/* Runs the decoder over all input; LZMA_OK once there is no more output, else what went wrong. */
static lzma_ret decode(lzma_stream *stream, struct buf *to)
{
	static u8 step[STEP];
	lzma_ret r = LZMA_OK;

	while (r == LZMA_OK && !buf_err(to)) {
		stream->next_out = step;
		stream->avail_out = sizeof(step);
		r = lzma_code(stream, LZMA_FINISH);
		buf_add(to, step, sizeof(step) - stream->avail_out);
	}
	return r;
}

static int decompress(const u8 *at, size_t bytes, struct buf *to)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret r = lzma_stream_decoder(&stream, DECODER_MAX, 0);

	if (r != LZMA_OK)
		return r == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
	stream.next_in = at;
	stream.avail_in = bytes;
	r = decode(&stream, to);
	lzma_end(&stream);
	if (buf_err(to))
		return buf_err(to);
	if (r == LZMA_MEMLIMIT_ERROR)
		return -E2BIG;
	return r == LZMA_STREAM_END ? 0 : r == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

int minidebug_read(const struct exe *exe, struct exe_data *ret_data)
{
	struct exe_section section;
	struct exe_data packed;
	struct buf to;
	int r;

	if (!exe_section_named(exe, ".gnu_debugdata", &section) || section.flags & SHF_COMPRESSED)
		return -ENODATA;
	r = exe_section_data(exe, &section, 0, &packed);
	if (r < 0)
		return r;
	buf_init(&to, MINIDEBUG_MAX);
	r = decompress(packed.at, packed.bytes, &to);
	if (r < 0) {
		buf_done(&to);
		return r;
	}
	*ret_data = (struct exe_data){ (const u8 *)to.data, to.len, to.data };
	return 0;
}

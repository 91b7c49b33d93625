// SPDX-License-Identifier: Apache-2.0
#include "lang/python/python_text.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

#define HEADER_MAX 128
#define CODE_POINT_MAX 0x10ffffu

/*
 * state, from its lowest bit: interned (2 bits; a byte in free-threaded 3.14), kind (3), compact, ascii. Kind is the
 * number of bytes of a character; a text that is not compact has its characters elsewhere, which no name has.
 */
struct text_state {
	u32 kind;
	bool compact, ascii;
};

static struct text_state text_state(const struct python_layout *layout, u32 bits)
{
	bits >>= layout->free_threaded && layout->layout_version >= PYTHON_VERSION(14) ? 8 : 2;
	return (struct text_state){ bits & 7, bits >> 3 & 1, bits >> 4 & 1 };
}

/* Its bytes in UTF-8; surrogates, which Python keeps for bytes that were no UTF-8, become '?'. */
static size_t encode(u32 c, char out[4])
{
	if (c < 0x80 || c > CODE_POINT_MAX || (c >= 0xd800 && c < 0xe000)) {
		out[0] = c < 0x80 ? (char)c : '?';
		return 1;
	}
	return utf8_put(out, c);
}

static void encode_all(const u8 *at, size_t count, u32 kind, char ret_text[LANG_TEXT_MAX + 1])
{
	size_t len = 0;

	for (size_t i = 0; i < count; i++) {
		char out[4];
		u32 c = 0;
		size_t n;

		memcpy(&c, at + i * kind, kind);
		n = encode(c, out);
		if (len + n > LANG_TEXT_MAX)
			break;
		memcpy(ret_text + len, out, n);
		len += n;
	}
	ret_text[len] = 0;
}

int python_text_read(const struct lang_process *process, const struct python_layout *layout, u64 va,
		     char ret_text[LANG_TEXT_MAX + 1])
{
	u8 header[HEADER_MAX], data[LANG_TEXT_MAX];
	struct text_state state;
	u64 length;
	u32 bits;
	long got;
	int r;

	if (layout->text_length > HEADER_MAX - 8 || layout->text_state > HEADER_MAX - 8)
		return -EBADMSG;
	/* What ends the shortest text's header lies behind both. */
	r = lang_read(process, va, header, layout->text_ascii < HEADER_MAX ? layout->text_ascii : HEADER_MAX);
	if (r < 0)
		return r;
	memcpy(&length, header + layout->text_length, sizeof(length));
	memcpy(&bits, header + layout->text_state, sizeof(bits));
	state = text_state(layout, bits);
	if (!state.compact || (state.kind != 1 && state.kind != 2 && state.kind != 4))
		return -EBADMSG;
	if (length > sizeof(data) / state.kind)
		length = sizeof(data) / state.kind;
	got = lang_read_part(process, va + (state.ascii ? layout->text_ascii : layout->text_other), data,
			     length * state.kind);
	if (got < 0)
		return (int)got;
	encode_all(data, (size_t)got / state.kind, state.kind, ret_text);
	return 0;
}

int python_bytes_read(const struct lang_process *process, const struct python_layout *layout, u64 va, u8 *to,
		      size_t max_bytes, size_t *ret_bytes)
{
	u64 size;
	int r = lang_read(process, va + layout->bytes_size, &size, sizeof(size));

	if (r < 0)
		return r;
	if (size > max_bytes)
		size = max_bytes;
	r = lang_read(process, va + layout->bytes_data, to, size);
	if (r < 0)
		return r;
	*ret_bytes = size;
	return 0;
}

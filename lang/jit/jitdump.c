// SPDX-License-Identifier: Apache-2.0
#include "lang/jit/jitdump.h"

#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "lang/jit/code_table.h"

#define MAGIC 0x4a695444u
#define HEADER_BYTES 40
#define HEADER_BYTES_MAX 4096
#define RECORD_BYTES 16

enum record_id { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO };

/* Where a piece of code begins in its source: told in the record before the code's own. */
struct source {
	u64 va;
	const char *file;
	size_t file_len;
	u32 line;
};

int jitdump_header(const void *at, size_t bytes)
{
	struct cursor c = cursor_of(at, bytes);
	u64 magic = cursor_uint(&c, 4), version = cursor_uint(&c, 4), total = cursor_uint(&c, 4);

	if (c.bad || magic != MAGIC || version < 1 || total < HEADER_BYTES || total > HEADER_BYTES_MAX)
		return -EBADMSG;
	return (int)total;
}

/* The bytes of a text up to its NUL, which is passed over; NULL if there is none. */
static const char *take_text(struct cursor *c, size_t *ret_len)
{
	const char *at = (const char *)c->at;
	const void *nul = memchr(at, 0, cursor_left(c));

	if (!nul)
		return NULL;
	*ret_len = (size_t)((const char *)nul - at);
	c->at += *ret_len + 1;
	return at;
}

static void take_load(struct code_table *table, struct cursor c, const struct source *source)
{
	const char *name;
	size_t name_len;
	u64 va, bytes;

	(void)cursor_uint(&c, 8);	/* pid and tid */
	(void)cursor_uint(&c, 8);	/* vma: where the code is in the file, once it is an ELF */
	va = cursor_uint(&c, 8);
	bytes = cursor_uint(&c, 8);
	(void)cursor_uint(&c, 8);	/* its number */
	name = take_text(&c, &name_len);
	if (c.bad || !name)
		return;
	if (source->va == va)
		code_table_add(table, va, bytes, name, name_len, source->file, source->file_len, source->line);
	else
		code_table_add(table, va, bytes, name, name_len, NULL, 0, 0);
}

static void take_move(struct code_table *table, struct cursor c)
{
	u64 from_va, to_va, bytes;

	(void)cursor_uint(&c, 8);
	(void)cursor_uint(&c, 8);
	from_va = cursor_uint(&c, 8);
	to_va = cursor_uint(&c, 8);
	bytes = cursor_uint(&c, 8);
	if (!c.bad)
		code_table_move(table, from_va, to_va, bytes);
}

/* Only the first entry is taken: the function's own. */
static struct source take_debug_info(struct cursor c)
{
	struct source source = { .va = cursor_uint(&c, 8) };

	if (!cursor_uint(&c, 8))
		return (struct source){ 0 };
	(void)cursor_uint(&c, 8);
	source.line = (u32)cursor_uint(&c, 4);
	(void)cursor_uint(&c, 4);
	source.file = take_text(&c, &source.file_len);
	return c.bad || !source.file ? (struct source){ 0 } : source;
}

long jitdump_parse(struct code_table *table, const void *data, size_t bytes)
{
	struct source source = { 0 };
	const u8 *at = data;
	size_t left = bytes;

	while (left >= RECORD_BYTES) {
		struct cursor c = cursor_of(at, left);
		u64 id = cursor_uint(&c, 4), total = cursor_uint(&c, 4);

		if (total < RECORD_BYTES)
			return -EBADMSG;
		/* The source of a piece waits for the piece: both or none. */
		if (total > left || (id == CODE_DEBUG_INFO && total == left))
			break;
		c = cursor_of(at + RECORD_BYTES, total - RECORD_BYTES);
		if (id == CODE_LOAD)
			take_load(table, c, &source);
		else if (id == CODE_MOVE)
			take_move(table, c);
		source = id == CODE_DEBUG_INFO ? take_debug_info(c) : (struct source){ 0 };
		at += total;
		left -= total;
	}
	return (long)(bytes - left);
}

// SPDX-License-Identifier: Apache-2.0
#include "exe/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE_COUNT_MAX (LINES_MAX * LINES_DEPTH_MAX)
#define STRINGS_MAX (16u << 20)
#define STRING_MAX (64u << 10)

static int check_chains(const struct exe_lines *lines)
{
	const u32 *first = exe_lines_first(lines);

	if (first[0] || first[lines->address_count] != lines->line_count)
		return -EBADMSG;
	for (u32 i = 0; i < lines->address_count; i++)
		if (first[i] > first[i + 1])
			return -EBADMSG;
	return 0;
}

int exe_lines_check(const struct exe_lines *lines, size_t bytes)
{
	const char *strings;

	if (bytes < sizeof(*lines) || memcmp(lines->magic, LINES_MAGIC, sizeof(lines->magic)) || lines->bytes != bytes)
		return -EBADMSG;
	if (lines->address_count > LINES_MAX || lines->truncated > lines->address_count ||
	    lines->line_count > LINE_COUNT_MAX || !lines->strings_bytes)
		return -EBADMSG;
	if (bytes - sizeof(*lines) != (lines->address_count + 1) * sizeof(u32) +
	    lines->line_count * sizeof(struct exe_line) + (size_t)lines->strings_bytes)
		return -EBADMSG;
	strings = exe_lines_strings(lines);
	if (strings[0] || strings[lines->strings_bytes - 1])
		return -EBADMSG;
	for (u32 i = 0; i < lines->line_count; i++) {
		const struct exe_line *line = &exe_lines_array(lines)[i];

		if (line->function >= lines->strings_bytes || line->file >= lines->strings_bytes)
			return -EBADMSG;
	}
	return check_chains(lines);
}

void lines_init(struct lines_builder *builder)
{
	u32 zero = 0;

	*builder = (struct lines_builder){ 0 };
	buf_init(&builder->first, (LINES_MAX + 1) * sizeof(u32));
	buf_init(&builder->array, LINE_COUNT_MAX * sizeof(struct exe_line));
	buf_init(&builder->strings, STRINGS_MAX);
	buf_init(&builder->offsets, LINE_COUNT_MAX * 2 * sizeof(u32));
	arena_init(&builder->arena, STRINGS_MAX);
	interner_init(&builder->names, &builder->arena, LINE_COUNT_MAX * 2);
	buf_add(&builder->first, &zero, sizeof(zero));
	buf_add(&builder->strings, "", 1);
}

void lines_done(struct lines_builder *builder)
{
	buf_done(&builder->first);
	buf_done(&builder->array);
	buf_done(&builder->strings);
	buf_done(&builder->offsets);
	interner_done(&builder->names);
	arena_done(&builder->arena);
}

/* Where a string lies, added if it is new; 0 is "", also for one that does not fit any more. */
static u32 add_string(struct lines_builder *builder, const char *text)
{
	size_t bytes = text ? strnlen(text, STRING_MAX) : 0;
	u32 offset = builder->strings.len, number;
	bool is_new = false;

	if (!bytes)
		return 0;
	number = interner_add(&builder->names, text, bytes, &is_new);
	if (number == INTERNER_NONE)
		return 0;
	if (is_new) {
		buf_add(&builder->offsets, &offset, sizeof(offset));
		buf_add(&builder->strings, text, bytes);
		buf_add(&builder->strings, "", 1);
	}
	if (buf_err(&builder->offsets))
		return 0;
	memcpy(&offset, builder->offsets.data + number * sizeof(offset), sizeof(offset));
	return offset;
}

void lines_add(struct lines_builder *builder, const char *function, const char *file, u32 line, u32 column,
	       u32 start_line)
{
	struct exe_line one = { add_string(builder, function), add_string(builder, file), line, column, start_line };

	buf_add(&builder->array, &one, sizeof(one));
	builder->line_count++;
}

void lines_next(struct lines_builder *builder)
{
	buf_add(&builder->first, &builder->line_count, sizeof(builder->line_count));
	builder->address_count++;
}

int lines_finish(struct lines_builder *builder, u32 truncated, struct exe_lines **ret_lines)
{
	const struct buf *parts[] = { &builder->first, &builder->array, &builder->strings };
	struct exe_lines head = { .magic = LINES_MAGIC, .bytes = sizeof(head), .address_count = builder->address_count,
				  .line_count = builder->line_count, .strings_bytes = builder->strings.len,
				  .truncated = truncated };
	struct buf out;
	int r = buf_err(&builder->offsets);

	for (int i = 0; i < 3; i++) {
		head.bytes += parts[i]->len;
		r = r ? r : buf_err(parts[i]);
	}
	buf_init(&out, head.bytes);
	buf_add(&out, &head, sizeof(head));
	for (int i = 0; i < 3; i++)
		buf_add(&out, parts[i]->data, parts[i]->len);
	r = r ? r : buf_err(&out);
	if (r < 0)
		buf_done(&out);
	else
		*ret_lines = (struct exe_lines *)out.data;
	return r;
}

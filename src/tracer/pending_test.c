// SPDX-License-Identifier: Apache-2.0
#include "tracer/pending.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "test.h"

/* A slice without frames, as long as that, behind the stack pointer of which the first step is cut short. */
static struct trace_record *make_slice(u32 bytes, u64 holes, u8 fill)
{
	struct trace_record *r = calloc(1, sizeof(*r) + sizeof(struct slice_regs) + bytes);

	*r = (struct trace_record){ .time_ns = 7, .tid = 3, .end = END_SLICE, .slice_bytes = bytes,
				    .slice_holes = holes };
	memset((u8 *)(r + 1) + sizeof(struct slice_regs), fill, bytes);
	return r;
}

static struct trace_record *make_rest(u32 bytes, u64 holes, u8 fill)
{
	struct trace_record *r = calloc(1, sizeof(*r) + bytes);

	*r = (struct trace_record){ .time_ns = 7, .tid = 3, .end = END_SLICE_SHORT, .flags = TRACE_REST,
				    .slice_bytes = bytes, .slice_holes = holes };
	memset(r + 1, fill, bytes);
	return r;
}

#define MAX ((size_t)16 << 20)

TEST(pending_slices_grow_with_their_holes)
{
	_cleanup_(freep) struct trace_record *slice = make_slice(SLICE_BYTES_MAX - 100, 1 << 13, 'a');
	_cleanup_(freep) struct trace_record *rest = make_rest(SLICE_BYTES_MAX, 1 | 1 << 13, 'b');
	_cleanup_(freep) struct trace_record *last = make_rest(SLICE_STEP_BYTES, 0, 'c');
	struct pending list[1];
	const u8 *bytes;

	EQ(pending_init(&list[0], slice, slice->slice_bytes), 0);
	EQ(pending_add_rest(list, 1, rest), SLICE_BYTES_MAX);
	EQ(pending_add_rest(list, 1, last), SLICE_STEP_BYTES);
	EQ(list[0].record->slice_bytes, 2 * SLICE_BYTES_MAX - 100 + SLICE_STEP_BYTES);
	EQ(list[0].record->slice_holes, 1ull << 13 | 1ull << 14 | 1ull << 27);
	bytes = (const u8 *)(list[0].record + 1) + sizeof(struct slice_regs);
	EQ(bytes[SLICE_BYTES_MAX - 101], 'a');
	EQ(bytes[SLICE_BYTES_MAX - 100], 'b');
	EQ(bytes[2 * SLICE_BYTES_MAX - 100], 'c');
	free(list[0].record);
}

TEST(pending_slices_that_were_cut_do_not_grow)
{
	_cleanup_(freep) struct trace_record *slice = make_slice(SLICE_BYTES_MAX, 0, 'a');
	_cleanup_(freep) struct trace_record *rest = make_rest(SLICE_STEP_BYTES, 0, 'b');
	struct pending list[1];

	EQ(pending_slice_bytes(slice, MAX / 2, MAX), SLICE_BYTES_MAX);
	EQ(pending_slice_bytes(slice, MAX / 16 * 13, MAX), SLICE_STEP_BYTES);
	EQ(pending_slice_bytes(slice, MAX, MAX), 0);
	EQ(pending_init(&list[0], slice, SLICE_STEP_BYTES), 0);
	EQ(pending_add_rest(list, 1, rest), 0);
	free(list[0].record);
}

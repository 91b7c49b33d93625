// SPDX-License-Identifier: Apache-2.0
#include "wire/views/perfetto.h"

#include "profile/profile.h"
#include "test.h"
#include "wire/views/folded.h"
#include "wire/pb.h"

#define BYTES_MAX ((size_t)256 << 20)

/* What is in a trace. */
struct seen {
	u32 packets, samples, names, frames, callstacks, mappings;
	u64 last_callstack, last_stack_frames[8];
	u32 last_stack_depth;
};

static void see_callstack(struct seen *seen, struct pb row)
{
	struct pb_field f;

	seen->callstacks++;
	seen->last_stack_depth = 0;
	while (pb_next(&row, &f))
		if (f.number == 2)
			seen->last_stack_frames[seen->last_stack_depth++] = f.value;
	EQ(row.err, 0);
}

static void see_rows(struct seen *seen, struct pb rows)
{
	struct pb_field f;

	while (pb_next(&rows, &f)) {
		seen->names += f.number == 5;
		seen->frames += f.number == 6;
		seen->mappings += f.number == 19;
		if (f.number == 7)
			see_callstack(seen, f.body);
	}
	EQ(rows.err, 0);
}

static void see_sample(struct seen *seen, struct pb sample)
{
	struct pb_field f;

	seen->samples++;
	while (pb_next(&sample, &f))
		if (f.number == 4)
			seen->last_callstack = f.value;
}

static struct seen look(const char *folded)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(buf_done) struct buf b;
	struct seen seen = { 0 };
	struct pb_field f, g;
	struct pb r;

	EQ(folded_decode(folded, strlen(folded), &p), 0);
	buf_init(&b, BYTES_MAX);
	EQ(perfetto_encode(p, &b), 0);
	r = pb_from(b.data, b.len);
	while (pb_next(&r, &f)) {
		struct pb packet = f.body;

		EQ(f.number, 1);
		seen.packets++;
		while (pb_next(&packet, &g)) {
			if (g.number == 12)
				see_rows(&seen, g.body);
			else if (g.number == 66)
				see_sample(&seen, g.body);
		}
	}
	EQ(r.err, 0);
	return seen;
}

TEST(perfetto_has_callstacks_from_the_root_on)
{
	struct seen seen = look("main;f 1\nmain;f;g 2\n");

	EQ(seen.samples, 3);
	EQ(seen.packets, 4 + 3);
	EQ(seen.names, 4);		/* [unknown], main, f, g */
	EQ(seen.frames, 4);
	EQ(seen.mappings, 1);
	EQ(seen.callstacks, 3);		/* the empty one too */
	EQ(seen.last_callstack, 3);
	EQ(seen.last_stack_depth, 3);
	EQ(seen.last_stack_frames[0], 2);
	EQ(seen.last_stack_frames[2], 4);
}

TEST(perfetto_lets_samples_stand_for_several_if_there_are_too_many)
{
	struct seen seen = look("a 30000000\nb 10000000\nc 1\n");

	EQ(seen.samples, 750000 + 250000 + 1);
}

TEST(perfetto_spreads_rows_over_packets)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, BYTES_MAX);
	for (int i = 0; i < 100000; i++)
		buf_addf(&text, "main;function_%d 1\n", i);
	buf_add(&text, "", 1);
	OK(look(text.data).packets > 100000 + 5);
}

// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "analysis/frames.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/interner.h"
#include "base/saturate.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "profile/table.h"
#include "wire/views/folded.h"

#define SCRATCH_BYTES_MAX ((size_t)4 << 30)

/*
 * Samples are counted by (process, stack) first, so that a stack's text is
 * made once, then by text, since different addresses have the same name.
 */
struct tally {
	struct interner keys;
	s64 *counts;
	u32 cap;
};

struct encoder {
	const struct profile *p;
	struct arena arena;
	struct interner processes;
	struct tally pairs, lines;
	struct frames frames;
	struct buf line;
	bool has_clocks;	/* counts become time */
};

struct pair {
	u32 process, stack;
};

static int encoder_init(struct encoder *e, const struct profile *profile)
{
	*e = (struct encoder){ .p = profile };
	arena_init(&e->arena, SCRATCH_BYTES_MAX);
	interner_init(&e->processes, &e->arena, PROFILE_TABLE_MAX);
	interner_init(&e->pairs.keys, &e->arena, PROFILE_TABLE_MAX);
	interner_init(&e->lines.keys, &e->arena, PROFILE_TABLE_MAX);
	buf_init(&e->line, SCRATCH_BYTES_MAX);
	return frames_init(&e->frames, profile, NULL);
}

static void encoder_done(struct encoder *e)
{
	interner_done(&e->processes);
	interner_done(&e->pairs.keys);
	interner_done(&e->lines.keys);
	free(e->pairs.counts);
	free(e->lines.counts);
	arena_done(&e->arena);
	frames_done(&e->frames);
	buf_done(&e->line);
}

static int tally_add(struct tally *tally, const void *key, size_t len, s64 count)
{
	bool is_new;
	u32 number = interner_add(&tally->keys, key, len, &is_new);
	int r;

	if (number == INTERNER_NONE)
		return -ENOMEM;
	if (is_new) {
		r = array_grow(&tally->counts, &tally->cap, number, PROFILE_TABLE_MAX, sizeof(*tally->counts));
		if (r < 0)
			return r;
		tally->counts[number] = 0;
	}
	tally->counts[number] = (s64)((u64)tally->counts[number] + (u64)count);
	return 0;
}

/* ---- Names ----------------------------------------------------------------- */

static void put_name(struct buf *b, struct str name)
{
	size_t start = b->len;

	/* Readers, ours too, take a line that starts so for a comment. */
	if (!start && name.len && name.at[0] == '#')
		buf_add(b, " ", 1);
	buf_add(b, name.at, name.len);
	for (size_t i = start; i < b->len; i++) {
		if (b->data[i] == ';')
			b->data[i] = ':';
		else if ((unsigned char)b->data[i] < 0x20 || b->data[i] == 0x7f)
			b->data[i] = ' ';
	}
}

/* Outermost first. */
static int put_stack(struct encoder *e, u32 stack)
{
	struct indices path = { 0 };
	int r = frames_path(&e->frames, FRAMES_NONE, stack, &path);

	for (u32 i = 0; i < path.count && r == 0; i++) {
		const struct frame *frame = &e->frames.at[path.at[i]];

		if (e->line.len)
			buf_add(&e->line, ";", 1);
		put_name(&e->line, frame->name);
		if (frame_is_kernel(frame))
			buf_add(&e->line, "_[k]", 4);
	}
	return r;
}

/* ---- Samples --------------------------------------------------------------- */

static struct str process_name(const struct profile *p, const struct profile_resource *resource,
			       const struct profile_sample *sample)
{
	struct str name = any_text(keyvalue_find(resource->attributes, resource->attribute_count,
						"process.executable.name"));

	return name.len ? name : any_text(profile_attribute_find(p, sample->attributes, "thread.name"));
}

static int count_sample(struct encoder *e, const struct profile_resource *resource,
			const struct profile_sample *sample, s64 factor)
{
	struct str name = process_name(e->p, resource, sample);
	struct pair pair = { interner_add(&e->processes, name.at, name.len, NULL), sample->stack };

	if (pair.process == INTERNER_NONE)
		return -ENOMEM;
	return tally_add(&e->pairs, &pair, sizeof(pair), saturating_multiply(profile_sample_value(sample), factor));
}

static const struct profile_set *first_set(const struct profile *p)
{
	for (u32 r = 0; r < p->resources.count; r++)
		for (u32 s = 0; s < p->resources.at[r].scope_count; s++)
			if (p->resources.at[r].scopes[s].set_count)
				return &p->resources.at[r].scopes[s].sets[0];
	return NULL;
}

static bool type_equal(const struct profile *p, struct profile_type a, struct profile_type b)
{
	return str_equal(p->strings.at[a.type], p->strings.at[b.type]) &&
	       str_equal(p->strings.at[a.unit], p->strings.at[b.unit]);
}

/* Ticks of clocks of different rates do not add up, but the time between them does, in nanoseconds. */
static bool has_clocks(const struct profile *p)
{
	const struct profile_set *first = first_set(p);
	bool differ = false;

	for (u32 r = 0; first && r < p->resources.count; r++)
		for (u32 s = 0; s < p->resources.at[r].scope_count; s++)
			for (u32 i = 0; i < p->resources.at[r].scopes[s].set_count; i++) {
				const struct profile_set *set = &p->resources.at[r].scopes[s].sets[i];

				if (!type_equal(p, set->sample_type, first->sample_type))
					continue;
				if (!profile_set_period_ns(p, set) ||
				    !str_is(p->strings.at[set->sample_type.unit], "count"))
					return false;
				differ |= profile_set_period_ns(p, set) != profile_set_period_ns(p, first);
			}
	return differ;
}

static int count_set(struct encoder *e, const struct profile_resource *resource, const struct profile_set *set)
{
	const struct profile_set *first = first_set(e->p);
	int r = 0;

	assert(first);	/* this one, or one before it */
	if (!type_equal(e->p, set->sample_type, first->sample_type))
		return 0;
	for (u32 i = 0; i < set->sample_count && r == 0; i++)
		r = count_sample(e, resource, &set->samples[i],
				 e->has_clocks ? profile_set_period_ns(e->p, set) : 1);
	return r;
}

static int count_resource(struct encoder *e, const struct profile_resource *resource)
{
	int r = 0;

	for (u32 s = 0; s < resource->scope_count; s++)
		for (u32 i = 0; i < resource->scopes[s].set_count && r == 0; i++)
			r = count_set(e, resource, &resource->scopes[s].sets[i]);
	return r;
}

/* Makes the text of each pair and counts again by it. */
static int join_lines(struct encoder *e)
{
	for (u32 i = 0; i < e->pairs.keys.count; i++) {
		const struct pair *pair = interner_get(&e->pairs.keys, i)->at;
		const struct interner_entry *process = interner_get(&e->processes, pair->process);
		int r;

		e->line.len = 0;
		put_name(&e->line, (struct str){ process->at, process->len });
		r = put_stack(e, pair->stack);
		if (!e->line.len)
			buf_addf(&e->line, "[unknown]");
		if (r == 0)
			r = buf_err(&e->line);
		if (r == 0)
			r = tally_add(&e->lines, e->line.data, e->line.len, e->pairs.counts[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int folded_encode(const struct profile *profile, struct buf *out)
{
	_cleanup_(encoder_done) struct encoder e;
	int r = encoder_init(&e, profile);

	e.has_clocks = has_clocks(profile);
	for (u32 i = 0; i < profile->resources.count && r == 0; i++)
		r = count_resource(&e, &profile->resources.at[i]);
	if (r == 0)
		r = join_lines(&e);
	if (r < 0)
		return r;
	for (u32 i = 0; i < e.lines.keys.count; i++) {
		const struct interner_entry *line = interner_get(&e.lines.keys, i);

		buf_add(out, line->at, line->len);
		buf_addf(out, " %lld\n", e.lines.counts[i]);
	}
	return buf_err(out);
}

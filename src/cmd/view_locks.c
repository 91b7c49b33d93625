// SPDX-License-Identifier: Apache-2.0
#include "cmd/view_locks.h"

#include "analysis/locks.h"
#include "base/buf.h"
#include "cmd/terminal.h"
#include "cmd/text.h"

#define PARTS_SHOWN 4	/* places, and holders, of each lock */
#define FRAMES_SHOWN 12

static double queue_of(const struct locks *l, const struct lock_row *row)
{
	return l->duration_ns ? (double)row->waited / (double)l->duration_ns : 0;
}

static struct str known(struct str name)
{
	return name.len ? name : STR("[unknown]");
}

/* ---- For people ---- */

struct frames_out {
	struct buf *out;
	u32 count;
};

static void add_frame(void *arg, struct str function)
{
	struct frames_out *f = arg;

	if (f->count++ >= FRAMES_SHOWN)
		return;
	buf_addf(f->out, "%s", f->count > 1 ? " < " : "");
	(void)text_add(f->out, known(function), 100);
}

static void add_stuck(const struct locks *l, const struct lock_edge *edge, struct buf *out)
{
	struct frames_out frames = { .out = out };

	buf_addf(out, "  ");
	(void)text_add(out, known(edge->thread), 40);
	buf_addf(out, " (%lld) waits for ", (long long)edge->tid);
	(void)text_add(out, edge->address, 40);
	buf_addf(out, ", which ");
	(void)text_add(out, known(l->edges[edge->next].thread), 40);
	buf_addf(out, " (%lld) has, in\n    ", (long long)edge->holder);
	locks_frames(l, edge->stack, add_frame, &frames);
	buf_addf(out, "%s\n", frames.count > FRAMES_SHOWN ? " < ..." : "");
}

static void add_ring(const struct terminal *terminal, const struct locks *l, u32 ring, struct buf *out)
{
	u32 first = 0, count = 0, at;

	while (l->edges[first].ring != ring)
		first++;
	at = first;
	do {
		count++;
		at = l->edges[at].next;
	} while (at != first);
	buf_addf(out, "%sDeadlock%s: %u threads of ", terminal_style(terminal, STYLE_RED),
		 terminal_style(terminal, STYLE_NONE), count);
	(void)text_add(out, known(l->edges[first].process), 60);
	buf_addf(out, " (%lld) wait for each other, and none can go on:\n", (long long)l->edges[first].pid);
	do {
		add_stuck(l, &l->edges[at], out);
		at = l->edges[at].next;
	} while (at != first);
	buf_addf(out, "\n");
}

static void add_part(const struct lock_row *row, const struct lock_part *part, struct buf *out)
{
	char value[TEXT_VALUE_MAX];

	buf_addf(out, "%10s %5.1f%%   %s ", text_value(value, part->waited, UNIT_NANOSECONDS),
		 row->waited ? 100.0 * (double)part->waited / (double)row->waited : 0,
		 part->is_holder ? "held by" : "waited for in");
	if (part->is_holder) {
		(void)text_add(out, known(part->thread), 40);
		buf_addf(out, " (%lld)%s", (long long)part->tid, part->function.len ? ", which lets go in " : "");
	}
	if (part->function.len || !part->is_holder)
		(void)text_add(out, known(part->function), 100);
	buf_addf(out, "\n");
}

static void add_row(const struct terminal *terminal, const struct locks *l, const struct lock_row *row, struct buf *out)
{
	const struct lock_part *parts = &l->parts[row->first_part];
	char waited[TEXT_VALUE_MAX], longest[TEXT_VALUE_MAX];

	text_value(waited, row->waited, UNIT_NANOSECONDS);
	text_value(longest, row->longest, UNIT_NANOSECONDS);
	buf_addf(out, "%10s %10s %7u %7.2f  %s%s ", waited, longest, row->waiters, queue_of(l, row),
		 terminal_style(terminal, STYLE_BOLD), lock_kind_text(row->kind));
	(void)text_add(out, row->address, 40);
	buf_addf(out, "%s of ", terminal_style(terminal, STYLE_NONE));
	(void)text_add(out, known(row->process), 60);
	buf_addf(out, " (%lld)\n", (long long)row->pid);
	for (u32 i = 0; i < row->site_count && i < PARTS_SHOWN; i++)
		add_part(row, &parts[i], out);
	for (u32 i = 0; i < row->holder_count && i < PARTS_SHOWN; i++)
		add_part(row, &parts[row->site_count + i], out);
}

void view_locks(const struct terminal *terminal, const struct locks *l, u32 limit, struct buf *out)
{
	char value[TEXT_VALUE_MAX];

	if (!l->type.len) {
		buf_addf(out, "There are no waits in this profile: record it with -e wakeup.\n");
		return;
	}
	for (u32 ring = 1; ring <= l->ring_count; ring++)
		add_ring(terminal, l, ring, out);
	buf_addf(out, "%s%10s %10s %7s %7s  lock%s\n", terminal_style(terminal, STYLE_BOLD), "waited", "longest",
		 "threads", "at once", terminal_style(terminal, STYLE_NONE));
	for (u32 i = 0; i < l->row_count && i < limit; i++)
		add_row(terminal, l, &l->rows[i], out);
	if (l->row_count > limit)
		buf_addf(out, "%39s%u more\n", "", l->row_count - limit);
	if (l->event_waited)
		buf_addf(out, "%10s waited for what nobody holds: conditions, semaphores, ends of threads\n",
			 text_value(value, l->event_waited, UNIT_NANOSECONDS));
}

/* ---- JSON ---- */

static void add_text_json(struct buf *out, const char *key, struct str value)
{
	buf_addf(out, "\"%s\": ", key);
	text_add_json(out, value);
}

static void add_part_json(const struct lock_part *part, bool is_first, struct buf *out)
{
	buf_addf(out, "%s{", is_first ? "" : ", ");
	add_text_json(out, "function", part->function);
	if (part->is_holder) {
		buf_addf(out, ", \"tid\": %lld, ", (long long)part->tid);
		add_text_json(out, "thread", part->thread);
	}
	buf_addf(out, ", \"waited\": %lld}", (long long)part->waited);
}

static void add_row_json(const struct locks *l, const struct lock_row *row, struct buf *out)
{
	const struct lock_part *parts = &l->parts[row->first_part];

	buf_addf(out, "{");
	add_text_json(out, "address", row->address);
	buf_addf(out, ", \"kind\": \"%s\", \"pid\": %lld, ", lock_kind_text(row->kind), (long long)row->pid);
	add_text_json(out, "process", row->process);
	buf_addf(out, ", \"waited\": %lld, \"longest\": %lld, \"waiters\": %u, \"queue\": %.3f, \"sites\": [",
		 (long long)row->waited, (long long)row->longest, row->waiters, queue_of(l, row));
	for (u32 i = 0; i < row->site_count; i++)
		add_part_json(&parts[i], !i, out);
	buf_addf(out, "], \"holders\": [");
	for (u32 i = 0; i < row->holder_count; i++)
		add_part_json(&parts[row->site_count + i], !i, out);
	buf_addf(out, "]}");
}

static void add_frame_json(void *arg, struct str function)
{
	struct frames_out *f = arg;

	buf_addf(f->out, "%s", f->count++ ? ", " : "");
	text_add_json(f->out, function);
}

static void add_ring_json(const struct locks *l, u32 ring, struct buf *out)
{
	bool is_first = true;

	buf_addf(out, "%s\n  {\"threads\": [", ring > 1 ? "," : "");
	for (u32 i = 0; i < l->edge_count; i++) {
		const struct lock_edge *edge = &l->edges[i];
		struct frames_out frames = { .out = out };

		if (edge->ring != ring)
			continue;
		buf_addf(out, "%s{", is_first ? "" : ", ");
		is_first = false;
		add_text_json(out, "thread", edge->thread);
		buf_addf(out, ", \"pid\": %lld, \"tid\": %lld, \"holder\": %lld, ", (long long)edge->pid,
			 (long long)edge->tid, (long long)edge->holder);
		add_text_json(out, "address", edge->address);
		buf_addf(out, ", \"stack\": [");
		locks_frames(l, edge->stack, add_frame_json, &frames);
		buf_addf(out, "]}");
	}
	buf_addf(out, "]}");
}

void view_locks_json(const struct locks *l, u32 limit, struct buf *out)
{
	buf_addf(out, "{");
	add_text_json(out, "type", l->type);
	buf_addf(out, ", \"duration_ns\": %llu, \"deadlocks\": [", (unsigned long long)l->duration_ns);
	for (u32 ring = 1; ring <= l->ring_count; ring++)
		add_ring_json(l, ring, out);
	buf_addf(out, "], \"locks\": [");
	for (u32 i = 0; i < l->row_count && i < limit; i++) {
		buf_addf(out, "%s\n  ", i ? "," : "");
		add_row_json(l, &l->rows[i], out);
	}
	buf_addf(out, "], \"events\": {\"waited\": %lld}}\n", (long long)l->event_waited);
}

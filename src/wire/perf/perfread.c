// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfread.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "wire/perf/perfread_build.h"
#include "wire/perf/perfread_events.h"
#include "wire/perf/perfread_gather.h"
#include "wire/perf/perfread_order.h"
#include "wire/perf/perfread_file.h"
#include "wire/perf/perfread_system.h"

struct decoder {
	struct perfread_file reader;
	struct perfread_events events;
	struct perfread_system system;
	struct perfread_order order;
	struct perfread_gather gather;
	struct perfread_about about;
	struct perfdata_clock_data clock;
};

static void decoder_done(struct decoder *d)
{
	perfread_gather_done(&d->gather);
	perfread_order_done(&d->order);
	perfread_system_done(&d->system);
	perfread_events_done(&d->events);
	perfread_file_done(&d->reader);
}

/* ---- What the file says of itself ------------------------------------------ */

/* Texts end up on terminals: control characters are none of theirs. */
static void read_text(struct cursor c, char ret_text[PERFREAD_HOST_TEXT])
{
	u32 bytes = (u32)cursor_uint(&c, 4);
	const u8 *at = cursor_skip(&c, bytes);

	if (!at)
		return;
	snprintf(ret_text, PERFREAD_HOST_TEXT, "%.*s", (int)strnlen((const char *)at, bytes), (const char *)at);
	for (char *p = ret_text; *p; p++)
		*p = (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p;
}

static void read_clock(struct cursor c, struct perfdata_clock_data *ret_clock)
{
	struct perfdata_clock_data clock = { .version = (u32)cursor_uint(&c, 4), .clock = (u32)cursor_uint(&c, 4) };

	clock.wall_ns = cursor_uint(&c, 8);
	clock.clock_ns = cursor_uint(&c, 8);
	if (!c.bad)
		*ret_clock = clock;
}

static int read_feature(struct decoder *d, u64 feature, struct cursor bytes)
{
	switch (feature) {
	case PERFDATA_HOSTNAME:
		read_text(bytes, d->about.host);
		return 0;
	case PERFDATA_OSRELEASE:
		read_text(bytes, d->about.release);
		return 0;
	case PERFDATA_ARCH:
		read_text(bytes, d->about.arch);
		return 0;
	case PERFDATA_CLOCK_DATA:
		read_clock(bytes, &d->clock);
		return 0;
	case PERFDATA_BUILD_ID:
		return perfread_system_build_ids(&d->system, bytes);
	case PERFDATA_EVENT_DESC:
		return perfread_events_describe(&d->events, bytes);
	}
	return 0;
}

/* In file mode it stands before and behind the records. */
static int read_header(struct decoder *d)
{
	struct cursor attr, ids;
	int r = 0;

	for (u32 i = 0; r == 0 && perfread_file_attr(&d->reader, i, &attr, &ids); i++)
		r = perfread_events_add(&d->events, attr, ids);
	for (u32 i = 0; r == 0 && i < PERFDATA_FEATURES; i++)
		if (perfread_file_feature(&d->reader, i, &attr))
			r = read_feature(d, i, attr);
	return r;
}

/* ---- Records --------------------------------------------------------------- */

/* An attr says how long it is; ids follow. */
static int read_attr(struct decoder *d, struct cursor body)
{
	struct cursor peek = body;
	u32 bytes;
	const u8 *attr;

	cursor_skip(&peek, 4);
	bytes = (u32)cursor_uint(&peek, 4);
	attr = cursor_skip(&body, bytes);
	return attr ? perfread_events_add(&d->events, cursor_of(attr, bytes), body) : 0;
}

static int read_build_id(struct decoder *d, const struct perfread_record *record)
{
	/* As in the feature, where each has its header before it. */
	return perfread_system_build_ids(&d->system, cursor_of(record->body.at - 8, cursor_left(&record->body) + 8));
}

/* Records that perf has added. They count at once. */
static int read_own(struct decoder *d, const struct perfread_record *record)
{
	struct cursor body = record->body;

	switch (record->type) {
	case PERFDATA_RECORD_ATTR:
		return read_attr(d, body);
	case PERFDATA_RECORD_EVENT_UPDATE:
		return perfread_events_update(&d->events, body);
	case PERFDATA_RECORD_BUILD_ID:
		return read_build_id(d, record);
	case PERFDATA_RECORD_FEATURE: {
		u64 feature = cursor_uint(&body, 8);

		return read_feature(d, feature, body);
	}
	}
	return 0;
}

static void count_lost(struct decoder *d, const struct perfread_record *record)
{
	struct cursor c = record->body;

	if (record->type == PERF_RECORD_LOST)
		cursor_skip(&c, 8);
	d->about.lost += cursor_uint(&c, 8);
}

/* A record of the kernel, at its turn. */
static int deliver(struct decoder *d, struct perfread_record record)
{
	struct perfread_sample sample;

	if (record.type == PERF_RECORD_SAMPLE) {
		if (perfread_sample_read(&d->events, record.body, &sample))
			return perfread_gather_sample(&d->gather, record.misc, &sample);
		d->about.not_understood++;
		return 0;
	}
	(void)perfread_trailer_take(&d->events, &record.body);
	if (record.type == PERF_RECORD_LOST || record.type == PERF_RECORD_LOST_SAMPLES)
		count_lost(d, &record);
	return perfread_system_record(&d->system, &record);
}

static u64 time_of(const struct decoder *d, struct perfread_record record)
{
	struct perfread_sample sample;

	if (record.type != PERF_RECORD_SAMPLE)
		return perfread_trailer_take(&d->events, &record.body).time_ns;
	return perfread_sample_read(&d->events, record.body, &sample) ? sample.time_ns : 0;
}

static int deliver_due(struct decoder *d, bool is_end)
{
	u64 place;
	int r = 0;

	while (r == 0 && perfread_order_take(&d->order, is_end, &place))
		r = deliver(d, perfread_file_record(&d->reader, place));
	return r;
}

static int read_record(struct decoder *d, const struct perfread_record *record)
{
	u64 time_ns;
	int r;

	if (record->type == PERFDATA_RECORD_FINISHED_ROUND) {
		r = deliver_due(d, false);
		perfread_order_round(&d->order);
		return r;
	}
	if (record->type >= PERFDATA_RECORD_ATTR)
		return read_own(d, record);
	time_ns = time_of(d, *record);
	/* Without a time it is as old as perf itself: what was there when it started. */
	if (!time_ns)
		return deliver(d, *record);
	r = perfread_order_add(&d->order, time_ns, record->place);
	return r == 0 && d->order.count >= PERFREAD_ORDER_MAX ? deliver_due(d, false) : r;
}

static int read_records(struct decoder *d)
{
	struct perfread_record record;
	int r;

	while ((r = perfread_file_next(&d->reader, &record)) > 0) {
		r = read_record(d, &record);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : deliver_due(d, true);
}

/* ---- All of it ------------------------------------------------------------- */

/* What must be added to the file's times to have the wall clock's. */
static s64 clock_offset(struct decoder *d)
{
	const struct perfread_event *event = d->events.count ? &d->events.at[0] : NULL;

	d->about.has_wall_clock = true;
	if (event && event->has_clock && event->clock == CLOCK_REALTIME)
		return 0;
	if (d->clock.wall_ns)
		return (s64)(d->clock.wall_ns - d->clock.clock_ns);
	d->about.has_wall_clock = false;
	return d->gather.options->written_unix_ns ? (s64)(d->gather.options->written_unix_ns - d->gather.last_ns) : 0;
}

bool perfread_is_perfdata(const void *at, size_t bytes)
{
	_cleanup_(perfread_file_done) struct perfread_file file;

	return perfread_file_init(&file, at, bytes) != -EBADMSG;
}

int perfread(const void *at, size_t bytes, const struct perfread_options *options,
		    struct perfread_about *ret_about, struct profile **ret_profile)
{
	_cleanup_(decoder_done) struct decoder d = { 0 };
	int r;

	perfread_events_init(&d.events);
	r = perfread_system_init(&d.system);
	perfread_gather_init(&d.gather, options, &d.system, &d.about);
	if (r == 0)
		r = perfread_file_init(&d.reader, at, bytes);
	if (r == 0)
		r = read_header(&d);
	if (r == 0)
		r = read_records(&d);
	if (r == 0)
		r = perfread_build(&d.gather, &d.events, clock_offset(&d), ret_profile);
	if (r < 0)
		return r;
	d.about.mappings_left_out = d.system.budget.dropped;
	d.about.trace_bytes = d.reader.trace_bytes;
	d.about.is_cut = d.reader.is_cut;
	*ret_about = d.about;
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "analysis/summary.h"
#include "base/cleanup.h"
#include "base/json_write.h"
#include "base/saturate.h"
#include "wire/format.h"
#include "wire/sample_types.h"
#include "wire/views/speedscope.h"

#define WEIGHTS_BYTES_MAX ((size_t)1 << 30)

struct encoder {
	struct frames frames;
	struct json_write samples, weights;	/* weights are kept aside until all samples are written */
	s64 total;
};

static int put_sample(void *context, struct indices path, s64 weight)
{
	struct encoder *e = context;

	json_write_open(&e->samples, '[');
	for (u32 i = 0; i < path.count; i++)
		json_write_u32(&e->samples, path.at[i]);
	json_write_close(&e->samples, ']');
	json_write_integer(&e->weights, weight);
	e->total = saturating_add(e->total, weight);
	return buf_err(e->samples.b);
}

static const char *unit_name(enum unit unit)
{
	return unit == UNIT_COUNT ? "none" : unit_text(unit);
}

static int put_profile(struct encoder *e, const struct profile *profile, const char *type)
{
	_cleanup_(summary_freep) struct summary *summary = NULL;
	_cleanup_(buf_done) struct buf weights;
	struct json_write *j = &e->samples;
	int r = summary_new(profile, &(struct summary_options){ .by = SUMMARY_PROCESS, .type = type,
							 .only_stacks = true }, &summary);

	buf_init(&weights, WEIGHTS_BYTES_MAX);
	if (r < 0)
		return r;
	e->weights = (struct json_write){ .b = &weights };
	e->total = 0;
	json_write_open(j, '{');
	json_write_key(j, "type");
	json_write_text(j, "sampled");
	json_write_key(j, "name");
	json_write_text(j, type);
	json_write_key(j, "unit");
	json_write_text(j, unit_name(summary->unit));
	json_write_key(j, "startValue");
	json_write_integer(j, 0);
	json_write_key(j, "samples");
	json_write_open(j, '[');
	r = frames_each(&e->frames, summary, put_sample, e);
	json_write_close(j, ']');
	json_write_key(j, "endValue");
	json_write_integer(j, e->total);
	json_write_key(j, "weights");
	json_write_open(j, '[');
	buf_add(j->b, weights.data, weights.len);
	json_write_close(j, ']');
	json_write_close(j, '}');
	return r < 0 ? r : buf_err(&weights);
}

static void put_frame(struct json_write *j, const struct frame *frame)
{
	json_write_open(j, '{');
	json_write_key(j, "name");
	json_write_string(j, frame->name.at, frame->name.len);
	/* Without a source file, the file that holds the code tells equal names apart. */
	if (frame->file.len || frame->exe.len) {
		struct str file = frame->file.len ? frame->file : frame->exe;

		json_write_key(j, "file");
		json_write_string(j, file.at, file.len);
	}
	if (frame->file.len && frame->line > 0) {
		json_write_key(j, "line");
		json_write_integer(j, frame->line);
	}
	json_write_close(j, '}');
}

static int encode(struct encoder *e, const struct sample_types *types)
{
	struct json_write *j = &e->samples;
	int r = 0;

	json_write_open(j, '{');
	json_write_key(j, "$schema");
	json_write_text(j, "https://www.speedscope.app/file-format-schema.json");
	json_write_key(j, "exporter");
	json_write_text(j, "wick " WICK_VERSION);
	json_write_key(j, "activeProfileIndex");
	json_write_integer(j, 0);
	json_write_key(j, "profiles");
	json_write_open(j, '[');
	for (u32 i = 0; i < types->count && r == 0; i++)
		r = put_profile(e, e->frames.profile, types->at[i]);
	json_write_close(j, ']');
	/* Last, when all processes are known. */
	json_write_key(j, "shared");
	json_write_open(j, '{');
	json_write_key(j, "frames");
	json_write_open(j, '[');
	for (u32 i = 0; i < e->frames.count; i++)
		put_frame(j, &e->frames.at[i]);
	json_write_close(j, ']');
	json_write_close(j, '}');
	json_write_close(j, '}');
	return r < 0 ? r : buf_err(j->b);
}

int speedscope_encode(const struct profile *profile, struct buf *out)
{
	_cleanup_(sample_types_done) struct sample_types types;
	struct encoder e = { .samples = { .b = out } };
	int r = sample_types_init(&types, profile);

	if (r < 0)
		return r;
	r = frames_init(&e.frames, profile, NULL);
	if (r == 0)
		r = encode(&e, &types);
	frames_done(&e.frames);
	return r;
}

const struct format_ops format_speedscope = {
	.name = "speedscope",
	.help = "speedscope's JSON, for www.speedscope.app",
	.content_type = "application/json",
	.suffixes = (const char *const[]){ ".speedscope.json", ".speedscope", NULL },
	.encode = speedscope_encode,
};

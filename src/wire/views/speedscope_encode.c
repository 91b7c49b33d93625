// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturate.h"
#include "profile/summary.h"
#include "wire/format.h"
#include "wire/views/frames.h"
#include "wire/jsontext.h"
#include "wire/sample_types.h"
#include "wire/views/speedscope.h"

#define WEIGHTS_BYTES_MAX ((size_t)1 << 30)

struct encoder {
	struct frames frames;
	struct jsontext samples, weights;	/* weights are kept aside until all samples are written */
	s64 total;
};

static int put_sample(void *context, struct indices path, s64 weight)
{
	struct encoder *e = context;

	jsontext_open(&e->samples, '[');
	for (u32 i = 0; i < path.count; i++)
		jsontext_u32(&e->samples, path.at[i]);
	jsontext_close(&e->samples, ']');
	jsontext_integer(&e->weights, weight);
	e->total = saturating_add(e->total, weight);
	return buf_err(e->samples.b);
}

static const char *unit_name(enum summary_unit unit)
{
	return unit == SUMMARY_NANOSECONDS ? "nanoseconds" : unit == SUMMARY_BYTES ? "bytes" : "none";
}

static int put_profile(struct encoder *e, const struct profile *profile, const char *type)
{
	_cleanup_(summary_freep) struct summary *summary = NULL;
	_cleanup_(buf_done) struct buf weights;
	struct jsontext *j = &e->samples;
	int r = summary_new(profile, &(struct summary_options){ .by = SUMMARY_PROCESS, .type = type }, &summary);

	buf_init(&weights, WEIGHTS_BYTES_MAX);
	if (r < 0)
		return r;
	e->weights = (struct jsontext){ .b = &weights };
	e->total = 0;
	jsontext_open(j, '{');
	jsontext_key(j, "type");
	jsontext_text(j, "sampled");
	jsontext_key(j, "name");
	jsontext_text(j, type);
	jsontext_key(j, "unit");
	jsontext_text(j, unit_name(summary->unit));
	jsontext_key(j, "startValue");
	jsontext_integer(j, 0);
	jsontext_key(j, "samples");
	jsontext_open(j, '[');
	r = frames_each(&e->frames, summary, put_sample, e);
	jsontext_close(j, ']');
	jsontext_key(j, "endValue");
	jsontext_integer(j, e->total);
	jsontext_key(j, "weights");
	jsontext_open(j, '[');
	buf_add(j->b, weights.data, weights.len);
	jsontext_close(j, ']');
	jsontext_close(j, '}');
	return r < 0 ? r : buf_err(&weights);
}

static void put_frame(struct jsontext *j, const struct frame *frame)
{
	jsontext_open(j, '{');
	jsontext_key(j, "name");
	jsontext_string(j, frame->name.at, frame->name.len);
	/* Without a source file, the file that holds the code tells equal names apart. */
	if (frame->file.len || frame->module.len) {
		struct str file = frame->file.len ? frame->file : frame->module;

		jsontext_key(j, "file");
		jsontext_string(j, file.at, file.len);
	}
	if (frame->file.len && frame->line > 0) {
		jsontext_key(j, "line");
		jsontext_integer(j, frame->line);
	}
	jsontext_close(j, '}');
}

static int encode(struct encoder *e, const struct sample_types *types)
{
	struct jsontext *j = &e->samples;
	int r = 0;

	jsontext_open(j, '{');
	jsontext_key(j, "$schema");
	jsontext_text(j, "https://www.speedscope.app/file-format-schema.json");
	jsontext_key(j, "exporter");
	jsontext_text(j, "wick " WICK_VERSION);
	jsontext_key(j, "activeProfileIndex");
	jsontext_integer(j, 0);
	jsontext_key(j, "profiles");
	jsontext_open(j, '[');
	for (u32 i = 0; i < types->count && r == 0; i++)
		r = put_profile(e, e->frames.profile, types->at[i]);
	jsontext_close(j, ']');
	/* Last, when all processes are known. */
	jsontext_key(j, "shared");
	jsontext_open(j, '{');
	jsontext_key(j, "frames");
	jsontext_open(j, '[');
	for (u32 i = 0; i < e->frames.count; i++)
		put_frame(j, &e->frames.at[i]);
	jsontext_close(j, ']');
	jsontext_close(j, '}');
	jsontext_close(j, '}');
	return r < 0 ? r : buf_err(j->b);
}

int speedscope_encode(const struct profile *profile, struct buf *out)
{
	_cleanup_(sample_types_done) struct sample_types types;
	struct encoder e = { .samples = { .b = out } };
	int r = sample_types_init(&types, profile);

	if (r < 0)
		return r;
	r = frames_init(&e.frames, profile);
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

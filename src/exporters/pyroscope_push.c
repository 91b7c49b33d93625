// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_push.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "exporters/pyroscope_send.h"
#include "kinds/kind.h"
#include "pipeline/batch.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "wire/compression.h"
#include "wire/pb.h"
#include "wire/pprof/pprof.h"

/* ---- Labels --------------------------------------------------------------------------------- */

static void put_label(struct buf *out, struct str name, const char *value, size_t bytes)
{
	size_t mark = pb_begin(out, 1);

	pb_put_string(out, 1, name.at, name.len);
	pb_put_string(out, 2, value, bytes);
	pb_end(out, mark);
}

/* What Pyroscope's own agents call profiles of such values, and its users look for. */
static struct str series_name(const struct profile *profile, const struct profile_set *set)
{
	struct str type = profile->strings.at[set->sample_type.type];
	struct str period_type = profile->strings.at[set->period_type.type];
	const struct kind *kind = kind_of(type, period_type);

	/* Those of a clock that nobody knows. */
	if (!kind && str_equal(type, STR("samples"))) {
		type = period_type;
		kind = kind_of(type, STR(""));
	}
	return kind && kind->pyroscope ? str_of(kind->pyroscope) : type;
}

static void put_labels(struct buf *out, const struct profile_resource *resource, struct str name)
{
	char number[24];

	put_label(out, STR("__name__"), name.at, name.len);
	for (u32 i = 0; i < resource->attribute_count; i++) {
		struct str key = resource->attributes[i].key;
		const struct any *value = &resource->attributes[i].value;

		if (str_equal(key, STR("service.name")))
			key = STR("service_name");
		if (value->kind == ANY_INT)
			put_label(out, key, number,
				  (size_t)snprintf(number, sizeof(number), "%lld", (long long)value->integer));
		else
			put_label(out, key, value->string.at, value->string.len);
	}
}

/* ---- Samples -------------------------------------------------------------------------------- */

static void put_id(struct buf *out)
{
	u8 id[16] = { 0 };
	char text[37];

	(void)!getrandom(id, sizeof(id), 0);	/* cannot fail for so few bytes */
	id[6] = (id[6] & 0x0f) | 0x40;
	id[8] = (id[8] & 0x3f) | 0x80;
	(void)snprintf(text, sizeof(text), "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		       id[0], id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11], id[12],
		       id[13], id[14], id[15]);
	pb_put_string(out, 2, text, 36);
}

/* The series alone, without what its labels say already: labels of samples would make series of their own. */
static int put_pprof(struct buf *out, struct profile *series)
{
	_cleanup_(buf_done) struct buf plain, packed;
	int r;

	buf_init(&plain, out->max);
	buf_init(&packed, out->max);
	series->resources.at[0].attribute_count = 0;
	r = pprof_encode(series, &plain);
	if (r == 0)
		r = compression_pack(COMPRESSION_GZIP, plain.data, plain.len, &packed);
	if (r == 0)
		pb_put_bytes(out, 1, packed.data, packed.len);
	return r;
}

static int put_series(struct buf *out, const struct profile *profile, u32 number)
{
	_cleanup_(profile_freep) struct profile *series = NULL;
	u8 picked[(PYROSCOPE_SERIES_MAX + 7) / 8] = { 0 };
	const struct profile_resource *resource;
	size_t mark, sample;
	int r;

	picked[number / 8] |= (u8)(1 << number % 8);
	r = pyroscope_pick(profile, picked, &series);
	if (r < 0)
		return r;
	resource = &series->resources.at[0];
	mark = pb_begin(out, 1);
	put_labels(out, resource, series_name(series, pyroscope_first_series(series)));
	sample = pb_begin(out, 2);
	r = put_pprof(out, series);
	put_id(out);
	pb_end(out, sample);
	pb_end(out, mark);
	return r;
}

int pyroscope_push_encode(const struct profile *profile, struct buf *out)
{
	u32 count = pyroscope_series_count(profile);
	int r = count > PYROSCOPE_SERIES_MAX ? -E2BIG : 0;

	for (u32 i = 0; i < count && r == 0; i++)
		r = put_series(out, profile, i);
	return r < 0 ? r : buf_err(out);
}

int pyroscope_push_encode_batch(struct batch *batch, struct buf *out)
{
	const struct profile *profile;
	int r = batch_profile(batch, &profile);

	return r < 0 ? r : pyroscope_push_encode(profile, out);
}

// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_push.h"

#include <errno.h>

#include "exporters/pyroscope_shape.h"
#include "profile/any.h"
#include "test.h"
#include "wire/compression.h"
#include "wire/pb.h"
#include "wire/pprof/pprof.h"

static void add(struct profile *p, const char *service, const char *type, const char *unit, const char *period,
		s64 value)
{
	const struct keyvalue attributes[] = {
		{ STR("service.name"), { .kind = ANY_STRING, .string = { service, (u32)strlen(service) } } },
		{ STR("shard"), { .kind = ANY_INT, .integer = -7 } },
	};
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, attributes, 2)));
	struct profile_sample *sample = profile_add_sample(p, set);

	set->sample_type = (struct profile_type){ profile_add_cstring(p, type), profile_add_cstring(p, unit) };
	set->period_type = (struct profile_type){ profile_add_cstring(p, period), profile_add_cstring(p, unit) };
	set->period = 10;
	sample->values = profile_copy(p, &value, sizeof(value));
	sample->value_count = 1;
}

/* The labels of the next series as text, and its pprof. */
static const char *next(struct pb *request, struct profile **ret_profile)
{
	struct pb_field f, g, h;
	struct buf out, plain;

	buf_init(&out, 10000);
	buf_init(&plain, 100000);
	OK(pb_next(request, &f));
	EQ(f.number, 1);
	while (pb_next(&f.body, &g)) {
		while (pb_next(&g.body, &h)) {
			if (g.number == 1)
				buf_addf(&out, "%.*s%s", (int)pb_left(&h.body), (const char *)h.body.at,
					 h.number == 1 ? "=" : " ");
			else if (h.number == 1)
				EQ(compression_unpack(COMPRESSION_GZIP, h.body.at, pb_left(&h.body), &plain), 0);
			else
				EQ(pb_left(&h.body), 36);
		}
	}
	EQ(pprof_decode(plain.data, plain.len, ret_profile), 0);
	buf_done(&plain);
	buf_add(&out, "", 1);
	return test_keep(out.data);
}

TEST(pyroscope_push_has_a_pprof_for_each_series)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(), *cpu = NULL, *heap = NULL, *wall = NULL;
	_cleanup_(buf_done) struct buf out;
	struct pb request;

	buf_init(&out, 1u << 20);
	add(p, "shop", "samples", "count", "cpu", 3);
	add(p, "bank", "inuse_space", "bytes", "space", 4096);
	add(p, "bank", "wall", "nanoseconds", "wall", 5);
	EQ(pyroscope_push_encode(p, &out), 0);
	request = pb_from(out.data, out.len);
	STREQ(next(&request, &cpu), "__name__=process_cpu service_name=shop shard=-7 ");
	STREQ(next(&request, &heap), "__name__=memory service_name=bank shard=-7 ");
	STREQ(next(&request, &wall), "__name__=wall service_name=bank shard=-7 ");
	EQ(pb_left(&request), 0);
	EQ(cpu->resources.at[0].attribute_count, 0);
	EQ(heap->resources.at[0].scopes[0].sets[0].samples[0].values[0], 4096);
	OK(str_equal(wall->strings.at[wall->resources.at[0].scopes[0].sets[0].sample_type.type], STR("wall")));
}

TEST(pyroscope_push_survives_no_memory)
{
	for (long fail = 0, asked = 1; fail < asked; fail++) {
		_cleanup_(profile_freep) struct profile *p = profile_new();
		_cleanup_(buf_done) struct buf out;
		int r;

		add(p, "shop", "samples", "count", "cpu", 3);
		buf_init(&out, 1u << 20);
		test_alloc_fail(fail);
		r = pyroscope_push_encode(p, &out);
		asked = test_alloc_reset();
		OK(r == 0 || r == -ENOMEM);
	}
}

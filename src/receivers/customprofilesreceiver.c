// SPDX-License-Identifier: Apache-2.0
/* customprofilesreceiver: a small made-up profile now and then, to try a pipeline without privileges. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "kinds/kind.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "pipeline/ticker.h"
#include "profile/profile.h"
#include "receivers/receipts.h"

struct custom_options {
	s64 report_interval_ns;
	const char *foo;
};

static const struct config_field custom_fields[] = {
	{ "report_interval", CONFIG_DURATION, FIELD(struct custom_options, report_interval_ns),
	  .min = 1e6, .max = 0x1p62,
	  .help = "how often a profile is sent" },
	{ "foo", CONFIG_TEXT, FIELD(struct custom_options, foo), .help = "no effect" },
	{ 0 },
};

static const struct custom_options custom_defaults = { .report_interval_ns = 5000000000, .foo = "" };

struct custom {
	const struct component_setup *setup;
	const struct custom_options *options;
	struct receipts receipts;
	struct ticker *ticker;
};

static struct str text_of(const char *text)
{
	return (struct str){ text, (u32)strlen(text) };
}

static struct any string_value(const char *text)
{
	return (struct any){ .kind = ANY_STRING, .string = text_of(text) };
}

/* A frame of a program that does not exist. */
static u32 add_frame(struct profile *p, u32 mapping, const char *name, s64 number, u64 address)
{
	struct profile_function function = {
		.name = profile_add_cstring(p, name),
		.filename = profile_add_cstring(p, "example.c"),
	};
	struct profile_line line = { .function = profile_add_function(p, &function), .line = number };
	u32 type = profile_add_attribute_string(p, "profile.frame.type", "native");
	struct profile_location location = {
		.mapping = mapping,
		.address = address,
		.line_count = 1,
		.lines = &line,
		.attributes = { &type, 1 },
	};

	return profile_add_location(p, &location);
}

static u32 add_stack(struct profile *p)
{
	struct profile_mapping file = {
		.start_va = 0x400000,
		.limit_va = 0x401000,
		.filename = profile_add_cstring(p, "example"),
	};
	u32 mapping = profile_add_mapping(p, &file);
	u32 locations[] = {
		add_frame(p, mapping, "compute", 12, 0x400120),
		add_frame(p, mapping, "handle_request", 34, 0x400340),
		add_frame(p, mapping, "main", 56, 0x400560),
	};

	return profile_add_stack(p, locations, 3);
}

static void add_sample(struct profile *p, struct profile_set *set, u64 now_unix_ns)
{
	struct profile_sample *sample = profile_add_sample(p, set);
	u32 attributes[] = {
		profile_add_attribute_string(p, "thread.name", "example"),
		profile_add_attribute_int(p, "thread.id", 1),
	};

	if (!sample)
		return;
	sample->stack = add_stack(p);
	sample->attributes = profile_copy_indices(p, attributes, 2);
	sample->times_unix_ns = profile_copy(p, &now_unix_ns, sizeof(now_unix_ns));
	sample->time_count = 1;
}

static struct profile *make_profile(s64 interval_ns, u64 now_unix_ns)
{
	static const char container[] = "7769636b2d6578616d706c652d636f6e7461696e65722d303030303030303031";
	const struct keyvalue attributes[] = {
		{ STR("container.id"), string_value(container) },
		{ STR("process.executable.name"), string_value("example") },
	};
	struct profile *p = profile_new();
	struct profile_set *set;

	if (!p)
		return NULL;
	set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, attributes, 2)));
	if (set) {
		profile_set_describe(p, set, kind_list[KIND_CPU], 50000000);
		set->time_unix_ns = now_unix_ns - (u64)interval_ns;
		set->duration_ns = (u64)interval_ns;
		add_sample(p, set, now_unix_ns - 1);
	}
	if (profile_err(p) == 0)
		return p;
	profile_free(p);
	return NULL;
}

static void custom_tick(void *self)
{
	struct custom *c = self;
	struct profile *profile = make_profile(c->options->report_interval_ns, clock_ns(CLOCK_REALTIME));
	struct batch *batch = profile ? batch_from_profile(profile) : NULL;

	if (batch) {
		(void)receipts_send(&c->receipts, batch);	/* counted there */
		return;
	}
	profile_free(profile);
	log_warn(c->setup->id, "out of memory: a profile is left out");
}

static int custom_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct custom *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->setup = setup;
	c->options = options;
	receipts_init(&c->receipts, service_metrics(setup->service), setup, "");
	*ret_self = c;
	return 0;
}

static int custom_start(void *self, struct buf *why)
{
	struct custom *c = self;
	int r = ticker_start(&(struct ticker_options){ .name = "wick: example", .tick = custom_tick, .arg = c,
						       .delay_ns = c->options->report_interval_ns,
						       .interval_ns = c->options->report_interval_ns }, &c->ticker);

	if (r < 0)
		buf_addf(why, "cannot start a thread: %s", strerror(-r));
	else
		component_report(c->setup->status, HEALTH_OK, "");
	return r;
}

static void custom_stop(void *self, u64 deadline_ns)
{
	struct custom *c = self;

	ticker_stop(TAKE(c->ticker));
}

static void custom_free(void *self)
{
	free(self);
}

const struct component_ops receiver_customprofilesreceiver = {
	.type = "customprofilesreceiver",
	.help = "a small made-up profile now and then, to try a pipeline",
	.fields = custom_fields,
	.options_bytes = sizeof(struct custom_options),
	.defaults = &custom_defaults,
	.create = custom_create,
	.start = custom_start,
	.stop = custom_stop,
	.free = custom_free,
};

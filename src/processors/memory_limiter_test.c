// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/service.h"
#include "profile/dump_test.h"
#include "test.h"

extern const struct component_ops processor_memory_limiter;

static u32 passed;

static int count(void *self, struct batch *batch)
{
	passed++;
	batch_unref(batch);
	return 0;
}

static const struct consumer consumer = { count, NULL };
static const struct consumers next = { &consumer, 1 };

/* Options as they would be written, decoded by the table. */
static void decode(struct config_entry *entries, u32 entry_count, void *options, struct config_errors *errors)
{
	const struct component_ops *ops = &processor_memory_limiter;
	struct config_node node = { .kind = NODE_MAP, .count = entry_count, .map = entries };
	static struct arena arena;

	arena_init(&arena, 1 << 20);
	memcpy(options, ops->defaults, ops->options_bytes);
	if (config_decode(&arena, &node, ops->fields, "p", options, errors) == 0)
		ops->check(options, (struct config_place){ "", 0, 0 }, "p", errors);
}

static struct config_node number(s64 value, const char *text)
{
	return (struct config_node){ .kind = NODE_INT, .integer = value, .text = text };
}

static int consume_under(s64 limit_mib, const char *text)
{
	struct config_node limit = number(limit_mib, text), interval = number(1, "1");
	struct config_entry entries[] = { { .key = "limit_mib", .value = &limit },
					  { .key = "check_interval", .value = &interval } };
	struct metrics *metrics = metrics_new();
	struct component_setup setup = { .id = "memory_limiter", .next = &next,
					 .service = service_new(&(struct service_host){ .metrics = metrics }) };
	struct config_errors errors;
	char options[512];
	void *self;
	int r;

	log_setup(&(struct log_options){ .level = LOG_LEVELS, .fd = -1 });
	config_errors_init(&errors);
	decode(entries, 2, options, &errors);
	EQ(errors.error_count, 0);
	EQ(processor_memory_limiter.create(&setup, options, &self, NULL), 0);
	r = processor_memory_limiter.consume(self, batch_from_profile(profile_random(1, 0)));
	processor_memory_limiter.free(self);
	service_free(setup.service);
	metrics_free(metrics);
	return r;
}

TEST(memory_limiter_refuses_above_its_limit)
{
	char *block = malloc(8 << 20);

	OK(block);
	memset(block, 1, 8 << 20);
	EQ(consume_under(4, "4"), -EAGAIN);
	EQ(passed, 0);
	EQ(consume_under(1 << 20, "1048576"), 0);
	EQ(passed, 1);
	OK(block[5] == 1);
	free(block);
}

TEST(memory_limiter_checks_its_options)
{
	struct config_node one = number(1, "1"), ten = number(10, "10"), zero = number(0, "0");
	struct config_entry cases[][3] = {
		{ { .key = "limit_mib", .value = &ten } },
		{ { .key = "check_interval", .value = &zero }, { .key = "limit_mib", .value = &ten } },
		{ { .key = "check_interval", .value = &one } },
		{ { .key = "check_interval", .value = &one }, { .key = "limit_mib", .value = &one },
		  { .key = "spike_limit_mib", .value = &ten } },
		{ { .key = "check_interval", .value = &one }, { .key = "limit_percentage", .value = &one },
		  { .key = "spike_limit_percentage", .value = &one } },
	};
	static const u32 counts[] = { 1, 2, 1, 3, 3 };
	static const char *const want[] = {
		"check_interval", "check_interval", "p: 'limit_mib' or 'limit_percentage' must be greater than zero",
		"p: 'spike_limit_mib' must be smaller than 'limit_mib'",
		"p: 'spike_limit_percentage' must be smaller than 'limit_percentage'",
	};

	for (int i = 0; i < 5; i++) {
		struct config_errors errors;
		char options[512];

		config_errors_init(&errors);
		decode(cases[i], counts[i], options, &errors);
		EQ(errors.error_count, 1);
		if (!strstr(errors.errors[0], want[i]))
			FAIL("case %d: %s", i, errors.errors[0]);
		config_errors_done(&errors);
	}
}

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/fakes_test.h"

#include <errno.h>
#include <stdarg.h>

#include "base/buf.h"
#include "pipeline/batch.h"
#include "pipeline/service.h"
#include "test.h"

struct options {
	bool fail_create, fail_start;
	s64 result;
	const char *uses;
};

struct fake {
	const struct component_setup *setup;
	const struct options *options;
};

static char happened[1 << 16];
static size_t happened_len;
static struct fake *receivers[32];

__attribute__((format(printf, 1, 2)))
static void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (happened_len)
		happened_len += (size_t)snprintf(happened + happened_len, sizeof(happened) - happened_len, ", ");
	happened_len += (size_t)vsnprintf(happened + happened_len, sizeof(happened) - happened_len, format, args);
	va_end(args);
	OK(happened_len < sizeof(happened));
}

const char *fakes_log(void)
{
	static char last[sizeof(happened)];

	memcpy(last, happened, happened_len + 1);
	happened_len = 0;
	happened[0] = '\0';
	return last;
}

static int fake_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	const struct options *o = options;
	struct fake *fake;
	void *other;

	if (o->fail_create) {
		buf_addf(why, "it does not want to");
		return -EPERM;
	}
	if (o->uses)
		OK(service_extension(setup->service, o->uses, &other));
	fake = calloc(1, sizeof(*fake));
	if (!fake)
		return -ENOMEM;
	*fake = (struct fake){ setup, options };
	note("create %s%s", setup->id, setup->next_reads_profiles ? " before a reader" : "");
	for (int i = 0; setup->kind == COMPONENT_RECEIVER && i < 32; i++) {
		if (!receivers[i]) {
			receivers[i] = fake;
			break;
		}
	}
	*ret_self = fake;
	return 0;
}

static int fake_start(void *self, struct buf *why)
{
	struct fake *fake = self;

	if (fake->options->fail_start)
		return -EADDRINUSE;
	note("start %s", fake->setup->id);
	return 0;
}

static int fake_consume(void *self, struct batch *batch)
{
	struct fake *fake = self;

	note("%s", fake->setup->id);
	if (!fake->options->result && fake->setup->next)
		return consumers_send(fake->setup->next, batch);
	batch_unref(batch);
	return (int)fake->options->result;
}

static void fake_stop(void *self, u64 deadline_ns)
{
	struct fake *fake = self;

	note("stop %s", fake->setup->id);
}

static void fake_free(void *self)
{
	struct fake *fake = self;

	if (!fake)
		return;
	note("free %s", fake->setup->id);
	for (int i = 0; i < 32; i++) {
		if (receivers[i] == fake)
			receivers[i] = NULL;
	}
	free(fake);
}

int fakes_send(const char *receiver, struct batch *batch)
{
	for (int i = 0; i < 32; i++) {
		if (receivers[i] && !strcmp(receivers[i]->setup->id, receiver))
			return consumers_send(receivers[i]->setup->next, batch);
	}
	FAIL("there is no receiver %s", receiver);
}

static const struct config_field fields[] = {
	{ "fail_create", CONFIG_BOOL, FIELD(struct options, fail_create), .help = "" },
	{ "fail_start", CONFIG_BOOL, FIELD(struct options, fail_start), .help = "" },
	{ "result", CONFIG_INTEGER, FIELD(struct options, result), .help = "" },
	{ "uses", CONFIG_TEXT, FIELD(struct options, uses), .help = "" },
	{ 0 },
};

static void fake_check(const void *options, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct options *o = options;

	if (o->result > 0)
		config_error(errors, place, path, "results are not positive");
}

static const char *const aliases[] = { "oldfake", NULL };
#define FAKE(name, ...) { \
	.type = name, .aliases = aliases, .help = "", .fields = fields, .options_bytes = sizeof(struct options), \
	.check = fake_check, .create = fake_create, .start = fake_start, .consume = fake_consume, .stop = fake_stop, \
	.free = fake_free, __VA_ARGS__ }

struct storage_ops {
	int unused;
};
static const struct storage_ops storage_ops;
static const struct component_ops fake = FAKE("fake"), alone = FAKE("alone", .alone = true),
				  storage = FAKE("storage", .storage = &storage_ops);
static const struct component_ops reader = FAKE("reader", .looks = LOOKS_AT_PROFILE),
				  passer = FAKE("passer", .looks = LOOKS_AT_NOTHING);
static const struct component_ops *const processors[] = { &fake, &reader, &passer, NULL };
static const struct component_ops *const some[] = { &fake, NULL }, *const exporters[] = { &fake, &alone, NULL },
				  *const extensions[] = { &fake, &storage, NULL };

const struct component_registry fakes = {
	.of_kind = { some, processors, exporters, some, extensions },
};

struct config *fakes_config(const char *yaml, struct config_errors *errors)
{
	struct config *config = NULL;
	struct buf source;
	const char *text;

	config_errors_init(errors);
	buf_init(&source, 1 << 20);
	buf_addf(&source, "yaml:%s", yaml);
	text = source.data;
	(void)config_load(&(struct config_request){ .sources = &text, .source_count = 1 }, &config, errors);
	buf_done(&source);
	return config;
}

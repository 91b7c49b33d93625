// SPDX-License-Identifier: Apache-2.0
#include "pipeline/try_test.h"

#include <errno.h>
#include <pthread.h>

#include "base/buf.h"
#include "base/lock.h"
#include "base/metrics.h"
#include "config/config.h"
#include "pipeline/batch.h"
#include "pipeline/service.h"
#include "profile/any.h"
#include "profile/attrs.h"
#include "test.h"

static struct batch *last;
static unsigned int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int sink_consume(void *self, struct batch *batch)
{
	LOCKED(&lock);
	batch_unref(last);
	last = batch;
	count++;
	return 0;
}

static const struct consumer sink = { sink_consume, NULL };
static const struct consumers next = { &sink, 1 };

static int decode(struct try *try)
{
	const struct component_ops *ops = try->ops;
	struct config_place place = { "test", 1, 1 };

	try->options = calloc(1, ops->options_bytes + 1);
	if (ops->defaults)
		memcpy(try->options, ops->defaults, ops->options_bytes);
	(void)config_decode(&try->config->arena, config_get(try->config->root, "p"), ops->fields, "p", try->options,
			    &try->errors);
	if (!try->errors.error_count && ops->check)
		ops->check(try->options, place, "p", &try->errors);
	if (!try->errors.error_count)
		return 0;
	snprintf(try->why, sizeof(try->why), "%s", try->errors.errors[0]);
	return -EINVAL;
}

int try_new(struct try *try, const struct component_ops *ops, const char *yaml)
{
	char source[8192];
	const char *sources[] = { source };
	_cleanup_(buf_done) struct buf why;
	int r;

	buf_init(&why, sizeof(try->why));
	*try = (struct try){ .ops = ops };
	config_errors_init(&try->errors);
	snprintf(source, sizeof(source), "yaml:p: %s", yaml);
	r = config_load(&(struct config_request){ .sources = sources, .source_count = 1 }, &try->config, &try->errors);
	if (r < 0)
		FAIL("%s: %s", yaml, try->errors.errors[0]);
	try->metrics = metrics_new();
	try->service = service_new(&(struct service_host){ .metrics = try->metrics });
	r = decode(try);
	instance_init(&try->instance, ops->sends ? COMPONENT_EXPORTER : COMPONENT_PROCESSOR, "p", "", ops,
		      try->options);
	try->instance.targets = next;
	if (r == 0)
		r = instance_make(&try->instance, try->service, try->metrics, &why);
	if (r == 0)
		r = instance_start(&try->instance, &why);
	/* Behind "processors::p: ". */
	if (why.len)
		snprintf(try->why, sizeof(try->why), "%s", strstr(why.data, "::p: ") + 5);
	return r;
}

void try_free(struct try *try)
{
	instance_stop(&try->instance, UINT64_MAX);
	instance_done(&try->instance);
	service_free(try->service);
	metrics_free(try->metrics);
	config_errors_done(&try->errors);
	config_free(try->config);
	free(try->options);
	batch_unref(last);
	last = NULL;
	count = 0;
}

int try_send(struct try *try, struct profile *profile)
{
	struct consumer consumer = instance_consumer(&try->instance);

	return consumer.consume(consumer.self, batch_from_profile(profile));
}

const struct profile *try_result(void)
{
	const struct profile *profile = NULL;

	if (last)
		EQ(batch_profile(last, &profile), 0);
	return profile;
}

unsigned int try_count(void)
{
	LOCKED(&lock);
	return count;
}

long long try_counter(struct try *try, const char *name)
{
	const struct metric_label label = { "processor", "p" };

	return metric_value(metrics_get(try->metrics, METRIC_COUNTER, name, "", &label, 1));
}

static void show_attrs(struct attrs attrs, struct buf *out)
{
	for (u32 i = 0; i < attrs_count(&attrs); i++) {
		struct keyvalue kv = attrs_get(&attrs, i);

		buf_addf(out, "%s%.*s=", i ? " " : "", (int)kv.key.len, kv.key.at);
		if (kv.value.kind == ANY_STRING)
			buf_add(out, kv.value.string.at, kv.value.string.len);
		else
			any_put_json(out, &kv.value);
	}
}

static void show_set(struct profile *p, struct profile_set *set, struct buf *out)
{
	struct str type = p->strings.at[set->sample_type.type];

	buf_addf(out, "%.*s %lld ", (int)type.len, type.at, (long long)set->period);
	show_attrs(attrs_of_set(p, set), out);
	for (u32 i = 0; i < set->sample_count; i++) {
		buf_addf(out, "%s%lld ", i ? ", " : ": ", (long long)profile_sample_value(&set->samples[i]));
		show_attrs(attrs_of_sample(p, &set->samples[i]), out);
	}
}

const char *try_shown(const struct profile *profile)
{
	static char text[4096];
	struct profile *p = (struct profile *)profile;	/* only looked at */
	struct buf out;

	if (!profile)
		return "nothing";
	buf_init(&out, sizeof(text));
	buf_addf(&out, "%s", "");
	for (u32 r = 0; r < p->resources.count; r++)
		for (u32 s = 0; s < p->resources.at[r].scope_count; s++)
			for (u32 i = 0; i < p->resources.at[r].scopes[s].set_count; i++) {
				buf_addf(&out, "%s", out.len ? "; " : "");
				show_attrs(attrs_of_resource(p, &p->resources.at[r]), &out);
				buf_addf(&out, "|");
				show_set(p, &p->resources.at[r].scopes[s].sets[i], &out);
			}
	buf_addf(&out, "%s", "");
	snprintf(text, sizeof(text), "%s", out.data);
	buf_done(&out);
	EQ(profile_check(profile), 0);
	return text;
}

static void add_resource(struct profile *p, const char *host)
{
	struct keyvalue kv = { STR("host"), { ANY_STRING, 0, .string = { host, (u32)strlen(host) } } };
	struct profile_resource *resource = profile_add_resource(p, &kv, 1);
	struct profile_scope *scope = profile_add_scope(p, resource);
	struct profile_set *set = profile_add_set(p, scope);

	scope->name = STR("wick");
	set->sample_type.type = profile_add_cstring(p, "cpu");
	set->period = 50;
	for (s64 i = 1; i <= 2; i++) {
		struct profile_sample *sample = profile_add_sample(p, set);
		u32 attribute = profile_add_attribute_string(p, "thread", i == 1 ? "t1" : "t2");

		sample->attributes = profile_copy_indices(p, &attribute, 1);
		sample->values = profile_copy(p, &i, sizeof(i));
		sample->value_count = 1;
	}
}

struct profile *try_profile(void)
{
	struct profile *profile = profile_new();

	add_resource(profile, "a");
	add_resource(profile, "b");
	return profile;
}

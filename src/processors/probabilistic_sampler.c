// SPDX-License-Identifier: Apache-2.0
/*
 * probabilistic_sampler: keeps so many percent of samples. (The reference has
 * none for profiles; what it does with spans and log records is followed.)
 *
 *  - A sample with a link to a trace is kept or not by its trace id, as the reference decides about the spans
 *    of that trace, so that both are there or neither is:
 *	hash_seed	FNV-1a of seed and trace id, 14 bits of it
 *	proportional	the last 56 bits of the trace id
 *  - One without, if from_attribute names an attribute that it has, by the hash of that value;
 *    any other by chance.
 *  - sampling_priority names an attribute that gives a sample's own percentage.
 *  - Values are not scaled up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/metrics.h"
#include "ottl/value.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "processors/edit.h"
#include "profile/prune.h"
#include "profile/table.h"

#define BUCKETS 0x4000u
#define TEXT_MAX 65536

enum mode { MODE_HASH_SEED, MODE_PROPORTIONAL };
static const char *const modes[] = { "hash_seed", "proportional", NULL };
enum source { SOURCE_TRACE, SOURCE_RECORD };
static const char *const sources[] = { "traceID", "record", NULL };

struct options {
	double percentage;
	s64 hash_seed;
	int mode, source;
	const char *from_attribute, *sampling_priority;
};

struct sampler {
	const struct component_setup *setup;
	const struct options *options;
	struct metric *dropped, *kept;
};

/* ---- Deciding ------------------------------------------------------------------------------ */

static u32 fnv(u32 hash, const void *at, size_t len)
{
	for (const u8 *byte = at, *end = byte + len; byte < end; byte++)
		hash = (hash ^ *byte) * 16777619u;
	return hash;
}

static bool hash_keeps(const struct sampler *s, const void *at, size_t len, double percentage)
{
	u32 seed = (u32)s->options->hash_seed;
	u8 bytes[] = { (u8)seed, (u8)(seed >> 8), (u8)(seed >> 16), (u8)(seed >> 24) };
	u32 hash = fnv(fnv(2166136261u, bytes, sizeof(bytes)), at, len);

	return (hash & (BUCKETS - 1)) < (u32)(percentage * BUCKETS / 100);
}

static bool trace_keeps(const struct sampler *s, const u8 trace_id[16], double percentage)
{
	u64 randomness = 0;

	if (s->options->mode == MODE_HASH_SEED)
		return hash_keeps(s, trace_id, 16, percentage);
	for (u32 i = 9; i < 16; i++)
		randomness = randomness << 8 | trace_id[i];
	return (double)randomness >= (1 - percentage / 100) * 0x1p56;
}

struct view {
	const struct sampler *sampler;
	const struct profile *profile;
	u64 random;
};

static bool chance_keeps(struct view *view, double percentage)
{
	view->random = hash_mix(view->random, 0x9e3779b97f4a7c15);
	return (double)(view->random >> 11) * 0x1p-53 * 100 < percentage;
}

static bool attribute_keeps(const struct sampler *s, const struct any *value, double percentage)
{
	_cleanup_(buf_done) struct buf text;

	if (value->kind == ANY_STRING || value->kind == ANY_BYTES)
		return hash_keeps(s, value->string.at, value->string.len, percentage);
	buf_init(&text, TEXT_MAX);
	value_text(&(struct value){ .any = *value }, &text);
	return hash_keeps(s, text.data, text.len, percentage);
}

static double percentage_of(const struct view *view, const struct profile_sample *sample)
{
	const struct options *o = view->sampler->options;
	const struct any *priority = *o->sampling_priority ?
		profile_attribute_find(view->profile, sample->attributes, o->sampling_priority) : NULL;

	if (priority && priority->kind == ANY_INT)
		return (double)priority->integer;
	return priority && priority->kind == ANY_DOUBLE ? priority->real : o->percentage;
}

static int goes(void *arg, const struct profile_resource *resource, const struct profile_scope *scope,
		const struct profile_set *set, const struct profile_sample *sample)
{
	static const u8 none[16];
	struct view *view = arg;
	const struct options *o = view->sampler->options;
	const u8 *trace_id = view->profile->links.at[sample->link].trace_id;
	double percentage = percentage_of(view, sample);
	const struct any *value = *o->from_attribute ?
		profile_attribute_find(view->profile, sample->attributes, o->from_attribute) : NULL;

	if (percentage >= 100)
		return 0;
	if (o->source == SOURCE_TRACE && memcmp(trace_id, none, sizeof(none)))
		return !trace_keeps(view->sampler, trace_id, percentage);
	if (value)
		return !attribute_keeps(view->sampler, value, percentage);
	return !chance_keeps(view, percentage);
}

static int sampler_consume(void *self, struct batch *batch)
{
	static const struct prune_ops ops = { .sample = goes };
	struct sampler *s = self;
	struct view view = { .sampler = s };
	struct prune prune;
	int r = batch_profile(batch, &view.profile);

	if (r < 0) {
		batch_unref(batch);
		return r;
	}
	if (getrandom(&view.random, sizeof(view.random), GRND_NONBLOCK) != sizeof(view.random))
		view.random = profile_seed(view.profile);
	r = prune_plan(view.profile, &ops, &view, &prune);
	if (r == 0) {
		metric_add(s->dropped, prune.samples_dropped);
		metric_add(s->kept, prune.samples_kept);
		r = processor_prune(s->setup, batch, &prune);
	} else {
		batch_unref(batch);
	}
	prune_done(&prune);
	return r;
}

/* ---- Life and options ------------------------------------------------------------------------ */

static int sampler_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->setup = setup;
	s->options = options;
	s->dropped = processor_counter(setup, "wick_processor_sampler_dropped_samples",
				       "Samples that the probabilistic sampler left out");
	s->kept = processor_counter(setup, "wick_processor_sampler_kept_samples",
				    "Samples that the probabilistic sampler kept");
	*ret_self = s;
	return 0;
}

static const struct options defaults = { .from_attribute = "", .sampling_priority = "" };

static const struct config_field fields[] = {
	{ "sampling_percentage", CONFIG_REAL, FIELD(struct options, percentage), .min = 0, .max = 1e9,
	  .help = "how many percent of samples are kept; 100 or more: all" },
	{ "hash_seed", CONFIG_INTEGER, FIELD(struct options, hash_seed), .min = 0, .max = UINT32_MAX,
	  .help = "the same for all who should keep the same traces" },
	{ "mode", CONFIG_CHOICE, FIELD(struct options, mode), .choices = modes,
	  .help =
	  	"how a trace id decides: hash_seed, or proportional; equalizing is not there, for links to traces have "
		  "no tracestate" },
	{ "attribute_source", CONFIG_CHOICE, FIELD(struct options, source), .choices = sources,
	  .help = "traceID: the link of a sample decides, if it has one; record: from_attribute does" },
	{ "from_attribute", CONFIG_TEXT, FIELD(struct options, from_attribute),
	  .help = "the attribute that decides about samples without a link" },
	{ "sampling_priority", CONFIG_TEXT, FIELD(struct options, sampling_priority),
	  .help = "the attribute that has a sample's own percentage" },
	{ "fail_closed", CONFIG_NEEDLESS, .help = "samples without a trace id are kept by chance, they do not fail" },
	{ "sampling_precision", CONFIG_NEEDLESS, .help = "profiles have no tracestate to write thresholds into" },
	{ 0 },
};

const struct component_ops processor_probabilistic_sampler = {
	.type = "probabilistic_sampler",
	.help = "keeps so many percent of samples, by trace or by chance",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.create = sampler_create,
	.looks = LOOKS_AT_PROFILE,
	.consume = sampler_consume,
	.free = free,
};

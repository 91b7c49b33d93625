// SPDX-License-Identifier: Apache-2.0
/* Keeps profiles in a store of this machine, where the page finds them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "exporters/late_names.h"
#include "pipeline/batch.h"
#include "pipeline/sender.h"
#include "store/label_quota.h"
#include "store/notes.h"
#include "store/shared.h"

#define STEPS_MAX 16	/* of housekeeping after each batch */

struct options {
	const char *path;
	s64 max_age_ns, max_size_mib;
	struct label_options {
		struct config_texts keep, drop;
		s64 max_sets;
	} labels;
	struct late_names_options late_names;
	struct sender_options sender;
};

struct exporter {
	const struct options *options;
	const char *id;
	const struct component_setup *setup;
	struct store *store;
	struct late_names *late_names;
};

static const struct options defaults = {
	.path = "/var/lib/wick",
	.max_age_ns = 7 * 86400 * 1000000000ll,
	.max_size_mib = 1024,
	.labels = { .max_sets = LABEL_QUOTA_DEFAULT },
	.late_names = LATE_NAMES_DEFAULTS,
	.sender = SENDER_DEFAULTS(0),
};

static const struct config_field label_fields[] = {
	{ "keep", CONFIG_TEXTS, FIELD(struct label_options, keep),
	  .help = "keys, as http.*, of attributes of samples; only these, numbers too; none: all texts but ids" },
	{ "drop", CONFIG_TEXTS, FIELD(struct label_options, drop), .help = "keys of those that are not kept" },
	{ "max_sets", CONFIG_INTEGER, FIELD(struct label_options, max_sets), .min = 1, .max = LABEL_QUOTA_MAX,
	  .help = "of values, of a process in each window, or period of a roll-up; more are [other]" },
	{ 0 },
};

static const struct config_field fields[] = {
	{ "path", CONFIG_TEXT, FIELD(struct options, path), .required = true, .help = "directory of the store" },
	{ "max_age", CONFIG_DURATION, FIELD(struct options, max_age_ns), .min = 60e9, .max = 1e18,
	  .help = "what is older is dropped" },
	{ "max_size_mib", CONFIG_INTEGER, FIELD(struct options, max_size_mib), .min = 1, .max = 1 << 24,
	  .help = "of the file; past it old ranges get coarser, then go" },
	{ "labels", CONFIG_SECTION, FIELD(struct options, labels), .fields = label_fields,
	  .help = "of samples, as a tenant: what of them is kept, and can be asked for as label.KEY" },
	{ "late_names", CONFIG_SECTION, FIELD(struct options, late_names), .fields = late_names_fields,
	  .help = "names for what came without, looked for by build id" },
	SENDER_FIELDS(struct options, sender),
	{ 0 },
};

/* A disk that is full, or away, may come back; what the store cannot hold at all will not. */
static void tell(struct exporter *exporter, int r, struct send_result *ret_result)
{
	ret_result->outcome = r == 0 ? SEND_OK : r == -E2BIG || r == -EBADMSG ? SEND_PERMANENT : SEND_RETRY;
	if (r < 0)
		(void)snprintf(ret_result->reason, sizeof(ret_result->reason), "%s: %s (%s)", exporter->options->path,
			       strerror(-r), store_error(exporter->store));
}

static void send_batch_to_store(void *self, struct batch *batch, struct send_result *ret_result)
{
	struct exporter *exporter = self;
	u64 now_ns = clock_ns(CLOCK_REALTIME);
	const struct profile *profile;
	int r = batch_profile(batch, &profile);

	if (r == 0)
		r = store_add(exporter->store, profile, batch_sender(batch), now_ns);
	tell(exporter, r, ret_result);
	if (r < 0)
		return;
	for (u32 i = 0; r >= 0 && i < STEPS_MAX; i++) {
		r = store_maintain(exporter->store, now_ns);
		if (r == 0)
			break;
	}
	if (r < 0)
		log_warn(exporter->id, "housekeeping of the store failed: %s (%s)", strerror(-r),
			 store_error(exporter->store));
}

static const struct sender_ops sending = { .send = send_batch_to_store };

static void exporter_free(void *self)
{
	struct exporter *exporter = self;

	if (!exporter)
		return;
	late_names_stop(exporter->late_names);
	store_release(exporter->store);
	free(exporter);
}

static int exporter_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct exporter *exporter = calloc(1, sizeof(*exporter));

	if (!exporter)
		return -ENOMEM;
	exporter->options = options;
	exporter->id = setup->id;
	exporter->setup = setup;
	*ret_self = exporter;
	return 0;
}

static int exporter_start(void *self, struct buf *why)
{
	struct exporter *exporter = self;
	const struct label_options *labels = &exporter->options->labels;
	char host[256] = "localhost";
	struct buf notice;
	int r;

	(void)gethostname(host, sizeof(host) - 1);
	buf_init(&notice, 1024);
	r = store_acquire(&(struct store_options){ .directory = exporter->options->path,
						   .bytes_max = (u64)exporter->options->max_size_mib << 20,
						   .age_max_ns = (u64)exporter->options->max_age_ns,
						   .host = host,
						   .labels = { { labels->keep.count, labels->keep.at },
							       { labels->drop.count, labels->drop.at },
							       (u32)labels->max_sets } },
			  &exporter->store, why, &notice);
	if (notice.len)
		log_warn(exporter->id, "%s", notice.data);
	buf_done(&notice);
	if (r == 0)
		notes_tell_start();
	if (r == 0)
		r = late_names_start(exporter->setup, &exporter->options->late_names, exporter->store,
				     &exporter->late_names, why);
	return r;
}

static void exporter_stop(void *self, u64 deadline_ns)
{
	late_names_stop(TAKE(((struct exporter *)self)->late_names));
}

const struct component_ops exporter_store = {
	.type = "store",
	.help = "keeps profiles on this machine, where the page finds them",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.create = exporter_create,
	.start = exporter_start,
	EXPORTER_SENDS(sending, struct options, sender),
	.stop = exporter_stop,
	.free = exporter_free,
};

// SPDX-License-Identifier: Apache-2.0
/* otlp_json_file: what the Collector's file exporter, or wick's, wrote as JSON, one request a line. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "pipeline/ticker.h"
#include "profile/profile.h"
#include "receivers/filetail.h"
#include "receivers/receipts.h"
#include "wire/otlp/otlp_json.h"

struct json_file_options {
	struct config_texts include, exclude;
	int start_at;			/* 0 beginning, 1 end */
	s64 poll_interval_ns, exclude_older_than_ns, max_log_size, max_concurrent_files;
	bool delete_after_read, replay_file;
	const char *encoding;
};

static const char *const start_choices[] = { "beginning", "end", NULL };

#define AT(member) FIELD(struct json_file_options, member)
static const struct config_field json_file_fields[] = {
	{ "include", CONFIG_TEXTS, AT(include), .required = true, .help = "patterns of paths to read, with * and ?" },
	{ "exclude", CONFIG_TEXTS, AT(exclude), .help = "patterns of paths to leave out of those" },
	{ "start_at", CONFIG_CHOICE, AT(start_at), .choices = start_choices,
	  .help = "where to begin in files that are there at the start" },
	{ "poll_interval", CONFIG_DURATION, AT(poll_interval_ns), .min = 1e6, .max = 3600e9,
	  .help = "how often to look for more" },
	{ "delete_after_read", CONFIG_BOOL, AT(delete_after_read),
	  .help = "delete files that were read; with start_at: beginning" },
	{ "replay_file", CONFIG_BOOL, AT(replay_file), .help = "read every file anew at each look" },
	{ "exclude_older_than", CONFIG_DURATION, AT(exclude_older_than_ns), .max = 0x1p62,
	  .help = "leave out files that have not changed for so long" },
	{ "max_log_size", CONFIG_INTEGER, AT(max_log_size), .min = 1, .max = BATCH_BYTES_MAX,
	  .help = "bytes of a line; longer ones are left out" },
	{ "max_concurrent_files", CONFIG_INTEGER, AT(max_concurrent_files), .min = 2, .max = 100000,
	  .help = "files that are read at once; others wait" },
	{ "encoding", CONFIG_TEXT, AT(encoding), .help = "must be utf-8" },
	{ "fingerprint_size", CONFIG_NEEDLESS, .help = "files are told apart by their inodes" },
	{ "include_file_name", CONFIG_NEEDLESS, .help = "profiles stay as they were written" },
	{ "include_file_path", CONFIG_NEEDLESS, .help = "profiles stay as they were written" },
	{ "include_file_name_resolved", CONFIG_NEEDLESS, .help = "profiles stay as they were written" },
	{ "include_file_path_resolved", CONFIG_NEEDLESS, .help = "profiles stay as they were written" },
	{ "max_batches", CONFIG_NEEDLESS, .help = "files that wait are read when others are done" },
	{ "force_flush_period", CONFIG_NEEDLESS, .help = "a line is read when its end is there" },
	{ "storage", CONFIG_REFUSED,
	  .help = "positions are not kept over restarts; remove it, or use delete_after_read" },
	{ "ordering_criteria", CONFIG_REFUSED, .help = "files are read in the order of their names; remove it" },
	{ "compression", CONFIG_REFUSED, .help = "only plain files are read; unpack them first" },
	{ "header", CONFIG_REFUSED, .help = "files of profiles have no header; remove it" },
	{ "multiline", CONFIG_REFUSED, .help = "a request is one line; remove it" },
	{ "retry_on_failure", CONFIG_REFUSED, .help = "what a pipeline cannot take is offered again until it can" },
	{ 0 },
};

static const struct json_file_options json_file_defaults = {
	.start_at = 1,
	.poll_interval_ns = 200000000,
	.max_log_size = BATCH_BYTES_MAX,
	.max_concurrent_files = 1024,
	.encoding = "utf-8",
};

struct json_file {
	const struct component_setup *setup;
	const struct json_file_options *options;
	struct receipts receipts;
	struct metric *too_long;
	struct filetail *tail;
	struct ticker *ticker;
	atomic_bool stop;
};

static void json_file_check(const void *options, struct config_place place, const char *path,
			    struct config_errors *errors)
{
	const struct json_file_options *o = options;

	for (u32 i = 0; i < o->include.count; i++)
		if (strstr(o->include.at[i], "**"))
			config_error(errors, place, path, "include: ** is not supported; name each folder, or use * "
				     "for one");
	if (o->delete_after_read && o->start_at == 1)
		config_error(errors, place, path, "delete_after_read needs start_at: beginning");
	if (strcasecmp(o->encoding, "utf-8") && strcasecmp(o->encoding, "utf8") && *o->encoding)
		config_error(errors, place, path, "encoding %.20s is not supported: JSON is utf-8", o->encoding);
}

static void json_file_free(void *self)
{
	struct json_file *f = self;

	if (f)
		filetail_free(f->tail);
	free(f);
}
DEFINE_CLEANUP(void *, json_file_free)

static int json_file_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	_cleanup_(json_file_freep) void *self = calloc(1, sizeof(struct json_file));
	struct metrics *metrics = service_metrics(setup->service);
	const struct json_file_options *o = options;
	struct json_file *f = self;
	int r;

	if (!f)
		return -ENOMEM;
	f->setup = setup;
	f->options = o;
	receipts_init(&f->receipts, metrics, setup, "");
	f->too_long = metrics_get(metrics, METRIC_COUNTER, "wick_receiver_lines_too_long",
				  "Lines of files that were left out because they are too long.",
				  &(struct metric_label){ "receiver", setup->id }, 1);
	r = filetail_new(&(struct filetail_options){ .include = o->include,
						     .exclude = o->exclude,
						     .from_beginning = o->start_at == 0,
						     .delete_after_read = o->delete_after_read,
						     .replay = o->replay_file,
						     .exclude_older_than_ns = o->exclude_older_than_ns,
						     .files_max = (u32)o->max_concurrent_files,
						     .line_max = (size_t)o->max_log_size },
			 &f->tail);
	if (r < 0)
		return r;
	*ret_self = TAKE(self);
	return 0;
}

/* A pipeline that cannot take it now gets it again at the next look. */
static int take_line(void *self, const char *path, const char *at, size_t len)
{
	struct json_file *f = self;
	struct profile *profile;
	struct batch *batch;
	int r = otlp_json_decode(at, len, &profile);

	if (r == -ENOMEM)
		return -EAGAIN;
	if (r < 0) {
		receipts_failed(&f->receipts, 0);
		log_warn(f->setup->id, "%s: a line is not OTLP profiles in JSON", path);
		return r;
	}
	batch = batch_from_profile(profile);
	if (!batch) {
		profile_free(profile);
		return -EAGAIN;
	}
	if (batch_samples(batch))
		return receipts_send(&f->receipts, batch);
	batch_unref(batch);
	receipts_nothing(&f->receipts);
	return 0;
}

static bool is_stopping(void *self)
{
	struct json_file *f = self;

	return atomic_load(&f->stop);
}

static void json_file_tick(void *self)
{
	struct json_file *f = self;
	u64 before = filetail_stats(f->tail).lines_too_long;

	filetail_poll(f->tail, take_line, is_stopping, f);
	metric_add(f->too_long, filetail_stats(f->tail).lines_too_long - before);
}

static int json_file_start(void *self, struct buf *why)
{
	struct json_file *f = self;
	int r = ticker_start(&(struct ticker_options){ .name = "wick: files", .tick = json_file_tick, .arg = f,
						       .interval_ns = f->options->poll_interval_ns }, &f->ticker);

	if (r < 0)
		buf_addf(why, "cannot start a thread: %s", strerror(-r));
	else
		component_report(f->setup->status, HEALTH_OK, "");
	return r;
}

static void json_file_stop(void *self, u64 deadline_ns)
{
	struct json_file *f = self;

	atomic_store(&f->stop, true);
	ticker_stop(TAKE(f->ticker));
}

const struct component_ops receiver_otlp_json_file = {
	.type = "otlp_json_file",
	.aliases = (const char *const[]){ "otlpjsonfile", NULL },
	.help = "profiles from files that a file exporter wrote",
	.fields = json_file_fields,
	.options_bytes = sizeof(struct json_file_options),
	.defaults = &json_file_defaults,
	.check = json_file_check,
	.create = json_file_create,
	.start = json_file_start,
	.stop = json_file_stop,
	.free = json_file_free,
};

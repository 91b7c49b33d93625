// SPDX-License-Identifier: Apache-2.0
/* Profiles for people who want to see that they come: to the log, or to files and standard output. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "exporters/debug_text.h"
#include "exporters/slowwrite.h"
#include "exporters/textout.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "pipeline/sender.h"

#define OUTPUTS_MAX 8

enum verbosity { VERBOSITY_BASIC, VERBOSITY_NORMAL, VERBOSITY_DETAILED };
static const char *const verbosities[] = { "basic", "normal", "detailed", NULL };

struct options {
	int verbosity;
	s64 sampling_initial, sampling_thereafter;
	bool use_internal_logger;
	struct config_texts output_paths;
	struct sender_options sender;
};

struct exporter {
	const struct options *options;
	const char *id;
	int outputs[OUTPUTS_MAX];
	u32 output_count;
	u64 second;			/* that is counted in */
	s64 seen;			/* batches in it */
	struct textout out;
};

static const struct options defaults = {
	.sampling_initial = 2, .sampling_thereafter = 1, .use_internal_logger = true, .sender = SENDER_DEFAULTS(0),
};

static const struct config_field fields[] = {
	{ "verbosity", CONFIG_CHOICE, FIELD(struct options, verbosity), .choices = verbosities,
	  .help = "a line for each batch, or for each profile, or everything" },
	{ "sampling_initial", CONFIG_INTEGER, FIELD(struct options, sampling_initial), .min = 0, .max = 1e9,
	  .help = "batches that are shown in each second" },
	{ "sampling_thereafter", CONFIG_INTEGER, FIELD(struct options, sampling_thereafter), .min = 0, .max = 1e9,
	  .help = "then one of so many is shown; 0: none" },
	{ "use_internal_logger", CONFIG_BOOL, FIELD(struct options, use_internal_logger),
	  .help = "show them in the log of service::telemetry::logs" },
	{ "output_paths", CONFIG_TEXTS, FIELD(struct options, output_paths),
	  .help = "stdout, stderr or files; only with use_internal_logger: false, and then stdout if not given" },
	SENDER_FIELDS(struct options, sender),
	{ 0 },
};

static void check(const void *options, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct options *o = options;

	if (o->use_internal_logger && o->output_paths.count)
		config_error(errors, place, path, "output_paths is not supported when use_internal_logger is true");
	if (o->output_paths.count > OUTPUTS_MAX)
		config_error(errors, place, path, "output_paths has %u entries; at most %u are possible",
			     o->output_paths.count, OUTPUTS_MAX);
}

/* ---- Showing ------------------------------------------------------------------ */

static int write_log(void *arg, const char *at, size_t bytes)
{
	log_text(LOG_LEVEL_INFO, ((const struct exporter *)arg)->id, at, bytes);
	return 0;
}

static int write_outputs(void *arg, const char *at, size_t bytes)
{
	const struct exporter *exporter = arg;
	int r = 0;

	for (u32 i = 0; i < exporter->output_count; i++) {
		size_t done;
		int error = slowwrite(exporter->outputs[i], at, bytes, SLOWWRITE_TIMEOUT_MS, &done);

		r = r < 0 ? r : error;
	}
	return r;
}

/* In each second the first few, then one of many. */
static bool is_shown(struct exporter *exporter)
{
	s64 initial = exporter->options->sampling_initial, thereafter = exporter->options->sampling_thereafter;
	u64 second = monotonic_ns() / 1000000000;

	if (exporter->second != second) {
		exporter->second = second;
		exporter->seen = 0;
	}
	exporter->seen++;
	return exporter->seen <= initial || (thereafter && (exporter->seen - initial) % thereafter == 0);
}

static void show_heading(struct exporter *exporter, u32 resources, u64 samples)
{
	if (exporter->options->use_internal_logger)
		log_info(exporter->id, "Profiles {\"resource profiles\": %u, \"sample records\": %llu}", resources,
			 samples);
	else
		textout_addf(&exporter->out, "Profiles\t{\"resource profiles\": %u, \"sample records\": %llu}\n",
			     resources, samples);
}

/* The Collector's logger ends every message with a line end, also one that has its own. */
static void show_text(struct exporter *exporter, const struct profile *profile)
{
	if (exporter->options->verbosity == VERBOSITY_NORMAL)
		debug_text_normal(profile, &exporter->out);
	else
		debug_text_detailed(profile, &exporter->out);
	if (!exporter->options->use_internal_logger)
		textout_add(&exporter->out, "\n", 1);
}

/* For the heading alone nothing has to be decoded. */
static int show(struct exporter *exporter, struct batch *batch)
{
	const struct profile *profile = NULL;
	int r = exporter->options->verbosity == VERBOSITY_BASIC ? 0 : batch_profile(batch, &profile);

	if (r < 0)
		return r;
	flockfile(stdout);	/* keeps the texts of two exporters apart */
	textout_init(&exporter->out, exporter->options->use_internal_logger ? write_log : write_outputs, exporter);
	show_heading(exporter, batch_resources(batch), batch_samples(batch));
	if (profile)
		show_text(exporter, profile);
	r = textout_end(&exporter->out);
	funlockfile(stdout);
	return r;
}

static void send_text(void *self, struct batch *batch, struct send_result *ret_result)
{
	struct exporter *exporter = self;
	int r = is_shown(exporter) ? show(exporter, batch) : 0;

	ret_result->outcome = r < 0 ? SEND_PERMANENT : SEND_OK;
	if (r < 0)
		(void)snprintf(ret_result->reason, sizeof(ret_result->reason), "cannot show a profile: %s",
			       strerror(-r));
}

static const struct sender_ops sending = { .send = send_text };

/* ---- Life ---------------------------------------------------------------------- */

static void exporter_free(void *self)
{
	struct exporter *exporter = self;

	if (!exporter)
		return;
	for (u32 i = 0; i < exporter->output_count; i++)
		close(exporter->outputs[i]);
	free(exporter);
}

static int exporter_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct exporter *exporter = calloc(1, sizeof(*exporter));

	if (!exporter)
		return -ENOMEM;
	exporter->options = options;
	exporter->id = setup->id;
	*ret_self = exporter;
	return 0;
}

static int open_output(struct exporter *exporter, const char *path, struct buf *why)
{
	int fd, r;

	if (!strcmp(path, "stdout"))
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else if (!strcmp(path, "stderr"))
		fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
	if (fd < 0) {
		r = -errno;
		buf_addf(why, "cannot open %s of output_paths: %s", path, strerror(-r));
		return r;
	}
	exporter->outputs[exporter->output_count++] = fd;
	return 0;
}

static int exporter_start(void *self, struct buf *why)
{
	struct exporter *exporter = self;
	const struct config_texts *paths = &exporter->options->output_paths;
	int r = 0;

	if (!exporter->options->use_internal_logger && !paths->count)
		r = open_output(exporter, "stdout", why);
	for (u32 i = 0; i < paths->count && r == 0; i++)
		r = open_output(exporter, paths->at[i], why);
	return r;
}

const struct component_ops exporter_debug = {
	.type = "debug",
	.help = "shows profiles in the log or as text",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = check,
	.create = exporter_create,
	.start = exporter_start,
	EXPORTER_SENDS(sending, struct options, sender),
	.free = exporter_free,
};

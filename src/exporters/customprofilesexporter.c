// SPDX-License-Identifier: Apache-2.0
/* Profiles as text on standard output. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "exporters/customprofiles_text.h"
#include "exporters/slowwrite.h"
#include "exporters/textout.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "pipeline/sender.h"

struct options {
	struct customprofiles_text_options text;
	struct sender_options sender;
};

struct exporter {
	const struct options *options;
	struct textout out;
};

static const struct options defaults = {
	.text = { true, true, true, true, true, false, { 0, NULL }, { 0, NULL } },
	.sender = SENDER_DEFAULTS(0),
};

#define TEXT(member) FIELD(struct options, text.member)
static const struct config_field fields[] = {
	{ "ignore_profiles_without_container_id", CONFIG_BOOL, TEXT(ignore_profiles_without_container_id),
	  .help = "skip resources without a container.id" },
	{ "export_resource_attributes", CONFIG_BOOL, TEXT(resource_attributes),
	  .help = "print the attributes of resources" },
	{ "export_profile_attributes", CONFIG_BOOL, TEXT(profile_attributes),
	  .help = "print the attributes of profiles" },
	{ "export_sample_attributes", CONFIG_BOOL, TEXT(sample_attributes), .help = "print the attributes of samples" },
	{ "export_stack_frames", CONFIG_BOOL, TEXT(stack_frames), .help = "print the frames of each sample" },
	{ "export_stack_frame_types", CONFIG_TEXTS, TEXT(frame_types),
	  .help = "only frames of these types (native, kernel, go, ...); empty: all" },
	{ "export_sample_types", CONFIG_TEXTS, TEXT(sample_types),
	  .help = "only profiles of these sample types; empty: all" },
	{ "export_function_file", CONFIG_BOOL, TEXT(function_file),
	  .help = "print file, line and column of each frame" },
	SENDER_FIELDS(struct options, sender),
	{ 0 },
};

static int write_stdout(void *arg, const char *at, size_t bytes)
{
	size_t done;

	return slowwrite(STDOUT_FILENO, at, bytes, SLOWWRITE_TIMEOUT_MS, &done);
}

/* The lock of stdio's stdout keeps the texts of two exporters apart. */
static void send_text(void *self, struct batch *batch, struct send_result *ret_result)
{
	struct exporter *exporter = self;
	const struct profile *profile;
	int r = batch_profile(batch, &profile);

	if (r == 0) {
		flockfile(stdout);
		textout_init(&exporter->out, write_stdout, NULL);
		customprofiles_text(profile, &exporter->options->text, &exporter->out);
		r = textout_end(&exporter->out);
		funlockfile(stdout);
	}
	ret_result->outcome = r < 0 ? SEND_PERMANENT : SEND_OK;
	if (r < 0)
		(void)snprintf(ret_result->reason, sizeof(ret_result->reason), "cannot write to standard output: %s",
			       strerror(-r));
}

static const struct sender_ops sending = { .send = send_text };

static int exporter_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct exporter *exporter = calloc(1, sizeof(*exporter));

	if (!exporter)
		return -ENOMEM;
	exporter->options = options;
	*ret_self = exporter;
	return 0;
}

const struct component_ops exporter_customprofilesexporter = {
	.type = "customprofilesexporter",
	.help = "prints profiles as text to standard output",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.create = exporter_create,
	EXPORTER_SENDS(sending, struct options, sender),
	.free = free,
};

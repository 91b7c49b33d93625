// SPDX-License-Identifier: Apache-2.0
/* customprofilesprocessor: one resource attribute, foo, to see that a pipeline has a processor. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "processors/edit.h"
#include "profile/attrs.h"

struct options {
	const char *foo;
};

struct marker {
	const struct component_setup *setup;
	const struct options *options;
};

static int change(void *arg, struct profile *profile)
{
	const char *foo = ((const struct marker *)arg)->options->foo;
	struct any value = { ANY_STRING, 0, .string = { foo, (u32)strlen(foo) } };

	for (u32 i = 0; i < profile->resources.count; i++) {
		struct attrs attrs = attrs_of_resource(profile, &profile->resources.at[i]);

		attrs_set(&attrs, STR("foo"), &value);
	}
	return 0;
}

static int marker_consume(void *self, struct batch *batch)
{
	struct marker *marker = self;

	return processor_edit_resources(marker->setup, batch, change, marker);
}

static int marker_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct marker *marker = calloc(1, sizeof(*marker));

	if (!marker)
		return -ENOMEM;
	*marker = (struct marker){ setup, options };
	*ret_self = marker;
	return 0;
}

static const struct options defaults = { .foo = "" };
static const char *const aliases[] = { "customprofilesexporter", NULL };
static const struct config_field fields[] = {
	{ "foo", CONFIG_TEXT, FIELD(struct options, foo), .help = "the value of the resource attribute foo" },
	{ 0 },
};

const struct component_ops processor_customprofilesprocessor = {
	.type = "customprofilesprocessor",
	.aliases = aliases,
	.help = "puts one attribute on every resource, to see that it runs",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.create = marker_create,
	.looks = LOOKS_AT_NOTHING,	/* of resources, as they come */
	.consume = marker_consume,
	.free = free,
};

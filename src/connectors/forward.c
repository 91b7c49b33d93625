// SPDX-License-Identifier: Apache-2.0
/* forward: hands on from pipelines to pipelines what comes, to gather several or to spread one. */
#include "pipeline/component.h"

static int forward_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	*ret_self = (void *)setup;
	return 0;
}

static int forward_consume(void *self, struct batch *batch)
{
	const struct component_setup *setup = self;

	return consumers_send(setup->next, batch);
}

/* The setup is the service's. */
static void forward_free(void *self)
{
}

static const struct config_field fields[] = { { 0 } };

const struct component_ops connector_forward = {
	.type = "forward",
	.help = "hands profiles from pipelines on to other pipelines",
	.fields = fields,
	.create = forward_create,
	.looks = LOOKS_AT_NOTHING,
	.consume = forward_consume,
	.free = forward_free,
};

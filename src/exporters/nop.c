// SPDX-License-Identifier: Apache-2.0
/* nop: takes everything and drops it. For measuring what stands before it. */
#include "pipeline/batch.h"
#include "pipeline/component.h"

static int nop_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	*ret_self = NULL;
	return 0;
}

static int nop_consume(void *self, struct batch *batch)
{
	batch_unref(batch);
	return 0;
}

static void nop_free(void *self)
{
}

static const struct config_field fields[] = { { 0 } };

const struct component_ops exporter_nop = {
	.type = "nop",
	.help = "drops everything",
	.fields = fields,
	.create = nop_create,
	.consume = nop_consume,
	.free = nop_free,
};

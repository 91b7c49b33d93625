// SPDX-License-Identifier: Apache-2.0
/* nop: receives nothing. For configurations that need a receiver to be whole. */
#include "pipeline/component.h"

static int nop_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	*ret_self = NULL;
	return 0;
}

static void nop_free(void *self)
{
}

static const struct config_field fields[] = { { 0 } };

const struct component_ops receiver_nop = {
	.type = "nop",
	.help = "receives nothing",
	.fields = fields,
	.create = nop_create,
	.free = nop_free,
};

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/authorize.h"

#include "net/server.h"
#include "pipeline/component.h"

bool is_authorized(const struct authenticator_ops *ops, void *self, const struct exchange *exchange)
{
	const char *name = "authorization";

	if (!ops)
		return true;
	if (ops->header_name)
		name = ops->header_name(self);
	return exchange_header_count(exchange, name) <= 1 && ops->accept(self, exchange_header(exchange, name));
}

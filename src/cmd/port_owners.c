// SPDX-License-Identifier: Apache-2.0
#include "cmd/port_owners.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cmd/service_paths.h"
#include "net/address.h"

/* Of OTLP and the page, where the configuration does not say. */
static const u32 usual[] = { 4317, 4318, 11000 };

static void find(struct port_owners *owners, u32 port)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, sizeof(owners->at[0].text));
	if (owners->count < PORT_OWNERS_MAX)
		address_tell_owner(port, &text);
	if (!text.len || buf_err(&text) < 0)
		return;
	owners->at[owners->count].port = port;
	(void)snprintf(owners->at[owners->count].text, sizeof(owners->at[0].text), "%s", text.data);
	owners->count++;
}

void port_owners_find(struct port_owners *owners, const struct service_paths *paths)
{
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		find(owners, usual[i]);
	for (u32 i = 0; i < paths->port_count; i++)
		find(owners, paths->ports[i]);
}

void port_owners_tell(const struct port_owners *owners, struct buf *why)
{
	char end[64];

	for (u32 i = 0; i < owners->count; i++) {
		int len = snprintf(end, sizeof(end), ":%u: the address is in use", owners->at[i].port);

		if (why->len < (size_t)len || memcmp(why->data + why->len - len, end, (size_t)len))
			continue;
		buf_addf(why, "%s", owners->at[i].text);
		return;
	}
}

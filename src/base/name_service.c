// SPDX-License-Identifier: Apache-2.0
#include "base/name_service.h"

#include <nss.h>
#include <stddef.h>

#ifdef WICK_ONE_FILE

static const struct {
	const char *database, *services;
} inside[] = {
	{ "passwd", "files" },
	{ "group", "files" },
	{ "initgroups", "files" },
	{ "shadow", "files" },
	{ "hosts", "files dns" },
	{ "networks", "files" },
	{ "services", "files" },
	{ "protocols", "files" },
};

void name_service_init(void)
{
	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
		(void)__nss_configure_lookup(inside[i].database, inside[i].services);	/* fails for memory only */
}

#else

void name_service_init(void)
{
}

#endif

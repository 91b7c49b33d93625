// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "extensions/htpasswd.h"

/* Whatever header a client sends; what it splits into has no colon in the name. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *header = malloc(size + 1), *name = malloc(size + 1), *password = malloc(size + 1);

	if (!header || !name || !password)
		abort();
	memcpy(header, data, size);
	header[size] = '\0';
	if (htpasswd_split(header, name, password)) {
		if (strchr(name, ':'))
			abort();
		(void)htpasswd_matches("ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\nbob:bob\n", name, password);
	}
	free(header);
	free(name);
	free(password);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "proc/engine_api.h"
#include "proc/grpc_call.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void check(const char *text, size_t max)
{
	if (strlen(text) > max || !utf8_valid(text, strlen(text)))
		abort();
}

/* Whatever an engine says: what comes out fits, is text, and each attribute is there once. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const wanted[] = { "team", "io.kubernetes.pod.name" };
	const struct container_labels labels = { wanted, 2 };

	for (enum engine_api api = ENGINE_DOCKER; api <= ENGINE_CONTAINERD; api++) {
		struct container_about about = { 0 };

		if (engine_api_read(api, ID, &labels, data, size, &about) != 1)
			continue;
		check(about.name, CONTAINER_NAME_BYTES);
		check(about.service, CONTAINER_NAME_BYTES);
		if (about.bytes > sizeof(about.text) || (about.bytes && about.text[about.bytes - 1]))
			abort();
		for (u32 at = 0; at < about.bytes; at += (u32)strlen(about.text + at) + 1) {
			check(about.text + at, sizeof(about.text));
			if (!strchr(about.text + at, '='))
				abort();
		}
	}
	(void)grpc_call_look(data, size);
	return 0;
}

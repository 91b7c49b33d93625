// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "proc/cgroup.h"

static void check(const char *text, size_t max)
{
	if (strlen(text) > max || !utf8_valid(text, strlen(text)))
		abort();
}

/* Whoever has a cgroup names it: what comes out fits, and is text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cgroup_place place;
	char *text = strndup((const char *)data, size);

	if (!text)
		return 0;
	cgroup_parse(text, &place);
	check(place.container_id, CONTAINER_ID_BYTES);
	check(place.container_name, CGROUP_NAME_BYTES);
	check(place.pod_uid, POD_UID_BYTES);
	check(place.unit, CGROUP_NAME_BYTES);
	free(text);
	return 0;
}

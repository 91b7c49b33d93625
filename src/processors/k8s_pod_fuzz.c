// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "proc/container_about.h"
#include "processors/k8s_pod.h"
#include "processors/k8s_watch.h"

/* What an API server says, as a line of a watch and as an object. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct k8s_pod pod;
	char version[128], next[2048];
	struct str name, tag, digest, object;
	enum k8s_event event;
	struct arena arena;
	s64 code;

	arena_init(&arena, 1 << 20);
	if (k8s_watch_line((const char *)data, size, &event, &object, &code) == 0 &&
	    (object.at < (const char *)data || object.at + object.len > (const char *)data + size))
		abort();
	(void)k8s_watch_version((const char *)data, size, version, next);
	if (k8s_pod_read((const char *)data, size, &arena, &pod) == 0)
		for (u32 i = 0; i < pod.container_count; i++)
			container_image_split(pod.containers[i].image, &name, &tag, &digest);
	container_image_split((struct str){ (const char *)data, (u32)size }, &name, &tag, &digest);
	arena_done(&arena);
	return 0;
}

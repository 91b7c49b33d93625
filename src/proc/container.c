// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <string.h>

#include "proc/processes.h"

/*
 * Docker, containerd, CRI-O and podman all put it into the cgroup's path:
 *	/docker/<id>    /kubepods.slice/…/cri-containerd-<id>.scope    /libpod-<id>.scope
 */
void container_id_parse(const char *cgroup, char ret_id[CONTAINER_ID_BYTES + 1])
{
	size_t run = 0;

	ret_id[0] = '\0';
	for (const char *at = cgroup;; at++) {
		if (isxdigit((unsigned char)*at)) {
			run++;
			continue;
		}
		if (run == CONTAINER_ID_BYTES) {
			memcpy(ret_id, at - CONTAINER_ID_BYTES, CONTAINER_ID_BYTES);
			ret_id[CONTAINER_ID_BYTES] = '\0';
			return;
		}
		run = 0;
		if (!*at)
			return;
	}
}

// SPDX-License-Identifier: Apache-2.0
#include "base/systemd.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One environment for all that reads it: the first byte is the process, the rest the variables, one after each 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct systemd_sockets sockets;
	const char *at[3] = { NULL, NULL, NULL };
	struct sockaddr_un address;
	socklen_t bytes;
	char *copy;

	if (!size)
		return 0;
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	copy[size - 1] = '\0';
	at[0] = copy;
	for (int i = 1; i < 3; i++)
		if (at[i - 1] + strlen(at[i - 1]) + 1 < copy + size)
			at[i] = at[i - 1] + strlen(at[i - 1]) + 1;
		else
			break;
	if (systemd_notify_address(at[0], &address, &bytes) == 0)
		assert(bytes <= sizeof(address));
	assert(systemd_watchdog_ns(at[0], at[1], data[0]) <= SYSTEMD_WATCHDOG_MAX_NS);
	systemd_listen_fds(at[0], at[1], at[2], data[0], &sockets);
	assert(sockets.count <= SYSTEMD_SOCKETS_MAX);
	(void)systemd_is_journal(at[0], 0);
	free(copy);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "proc/process_status.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A longer line, as that of groups, comes in pieces, none of which begins as one of ours. */
#define LINE_BYTES 256

static u32 last_number(const char *line)
{
	const char *tab = strrchr(line, '\t');

	return tab ? (u32)strtoul(tab, NULL, 10) : 0;
}

static bool take_users(const char *line, struct process_status *status)
{
	unsigned int real, effective;

	if (sscanf(line, "Uid: %u %u", &real, &effective) != 2)
		return false;
	status->real_uid = real;
	status->uid = effective;
	return true;
}

int process_status_read(u32 pid, struct process_status *ret_status)
{
	struct process_status status = { 0 };
	char path[32], line[LINE_BYTES];
	bool has_users = false;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (!status.inner_pid && fgets(line, sizeof(line), file)) {
		has_users |= take_users(line, &status);
		if (!strncmp(line, "NSpid:", 6))
			status.inner_pid = last_number(line);
	}
	fclose(file);
	if (!has_users)
		return -EBADMSG;
	if (!status.inner_pid)
		status.inner_pid = pid;
	*ret_status = status;
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "cmd/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/io.h"

const struct privilege privileges[] = {
	{ "CAP_BPF", CAP_BPF, true, true, "no BPF program can be loaded" },
	{ "CAP_PERFMON", CAP_PERFMON, true, true,
	  "no clock tick can be opened for other processes, no kernel memory read" },
	{ "CAP_SYS_PTRACE", CAP_SYS_PTRACE, false, false,
	  "other users' processes cannot be opened: their stacks end early and have no names" },
	{ "CAP_SYSLOG", CAP_SYSLOG, false, true, "kernel addresses are hidden: kernel frames have no names" },
	{ "CAP_CHECKPOINT_RESTORE", CAP_CHECKPOINT_RESTORE, false, true,
	  "deleted executables and files in other mount namespaces cannot be opened" },
	{ "CAP_DAC_READ_SEARCH", CAP_DAC_READ_SEARCH, false, false,
	  "executables and debug files that this user may not read have no names" },
	{ "CAP_SYS_RESOURCE", CAP_SYS_RESOURCE, false, false,
	  "the limit of locked memory, which BPF maps count against before Linux 5.11, cannot be raised" },
	{ 0 },
};

int privilege_parse(const char *status, u64 *ret_caps)
{
	const char *line = strstr(status, "\nCapEff:");
	char *end;
	u64 caps;

	if (!line)
		return -EBADMSG;
	line += strlen("\nCapEff:");
	caps = strtoull(line, &end, 16);
	if (end == line)
		return -EBADMSG;
	*ret_caps = caps;
	return 0;
}

int privilege_read(u64 *ret_caps)
{
	char text[4096];
	ssize_t len = io_read_text("/proc/self/status", text, sizeof(text));

	return len < 0 ? (int)len : privilege_parse(text, ret_caps);
}

bool privilege_held(const struct privilege *privilege, u64 caps)
{
	return caps >> privilege->bit & 1 || (privilege->admin_will_do && caps >> CAP_SYS_ADMIN & 1);
}

const char *privilege_missing(u64 caps, char *text, size_t bytes)
{
	text[0] = '\0';
	for (const struct privilege *p = privileges; p->name; p++) {
		size_t used = strlen(text);

		if (p->required && !privilege_held(p, caps))
			snprintf(text + used, bytes - used, "%s%s", used ? " and no " : "", p->name);
	}
	return text;
}

/* Before 5.11 BPF memory counts against RLIMIT_MEMLOCK; later it is charged to the cgroup. */
bool privilege_memlock_counts(void)
{
	struct utsname name;
	int major, minor;

	return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
	       (major < 5 || (major == 5 && minor < 11));
}

bool privilege_is_lacking(const struct privilege *privilege, u64 caps)
{
	return !privilege_held(privilege, caps) && (privilege->bit != CAP_SYS_RESOURCE || privilege_memlock_counts());
}

const char *privilege_costs(u64 caps, char *text, size_t bytes)
{
	const char *cost = NULL;
	u32 count = 0;
	size_t used;

	text[0] = '\0';
	for (const struct privilege *p = privileges; p->name; p++) {
		if (p->required || !privilege_is_lacking(p, caps))
			continue;
		used = strlen(text);
		snprintf(text + used, bytes - used, "%s%s", count++ ? ", no " : "no ", p->name);
		cost = p->cost;
	}
	used = strlen(text);
	if (count)
		snprintf(text + used, bytes - used, ": %s", count == 1 ? cost : "stacks are cut and names are missing; "
			 "`wick doctor` says what each costs");
	return text;
}

const char *privilege_costs_here(char text[PRIVILEGE_COSTS_BYTES])
{
	u64 caps = 0;

	return privilege_read(&caps) < 0 ? "" : privilege_costs(caps, text, PRIVILEGE_COSTS_BYTES);
}

// SPDX-License-Identifier: Apache-2.0
#include "tracer/tracepoint.h"

#include <dirent.h>
#include <errno.h>
#include <linux/mount.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/nearest.h"

static const char *const folders[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

/*
 * A mount that nobody else sees, where the machine has none, as without systemd: perf and bpftrace mount it for all
 * then. Since v5.2 (24dcb3d90a1f); for who has CAP_SYS_ADMIN. It is there until the process ends.
 */
static char own_folder[32];
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void mount_own(void)
{
	_cleanup_(closep) int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	int fd;

	if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return;
	fd = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
			  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (fd >= 0)
		snprintf(own_folder, sizeof(own_folder), "/proc/self/fd/%d", fd);
}

const char *tracepoint_folder(void)
{
	for (u32 i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/events", folders[i]);
		if (access(path, F_OK) == 0)
			return folders[i];
	}
	(void)pthread_once(&own_once, mount_own);
	return own_folder[0] ? own_folder : NULL;
}

/* ---- Fields: "field:unsigned int fd;	offset:16;	size:8;	signed:0;" ---- */

static bool take_number(const char *line, const char *end, const char *key, u32 *ret_number)
{
	const char *at = memmem(line, (size_t)(end - line), key, strlen(key));
	u32 number = 0, digits = 0;

	if (!at)
		return false;
	for (at += strlen(key); at < end && *at >= '0' && *at <= '9' && digits < 6; at++, digits++)
		number = number * 10 + (u32)(*at - '0');
	*ret_number = number;
	return digits;
}

/* The last word of a declaration, without what is in brackets. */
static bool take_name(const char *at, const char *end, struct tracepoint_field *field)
{
	const char *bracket = memchr(at, '[', (size_t)(end - at)), *start;
	bool is_array;

	/* "__data_loc char[] name" has its brackets in the type. */
	is_array = bracket || memmem(at, (size_t)(end - at), "_loc ", 5);
	if (bracket && memchr(bracket, ']', (size_t)(end - bracket)) == end - 1)
		end = bracket;
	for (start = end; start > at && start[-1] != ' ' && start[-1] != '*'; start--)
		;
	if (start == end || (size_t)(end - start) >= sizeof(field->name))
		return false;
	memcpy(field->name, start, (size_t)(end - start));
	field->name[end - start] = '\0';
	field->is_number = !is_array &&
			   (field->bytes == 1 || field->bytes == 2 || field->bytes == 4 || field->bytes == 8);
	return true;
}

bool tracepoint_next_field(const char **at, struct tracepoint_field *ret_field)
{
	while (**at) {
		const char *line = *at, *end = line + strcspn(line, "\n"), *name_end;
		struct tracepoint_field field = { 0 };
		u32 is_signed = 0;

		*at = end + (*end == '\n');
		line += strspn(line, " \t");
		if (line > end || end - line < 6 || strncmp(line, "field:", 6))
			continue;
		name_end = memchr(line, ';', (size_t)(end - line));
		if (!name_end || !take_number(name_end, end, "offset:", &field.offset) ||
		    !take_number(name_end, end, "size:", &field.bytes))
			continue;
		(void)take_number(name_end, end, "signed:", &is_signed);
		field.is_signed = is_signed;
		if (!take_name(line + 6, name_end, &field))
			continue;
		*ret_field = field;
		return true;
	}
	return false;
}

int tracepoint_format(const char *system, const char *name, char **ret_format)
{
	const char *folder = tracepoint_folder();
	_cleanup_(freep) char *format = malloc(TRACEPOINT_FORMAT_MAX);
	char path[512];
	ssize_t got;

	if (!folder)
		return -ENODEV;
	if (!format)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s/events/%s/%s/format", folder, system, name);
	got = io_read_text(path, format, TRACEPOINT_FORMAT_MAX);
	if (got < 0)
		return (int)got;
	*ret_format = TAKE(format);
	return 0;
}

int tracepoint_id(const char *format, u64 *ret_id)
{
	const char *line = strstr(format, "\nID: ");
	char *end;
	u64 id;

	if (!line)
		return -EBADMSG;
	id = strtoull(line + 5, &end, 10);
	if (end == line + 5 || *end != '\n')
		return -EBADMSG;
	*ret_id = id;
	return 0;
}

/* ---- Names ---- */

static void list_system(const char *folder, const char *system, void (*use)(void *arg, const char *name), void *arg)
{
	char path[512], name[600];
	struct dirent *entry;
	DIR *events;

	snprintf(path, sizeof(path), "%s/events/%s", folder, system);
	events = opendir(path);
	while (events && (entry = readdir(events)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
			snprintf(name, sizeof(name), "%s:%s", system, entry->d_name);
			use(arg, name);
		}
	if (events)
		closedir(events);
}

int tracepoint_list(void (*use)(void *arg, const char *name), void *arg)
{
	const char *folder = tracepoint_folder();
	struct dirent *entry;
	char path[64];
	DIR *systems;

	if (!folder)
		return -ENODEV;
	snprintf(path, sizeof(path), "%s/events", folder);
	systems = opendir(path);
	if (!systems)
		return -errno;
	while ((entry = readdir(systems)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			list_system(folder, entry->d_name, use, arg);
	closedir(systems);
	return 0;
}

/* The closest so far, and a copy of its name. */
struct closest {
	struct nearest nearest;
	char name[128];
};

static void try_name(void *arg, const char *name)
{
	struct closest *closest = arg;
	const char *before = closest->nearest.best;

	nearest_try(&closest->nearest, name);
	if (closest->nearest.best != before) {
		snprintf(closest->name, sizeof(closest->name), "%s", name);
		closest->nearest.best = closest->name;
	}
}

void tracepoint_tell(const char *system, const char *name, int error, struct buf *why)
{
	struct closest closest;
	char wanted[400];

	snprintf(wanted, sizeof(wanted), "%s:%s", system, name);
	if (error == -ENODEV) {
		buf_addf(why, "tracepoints are described in tracefs, which is not mounted: mount -t tracefs nodev "
			      "/sys/kernel/tracing");
		return;
	}
	if (error != -ENOENT) {
		buf_addf(why, "tracepoint %s cannot be looked at: %s; run wick as root (sudo)", wanted,
			 strerror(-error));
		return;
	}
	nearest_init(&closest.nearest, wanted);
	(void)tracepoint_list(try_name, &closest);
	buf_addf(why, "this kernel has no tracepoint %s", wanted);
	if (closest.nearest.best)
		buf_addf(why, "; did you mean %s?", closest.name);
	else
		buf_addf(why, "; `wick probes %.40s` lists those it has", system);
}

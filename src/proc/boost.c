// SPDX-License-Identifier: Apache-2.0
#include "proc/boost.h"

#include <string.h>

#include "base/utf8.h"
#include "proc/process_rules.h"

#define SHORT_ID 12

/* Text that may be written into a log: no control characters. */
static bool is_plain(const char *text)
{
	size_t len = strnlen(text, BOOST_TEXT_MAX + 1);

	if (len > BOOST_TEXT_MAX || !utf8_valid(text, len))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

const char *boost_problem(const struct boost *b)
{
	bool is_said = b->pid || b->has_uid;

#define X(member)									\
	if (!is_plain(b->member))							\
		return #member " is longer than 255 bytes, or no text";			\
	is_said |= *b->member;
	BOOST_TEXTS(X)
#undef X
	if (!is_said)
		return "it says nothing about the processes that it is for";
	if (!b->id)
		return "it has no number";
	if (!b->hz || b->hz > BOOST_HZ_MAX)
		return "its rate is not within 1 and 999 samples a second";
	if (!b->seconds || b->seconds > BOOST_SECONDS_MAX)
		return "it is not for 1 to 600 seconds";
	return NULL;
}

bool boost_is_same(const struct boost *a, const struct boost *b)
{
#define X(member)				\
	if (strcmp(a->member, b->member))	\
		return false;
	BOOST_TEXTS(X)
#undef X
	return a->pid == b->pid && a->has_uid == b->has_uid && (!a->has_uid || a->uid == b->uid);
}

static bool is_container(const char *wanted, const struct process_facts *facts)
{
	size_t len = strlen(wanted);

	return !strcmp(wanted, facts->container_name) ||
	       (len >= SHORT_ID && !strncmp(wanted, facts->container_id, len));
}

static bool is_executable(const char *wanted, const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(wanted, path) || !strcmp(wanted, slash ? slash + 1 : path);
}

/* Lines of /proc/PID/cgroup: N:controllers:/PATH. */
static bool is_in_cgroup(const char *wanted, const char *lines)
{
	size_t len = strlen(wanted);

	while (*lines) {
		size_t line = strcspn(lines, "\n");
		const char *colon = memchr(lines, ':', line), *end = lines + line;
		const char *path = colon ? memchr(colon + 1, ':', (size_t)(end - colon - 1)) : NULL;

		path = path ? path + 1 : end;
		if ((size_t)(end - path) >= len && !memcmp(path, wanted, len) &&
		    (path + len == end || path[len] == '/' || wanted[len - 1] == '/'))
			return true;
		lines = *end ? end + 1 : end;
	}
	return false;
}

bool boost_fits(const struct boost *b, const struct process_facts *facts)
{
	if ((b->pid && b->pid != facts->pid) || (b->has_uid && !(facts->has_uid && facts->uid == b->uid)))
		return false;
	if (*b->service && strcmp(b->service, facts->service))
		return false;
	if (*b->container && !is_container(b->container, facts))
		return false;
	if (*b->pod && strcmp(b->pod, facts->pod_name) && strcmp(b->pod, facts->pod_uid))
		return false;
	if (*b->executable && !is_executable(b->executable, facts->executable))
		return false;
	return !*b->cgroup || is_in_cgroup(b->cgroup, facts->cgroup);
}

u32 boost_hz(const struct boost_list *list, const struct process_facts *facts)
{
	u32 hz = 0;

	for (u32 i = 0; list && i < list->count; i++)
		if (list->at[i].hz > hz && boost_fits(&list->at[i], facts))
			hz = list->at[i].hz;
	return hz;
}

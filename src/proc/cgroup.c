// SPDX-License-Identifier: Apache-2.0
#include "proc/cgroup.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/str.h"

/* What stands before an id in the last part of a path. The longer ones come first; no runtime: no container. */
static const struct {
	const char *prefix, *runtime;
} prefixes[] = {
	{ "crio-conmon-", NULL },	/* it watches a container */
	{ "libpod-conmon-", NULL },
	{ "docker-", "docker" },
	{ "cri-containerd-", "containerd" },
	{ "nerdctl-", "containerd" },
	{ "containerd-", "containerd" },
	{ "crio-", "cri-o" },
	{ "libpod-payload-", "podman" },
	{ "libpod-", "podman" },
	{ "podman-", "podman" },
};

static bool is_hex(struct str s)
{
	for (u32 i = 0; i < s.len; i++)
		if (!isxdigit((unsigned char)s.at[i]))
			return false;
	return s.len;
}

static bool is_digits(struct str s)
{
	for (u32 i = 0; i < s.len; i++)
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
	return s.len;
}

static struct str from(struct str s, u32 at)
{
	return (struct str){ s.at + at, s.len - at };
}

static struct str before(struct str s, const char *end)
{
	return str_ends(s, end) ? (struct str){ s.at, s.len - (u32)strlen(end) } : s;
}

static void put(char *to, size_t room, struct str s)
{
	size_t len = s.len < room - 1 ? s.len : room - 1;

	memcpy(to, s.at, len);
	to[len] = '\0';
	clean_text(to);
}
#define PUT(to, s) put(to, sizeof(to), s)

/* 8-4-4-4-12 digits with - or _ between them. */
static bool is_uuid(struct str s)
{
	if (s.len != POD_UID_BYTES)
		return false;
	for (u32 i = 0; i < s.len; i++) {
		bool is_gap = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_gap ? s.at[i] != '-' && s.at[i] != '_' : !isxdigit((unsigned char)s.at[i]))
			return false;
	}
	return true;
}

static void put_container(struct cgroup_place *place, struct str id, struct str name, const char *runtime)
{
	PUT(place->container_id, id);
	PUT(place->container_name, name);
	place->group[0] = '\0';
	place->runtime = runtime;
	place->unit[0] = '\0';		/* what it was in is not its own */
}

/* kubepods-burstable-pod<uid>.slice, pod<uid>; the uid of a static pod is 32 digits. */
static void take_pod(struct cgroup_place *place, struct str part)
{
	struct str rest;

	(void)str_cut(&part, ':', &rest);
	rest = before(rest, ".slice");
	for (u32 at = 0; at + 3 < rest.len; at++) {
		struct str uid = from(rest, at + 3);

		if ((at && rest.at[at - 1] != '-') || memcmp(rest.at + at, "pod", 3) != 0)
			continue;
		if (!is_uuid(uid) && !(uid.len == 32 && is_hex(uid)))
			continue;
		PUT(place->pod_uid, uid);
		for (char *c = place->pod_uid; *c; c++)
			if (*c == '_')
				*c = '-';
		return;
	}
}

/* What an id alone is depends on what it is in. */
static const char *runtime_above(struct str above)
{
	return str_is(above, "docker") ? "docker" : str_is(above, "libpod_parent") ? "podman" : "";
}

static bool take_id(struct cgroup_place *place, struct str above, struct str part)
{
	struct str id = before(part, ".scope");
	const char *colon = memrchr(id.at, ':', id.len);
	bool is_plain;

	if (colon)	/* systemd's form of a path, taken for a name: slice:cri-containerd:ID */
		id = from(id, (u32)(colon - id.at) + 1);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		struct str rest = from(id, str_starts(id, prefixes[i].prefix) ? (u32)strlen(prefixes[i].prefix) : 0);

		if (rest.len != CONTAINER_ID_BYTES || rest.len == id.len || !is_hex(rest))
			continue;
		if (prefixes[i].runtime)
			put_container(place, rest, (struct str){ "", 0 }, prefixes[i].runtime);
		return true;
	}
	is_plain = id.len == CONTAINER_ID_BYTES && is_hex(id);
	if (is_plain) {
		put_container(place, id, (struct str){ "", 0 },
			      colon && str_ends((struct str){ part.at, (u32)(colon - part.at) }, ":cri-containerd") ?
				      "containerd" : runtime_above(above));
		PUT(place->group, above);
	}
	return is_plain;
}

/* Of those whose names are no hashes, or other ones. */
static bool take_other(struct cgroup_place *place, struct str above, struct str part)
{
	static const struct str none = { "", 0 };
	const char *dash = memchr(part.at, '-', part.len);

	if (str_starts(part, "lxc.payload."))
		put_container(place, none, from(part, 12), "lxc");
	else if (str_is(above, "lxc") || str_is(above, "lxc.payload"))
		put_container(place, none, part, "lxc");
	else if (str_starts(part, "systemd-nspawn@") && str_ends(part, ".service"))
		put_container(place, none, before(from(part, 15), ".service"), "systemd-nspawn");
	else if (str_is(above, "garden") && is_uuid(part))
		put_container(place, part, none, "garden");
	else if (str_is(above, "buildkit") && part.len == 25)
		put_container(place, part, none, "buildkit");
	/* ECS on Fargate: /ecs/<32 digits>/<the same>-<a number> */
	else if (above.len == 32 && is_hex(above) && dash - part.at == 32 && !memcmp(part.at, above.at, 32) &&
		 is_digits(from(part, 33)))
		put_container(place, part, none, "ecs");
	else
		return false;
	return true;
}

/* nginx.service, postgresql@15-main.service; of a user's manager what runs in it counts, and app-NAME@ID is NAME. */
static void take_unit(struct cgroup_place *place, struct str part)
{
	struct str name = before(part, ".service");
	const char *at = memchr(name.at, '@', name.len);

	if (name.len == part.len || str_starts(part, "user@"))
		return;
	if (at && at != name.at)
		name.len = (u32)(at - name.at);
	if (str_starts(name, "app-"))
		name = from(name, 4);
	PUT(place->unit, name);
}

static void parse_path(struct str path, struct cgroup_place *ret_place)
{
	struct str part, above = { "", 0 };

	*ret_place = (struct cgroup_place){ .runtime = "" };
	while (str_cut(&path, '/', &part)) {
		if (!part.len)
			continue;
		take_pod(ret_place, part);
		if (!take_id(ret_place, above, part) && !take_other(ret_place, above, part))
			take_unit(ret_place, part);
		above = part;
	}
}

/* A container tells most, then a pod, then a unit. */
static int worth(const struct cgroup_place *place)
{
	return *place->runtime || place->container_id[0] ? 3 : place->pod_uid[0] ? 2 : place->unit[0] ? 1 : 0;
}

void cgroup_parse(const char *text, struct cgroup_place *ret_place)
{
	struct str rest = { text, (u32)strlen(text) }, line;

	*ret_place = (struct cgroup_place){ .runtime = "" };
	while (str_cut(&rest, '\n', &line)) {
		struct cgroup_place place;
		struct str number, controllers;

		if (!str_cut(&line, ':', &number) || !str_cut(&line, ':', &controllers))
			continue;
		parse_path(line, &place);
		if (worth(&place) > worth(ret_place))
			*ret_place = place;
	}
}

/* Is it among those with commas between them? */
static bool is_listed(struct str list, const char *word)
{
	size_t len = strlen(word);

	for (u32 at = 0; at + len <= list.len; at++)
		if (!memcmp(list.at + at, word, len) && (!at || list.at[at - 1] == ',') &&
		    (at + len == list.len || list.at[at + len] == ','))
			return true;
	return false;
}

void cgroup_cpu_path(const char *text, char ret_path[CGROUP_CPU_BYTES])
{
	const char *end;

	*ret_path = '\0';
	for (; *text; text = *end ? end + 1 : end) {
		const char *controllers = strchr(text, ':'), *path;
		bool is_cpuacct;
		int len;

		end = strchrnul(text, '\n');
		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path || path >= end || path[1] != '/')
			continue;
		is_cpuacct = is_listed((struct str){ controllers + 1, (u32)(path - controllers - 1) }, "cpuacct");
		if (!is_cpuacct && (*ret_path || path != controllers + 1))
			continue;
		len = snprintf(ret_path, CGROUP_CPU_BYTES, "%s%.*s", is_cpuacct ? "cpuacct:" : "",
			       (int)(end - path - 1), path + 1);
		if (len >= CGROUP_CPU_BYTES)
			*ret_path = '\0';
		clean_text(ret_path);
		if (is_cpuacct)
			return;
	}
}

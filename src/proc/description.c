// SPDX-License-Identifier: Apache-2.0
#include "proc/description.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "proc/peek.h"
#include "proc/process_context.h"
#include "proc/service_name.h"

#define ARGUMENTS_MAX 16384	/* class paths are long */
#define MAPS_MAX (4u << 20)
#define TEXT_MAX 131072
#define AGAIN_NS 10000000000ull	/* between looks at the time of a context that is known */

/* When a context is looked for after the first sample: libraries publish it as they start, some later. */
static const u64 looks_ns[] = { 1000000000ull, 10000000000ull, 60000000000ull };
#define LOOKS (sizeof(looks_ns) / sizeof(*looks_ns))

void description_done(struct description *d)
{
	free(d->text);
	*d = (struct description){ 0 };
}

/* ---- What a process publishes ---------------------------------------------------------------- */

static int read_memory(void *arg, u64 va, void *to, size_t bytes)
{
	const struct described *who = arg;

	return peek_memory(who->peek, who->place, who->tid, va, to, bytes);
}

/* Its payload, NULL if there is none; how many bytes. */
static size_t read_context(struct description *d, const struct described *who, void **ret_payload)
{
	const struct process_context_reader reader = { read_memory, (void *)who };
	_cleanup_(freep) char *maps = NULL;
	int r;

	if (!d->context_va && peek_text(who->peek, who->place, who->tid, "maps", MAPS_MAX, &maps) > 0)
		d->context_va = process_context_find(maps);
	if (!d->context_va)
		return 0;
	r = process_context_read(&reader, d->context_va, ret_payload, &d->context_time);
	if (r == -EBADMSG || r == -EFAULT)
		d->context_va = 0;
	return r < 0 ? 0 : (size_t)r;
}

/* Is there one that was not there before, perhaps? */
static bool has_news(struct description *d, const struct described *who, u64 now_ns)
{
	const struct process_context_reader reader = { read_memory, (void *)who };

	if (!description_is_due(d, now_ns))
		return false;
	if (d->context_va) {
		d->look_ns = now_ns + AGAIN_NS;
		return process_context_time(&reader, d->context_va) != d->context_time;
	}
	d->looks++;
	d->look_ns = d->looks < LOOKS ? now_ns + looks_ns[d->looks] : 0;
	return true;
}

/* ---- All of it ------------------------------------------------------------------------------- */

struct texts {
	char *arguments, *environment;
	int arguments_bytes, environment_bytes;
	char directory[PATH_MAX];
	struct cgroup_place place;
	char cgroup[CGROUP_CPU_BYTES];
};

static void texts_read(struct texts *t, const struct described *who)
{
	char path[64], text[8192];
	ssize_t bytes;

	t->arguments_bytes = peek_text(who->peek, who->place, who->tid, "cmdline", ARGUMENTS_MAX, &t->arguments);
	t->environment_bytes = peek_text(who->peek, who->place, who->tid, "environ", ENVIRONMENT_TEXT_MAX,
					 &t->environment);
	snprintf(path, sizeof(path), "/proc/%u/cwd", who->tid);
	bytes = readlink(path, t->directory, sizeof(t->directory) - 1);
	t->directory[bytes < 0 ? 0 : bytes] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/cgroup", who->tid);
	if (io_read_text(path, text, sizeof(text)) < 0)
		*text = '\0';
	cgroup_parse(text, &t->place);
	cgroup_cpu_path(text, t->cgroup);
}

static void texts_done(struct texts *t)
{
	free(t->arguments);
	free(t->environment);
}

static void write_one(struct buf *out, const char *key, const char *value)
{
	if (*value) {
		buf_addf(out, "%s=%s", key, value);
		buf_add(out, "", 1);
	}
}

static void write_all(const struct texts *t, const struct service_name *service, const struct environment_names *names,
		      struct buf *out)
{
	write_one(out, "container.id", t->place.container_id);
	write_one(out, "container.name", t->place.container_name);
	write_one(out, "container.runtime.name", t->place.runtime);
	write_one(out, "k8s.pod.uid", t->place.pod_uid);
	service_name_write(service, out);
	write_one(out, DESCRIPTION_CGROUP, t->cgroup);
	if (t->environment_bytes > 0)
		environment_pick(t->environment, (size_t)t->environment_bytes, names, out);
}

/* For lack of memory nothing new is said. */
static void describe(struct description *d, const struct described *who, const struct environment_names *names,
		     const void *context, size_t context_bytes)
{
	_cleanup_(texts_done) struct texts t = { 0 };
	_cleanup_(buf_done) struct buf out;
	struct service_name service;

	texts_read(&t, who);
	service_name_find(&(struct service_facts){ context, context_bytes, t.environment ? t.environment : "",
					      t.environment_bytes > 0 ? (size_t)t.environment_bytes : 0, &t.place, "",
					      { who->exe_path ? who->exe_path : "", t.arguments ? t.arguments : "",
						t.arguments_bytes > 0 ? (size_t)t.arguments_bytes : 0, t.directory } },
		     &service);
	buf_init(&out, TEXT_MAX);
	write_all(&t, &service, names, &out);
	if (buf_err(&out) < 0)
		return;
	free(d->text);
	d->number++;
	d->bytes = (u32)out.len;
	d->text = out.len ? TAKE(out.data) : NULL;
	d->is_published = context;
}

static void look_for_context(struct description *d, const struct described *who, const struct environment_names *names,
			     u64 now_ns)
{
	_cleanup_(freep) void *context = NULL;
	size_t bytes = read_context(d, who, &context);

	if (!context)
		return;
	d->look_ns = now_ns + AGAIN_NS;
	describe(d, who, names, context, bytes);
}

void description_update(struct description *d, const struct described *who, const struct environment_names *names,
			u64 now_ns)
{
	if (!d->is_known) {
		d->is_known = true;
		d->look_ns = now_ns + looks_ns[0];
		describe(d, who, names, NULL, 0);
	} else if (has_news(d, who, now_ns)) {
		look_for_context(d, who, names, now_ns);
	}
}

void description_inherit(const struct description *parent, u64 now_ns, struct description *ret_child)
{
	*ret_child = (struct description){ .look_ns = now_ns + looks_ns[0] };
	if (!parent->is_known || parent->is_published)
		return;
	ret_child->text = parent->text ? malloc(parent->bytes) : NULL;
	if (parent->text && !ret_child->text)
		return;		/* it is read when it is sampled */
	if (parent->text)
		memcpy(ret_child->text, parent->text, parent->bytes);
	ret_child->bytes = parent->bytes;
	ret_child->is_known = true;
}

void description_of_kernel(struct description *d)
{
	static const char text[] = "service.name=kernel\0" SERVICE_SOURCE_ATTRIBUTE "=program";

	if (d->is_known)
		return;
	d->is_known = true;
	d->text = malloc(sizeof(text));
	if (!d->text)
		return;
	memcpy(d->text, text, sizeof(text));
	d->bytes = sizeof(text);
}

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
#include "proc/apm_storage.h"
#include "proc/boost.h"
#include "proc/containers.h"
#include "proc/peek.h"
#include "proc/process_context.h"
#include "proc/process_status.h"
#include "proc/service_name.h"

#define ARGUMENTS_MAX 16384	/* class paths are long */
#define MAPS_MAX (4u << 20)
#define TEXT_MAX 131072
#define AGAIN_NS 10000000000ull	/* between looks at the time of a context that is known */
#define ASK_NS 100000000ull	/* an engine answers within milliseconds */
#define ASK_LATER_NS 60000000000ull

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

/* Where an APM agent says something; 0: it does not. */
static u64 find_agent(const struct described *who)
{
	const struct process_context_reader reader = { read_memory, (void *)who };

	return who->apm_variable_va ? apm_storage_at(&reader, who->apm_variable_va) : 0;
}

/* Does one? */
static bool read_agent(struct description *d, const struct described *who, struct apm_storage *ret_storage)
{
	const struct process_context_reader reader = { read_memory, (void *)who };
	u64 va = find_agent(who);

	if (!va || apm_storage_read(&reader, va, ret_storage) < 0)
		return false;
	d->apm_va = va;
	return true;
}

/* Does one say something that was not read yet? */
static bool agent_has_news(const struct description *d, const struct described *who)
{
	u64 va = find_agent(who);

	return va && va != d->apm_va;
}

/* Is there a context that was not there before, perhaps? */
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
	char cgroups[8192];	/* all of them, as /proc has them */
	struct cgroup_place place;
	struct container_about container;
	char cgroup[CGROUP_CPU_BYTES];
};

static void texts_read(struct texts *t, const struct described *who)
{
	char path[64];
	ssize_t bytes;

	t->arguments_bytes = peek_text(who->peek, who->place, who->tid, "cmdline", ARGUMENTS_MAX, &t->arguments);
	t->environment_bytes = peek_text(who->peek, who->place, who->tid, "environ", ENVIRONMENT_TEXT_MAX,
					 &t->environment);
	snprintf(path, sizeof(path), "/proc/%u/cwd", who->tid);
	bytes = readlink(path, t->directory, sizeof(t->directory) - 1);
	t->directory[bytes < 0 ? 0 : bytes] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/cgroup", who->tid);
	if (io_read_text(path, t->cgroups, sizeof(t->cgroups)) < 0)
		t->cgroups[0] = '\0';
	cgroup_parse(t->cgroups, &t->place);
	cgroup_cpu_path(t->cgroups, t->cgroup);
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

static void write_all(const struct texts *t, const struct service_name *service,
		      const struct description_options *options,
		      struct buf *out)
{
	write_one(out, "container.id", t->place.container_id);
	write_one(out, "container.name", t->place.container_name);
	buf_add(out, t->container.text, t->container.bytes);
	write_one(out, "container.runtime.name", t->place.runtime);
	write_one(out, "k8s.pod.uid", t->place.pod_uid);
	service_name_write(service, out);
	write_one(out, DESCRIPTION_CGROUP, t->cgroup);
	if (t->environment_bytes > 0)
		environment_pick(t->environment, (size_t)t->environment_bytes, &options->environment, out);
}

/* ---- Rules --------------------------------------------------------------------------------- */

static void judge(struct description *d, const struct description_options *options, const struct process_facts *facts)
{
	static const struct process_choice none;
	const struct process_choice *choice = options->choice ? options->choice : &none;
	const struct process_rule *rule = process_rules_find(choice->include, facts);

	d->is_unwanted = (choice->include && !rule) || process_rules_find(choice->exclude, facts);
	d->every = process_rule_every(rule);
	d->clock_hz = d->is_unwanted ? 0 : boost_hz(options->boosts, facts);
}

static void rename_service(const struct process_rule *rule, struct service_name *service)
{
#define X(member)									\
	if (rule->member && *rule->member)						\
		(void)snprintf(service->member, sizeof(service->member), "%s", rule->member);
	PROCESS_RULE_NAMES(X)
#undef X
	if (rule->name && *rule->name)
		service->source = SERVICE_FROM_RULE;
}

/* What it is called by the rules, and whether it is wanted. The arguments are one text from then on. */
static void choose(struct description *d, const struct described *who, const struct description_options *options,
		   struct texts *t, struct service_name *service)
{
	struct process_facts facts = { .service = service->name, .container_id = t->place.container_id,
				       .container_name = *t->container.name ? t->container.name :
									      t->place.container_name,
				       .pod_name = container_about_value(&t->container, "k8s.pod.name"),
				       .pod_uid = t->place.pod_uid, .cgroup = t->cgroups,
				       .executable = who->exe_path ? who->exe_path : "", .pid = who->pid };
	const struct process_choice *choice = options->choice;
	const struct process_rule *rule;
	struct process_status status;

	if (!choice && !options->boosts)
		return;
	for (int i = 0; i + 1 < t->arguments_bytes; i++)
		if (!t->arguments[i])
			t->arguments[i] = ' ';
	facts.command = t->arguments_bytes > 0 ? str_of(t->arguments) : (struct str){ "", 0 };
	if ((options->boosts || choice->needs_user) && process_status_read(who->pid, &status) == 0) {
		facts.uid = status.uid;
		facts.has_uid = true;
	}
	rule = process_rules_find(choice ? choice->services : NULL, &facts);
	if (rule)
		rename_service(rule, service);
	judge(d, options, &facts);
}

static void ask_for_container(struct description *d, struct containers *containers, struct texts *t, u64 now_ns)
{
	int r = containers_find(containers, &t->place, &t->container);

	d->is_unsure = r == -EAGAIN;
	d->ask_ns = r == -EAGAIN ? now_ns + ASK_NS : r == -EBUSY ? now_ns + ASK_LATER_NS : 0;
}

/* For lack of memory nothing new is said. */
static void describe(struct description *d, const struct described *who, const struct description_options *options,
		     const void *context, size_t context_bytes, u64 now_ns)
{
	_cleanup_(texts_done) struct texts t = { 0 };
	_cleanup_(buf_done) struct buf out;
	struct service_name service;
	struct apm_storage apm;
	bool has_agent = read_agent(d, who, &apm);

	texts_read(&t, who);
	ask_for_container(d, options->containers, &t, now_ns);
	service_name_find(&(struct service_facts){ context, context_bytes, has_agent ? &apm : NULL,
					      t.environment ? t.environment : "",
					      t.environment_bytes > 0 ? (size_t)t.environment_bytes : 0, &t.place,
					      t.container.service,
					      { who->exe_path ? who->exe_path : "", t.arguments ? t.arguments : "",
						t.arguments_bytes > 0 ? (size_t)t.arguments_bytes : 0, t.directory } },
		     &service);
	buf_init(&out, TEXT_MAX);
	choose(d, who, options, &t, &service);
	write_all(&t, &service, options, &out);
	if (buf_err(&out) < 0)
		return;
	free(d->text);
	d->number++;
	d->bytes = (u32)out.len;
	d->text = out.len ? TAKE(out.data) : NULL;
	d->is_published = context || has_agent;
}

static void look_for_published(struct description *d, const struct described *who,
			       const struct description_options *options, u64 now_ns)
{
	_cleanup_(freep) void *context = NULL;
	size_t bytes = read_context(d, who, &context);

	if (!context && !agent_has_news(d, who))
		return;
	if (context)
		d->look_ns = now_ns + AGAIN_NS;
	describe(d, who, options, context, bytes, now_ns);
}

/* Its engine may have answered, or the rules are others: all is read again, what it publishes, too. */
static void describe_again(struct description *d, const struct described *who,
			   const struct description_options *options, u64 now_ns)
{
	_cleanup_(freep) void *context = NULL;
	size_t bytes = d->is_published ? read_context(d, who, &context) : 0;

	describe(d, who, options, context, bytes, now_ns);
}

void description_update(struct description *d, const struct described *who, const struct description_options *options,
			u64 now_ns)
{
	if (!d->is_known) {
		d->is_known = true;
		d->look_ns = now_ns + looks_ns[0];
		describe_again(d, who, options, now_ns);
	} else if (d->ask_ns && now_ns >= d->ask_ns) {
		describe_again(d, who, options, now_ns);
	} else if (has_news(d, who, now_ns)) {
		look_for_published(d, who, options, now_ns);
	}
}

void description_inherit(const struct description *parent, u64 now_ns, struct description *ret_child)
{
	*ret_child = (struct description){ .look_ns = now_ns + looks_ns[0] };
	if (!parent->is_known || parent->is_published || parent->ask_ns || parent->clock_hz)
		return;
	ret_child->text = parent->text ? malloc(parent->bytes) : NULL;
	if (parent->text && !ret_child->text)
		return;		/* it is read when it is sampled */
	if (parent->text)
		memcpy(ret_child->text, parent->text, parent->bytes);
	ret_child->bytes = parent->bytes;
	ret_child->is_unwanted = parent->is_unwanted;
	ret_child->every = parent->every;
	ret_child->is_known = true;
}

void description_expect(struct description *d, u64 now_ns)
{
	d->looks = 0;
	d->look_ns = now_ns + looks_ns[0];
}

void description_forget(struct description *d)
{
	d->is_known = d->is_unwanted = false;
	d->every = 0;
	d->clock_hz = 0;
}

void description_of_kernel(struct description *d, const struct description_options *options)
{
	static const char text[] = "service.name=kernel\0" SERVICE_SOURCE_ATTRIBUTE "=program";
	const struct process_facts facts = { "kernel", "", "", "", "", "", "", { "", 0 }, 0, 0, true };

	if (d->is_known)
		return;
	d->is_known = true;
	judge(d, options, &facts);
	if (!d->text)
		d->text = malloc(sizeof(text));
	if (!d->text)
		return;
	memcpy(d->text, text, sizeof(text));
	d->bytes = sizeof(text);
}

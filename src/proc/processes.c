// SPDX-License-Identifier: Apache-2.0
#include "proc/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "proc/maps.h"
#include "proc/peek.h"

#define BUCKETS 4096
#define COMMAND_LINE_MAX 4096
#define MAPS_TEXT_MAX (64u << 20)	/* of all mappings of a process, as /proc shows them */
#define ENDED_BUCKETS 32		/* looked at in a tenth of a second: all of them in 13 s */
#define KEEP_EXITED_NS 2000000000ull	/* samples of an ended process may still be on their way */

struct processes {
	struct processes_ops ops;
	struct process *buckets[BUCKETS];
	struct process *exited, **exited_end;
	u32 unsure_count;	/* the last of the buckets: processes may have ended there unheard */
	u64 next_serial;
	struct processes_stats stats;
};

int processes_new(const struct processes_ops *ops, struct processes **ret_processes)
{
	struct processes *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->ops = *ops;
	t->exited_end = &t->exited;
	t->next_serial = 1;
	*ret_processes = t;
	return 0;
}

static void process_set_maps(struct processes *t, struct process *p, struct maps *maps)
{
	if (maps_unref(p->maps)) {
		if (p->maps->installed_count || p->maps->slot)
			t->ops.maps_gone(t->ops.arg, p->maps);
		maps_free(p->maps);
	}
	p->maps = maps;
}

static void process_free(struct processes *t, struct process *p)
{
	if (!p)
		return;
	if (p->is_identified)
		t->ops.process_gone(t->ops.arg, p);
	process_set_maps(t, p, NULL);
	free(p->exe_path);
	free(p->command_line);
	description_done(&p->description);
	free(p);
	t->stats.known--;
}

void processes_free(struct processes *t)
{
	struct process *next;

	if (!t)
		return;
	for (u32 i = 0; i < BUCKETS; i++) {
		for (struct process *p = t->buckets[i]; p; p = next) {
			next = p->next;
			process_free(t, p);
		}
	}
	free(t);
}

static struct process **processes_link(struct processes *t, u32 pid)
{
	struct process **link = &t->buckets[pid % BUCKETS];

	while (*link && (*link)->pid != pid)
		link = &(*link)->next;
	return link;
}

struct process *processes_find(struct processes *t, u32 pid)
{
	return *processes_link(t, pid);
}

static void processes_unlink_exited(struct processes *t, struct process *p)
{
	struct process **link = &t->exited;

	if (!p->exited_ns)
		return;
	while (*link && *link != p)
		link = &(*link)->next_exited;
	if (!*link)
		return;
	*link = p->next_exited;
	if (t->exited_end == &p->next_exited)
		t->exited_end = link;
}

static void processes_remove(struct processes *t, u32 pid)
{
	struct process **link = processes_link(t, pid), *p = *link;

	if (!p)
		return;
	*link = p->next;
	processes_unlink_exited(t, p);
	if (!p->holds) {
		process_free(t, p);
		return;
	}
	p->is_removed = p->is_gone = true;
	if (!p->exited_ns)
		p->exited_ns = 1;
}

struct process *process_hold(struct process *p)
{
	p->holds++;
	return p;
}

void process_release(struct processes *t, struct process *p)
{
	if (--p->holds == 0 && p->is_removed)
		process_free(t, p);
}

/* A new process in place of one that may have had its pid. */
static struct process *processes_add(struct processes *t, u32 pid)
{
	struct process *p;

	processes_remove(t, pid);
	if (t->stats.known >= PROCESSES_MAX) {
		t->stats.full++;
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->maps = maps_new();
	if (!p->maps) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	p->serial = t->next_serial++;
	p->next = t->buckets[pid % BUCKETS];
	t->buckets[pid % BUCKETS] = p;
	t->stats.known++;
	return p;
}

struct process *processes_identify(struct processes *t, u32 pid, const struct proc_id *id)
{
	struct process *p = processes_find(t, pid);

	if (p && p->is_identified && (p->id.start_ns != id->start_ns || p->id.exec_id != id->exec_id))
		p = NULL;
	if (!p)
		p = processes_add(t, pid);
	if (!p)
		return NULL;
	p->id = *id;
	p->is_identified = true;
	return p;
}

bool process_is(const struct process *p, const struct proc_id *id)
{
	return p && p->is_identified && p->id.start_ns == id->start_ns && p->id.exec_id == id->exec_id;
}

bool processes_is_newer(const struct process *p, const struct trace_record *sample)
{
	if (!p->is_identified)
		return sample->time_ns < p->since_ns;
	if (p->id.start_ns != sample->id.start_ns)
		return p->id.start_ns > sample->id.start_ns;
	return p->id.exec_id > sample->id.exec_id;
}

static char *copy_string(const char *text)
{
	return text ? strdup(text) : NULL;
}

void processes_fork(struct processes *t, u32 parent_pid, u32 child_pid, u64 time_ns)
{
	struct process *parent = processes_find(t, parent_pid), *child;
	struct maps *maps;

	maps = parent ? maps_ref(parent->maps) : NULL;
	child = processes_add(t, child_pid);
	if (!child) {
		(void)maps_unref(maps);
		return;
	}
	child->since_ns = time_ns;
	/* An unknown parent's child is read from /proc when it is first sampled. */
	if (!parent) {
		child->parent_pid = parent_pid;
		return;
	}
	process_set_maps(t, child, maps);
	child->maps_known = parent->maps_known;
	/* What the kernel half copied at the fork lacks what the parent's tables lack. */
	child->maps_changed = parent->maps_changed;
	child->installed_ns = parent->installed_ns;
	child->requests_look_ns = parent->requests_look_ns || parent->requests ? time_ns : 0;
	child->apm_variable_va = parent->apm_variable_va;
	memcpy(child->comm, parent->comm, sizeof(child->comm));
	description_inherit(&parent->description, time_ns, &child->description);
	child->exe_path = copy_string(parent->exe_path);
	child->command_line = copy_string(parent->command_line);
}

void processes_exec(struct processes *t, u32 pid, const char *comm, u64 time_ns)
{
	struct process *p = processes_add(t, pid);

	if (!p)
		return;
	/* All that it maps from now on will be reported. */
	p->since_ns = time_ns;
	p->maps_known = true;
	snprintf(p->comm, sizeof(p->comm), "%s", comm);
}

void processes_comm(struct processes *t, u32 pid, const char *comm)
{
	struct process *p = processes_find(t, pid);

	if (p)
		snprintf(p->comm, sizeof(p->comm), "%s", comm);
}

struct maps *process_own_maps(struct processes *t, struct process *p)
{
	struct maps *copy;

	if (p->maps->refs == 1)
		return p->maps;
	copy = maps_copy(p->maps);
	if (copy)
		process_set_maps(t, p, copy);
	return copy;
}

void processes_mmap(struct processes *t, u32 pid, const struct mapping *mapping)
{
	struct process *p = processes_find(t, pid);
	struct maps *maps;

	if (!p)
		return;
	/* The first file that a new program maps is itself. */
	if (!p->exe_path && p->maps_known && mapping->kind == MAPPING_FILE)
		p->exe_path = copy_string(mapping->path);
	maps = process_own_maps(t, p);
	if (!maps || maps_add(maps, mapping) < 0)
		t->stats.maps_dropped++;
	p->maps_changed = true;
}

void processes_exit(struct processes *t, u32 pid, u64 time_ns)
{
	struct process *p = processes_find(t, pid);

	if (!p || p->exited_ns)
		return;
	p->exited_ns = time_ns;
	p->next_exited = NULL;
	*t->exited_end = p;
	t->exited_end = &p->next_exited;
}

void processes_sweep(struct processes *t, u64 now_ns)
{
	while (t->exited && now_ns > t->exited->exited_ns + KEEP_EXITED_NS)
		processes_remove(t, t->exited->pid);
}

static void process_read_exe(struct process *p, u32 tid)
{
	char path[64], target[PATH_MAX];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/proc/%u/exe", tid);
	bytes = readlink(path, target, sizeof(target) - 1);
	if (bytes < 0)
		return;
	target[bytes] = '\0';
	free(p->exe_path);
	p->exe_path = strdup(target);
}

static void process_read_comm(struct process *p)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/comm", p->pid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(p->comm, sizeof(p->comm), file))
		p->comm[strcspn(p->comm, "\n")] = '\0';
	fclose(file);
}

static void process_read_command_line(struct peek *peek, struct process *p, u32 tid)
{
	_cleanup_(freep) char *text = NULL;
	int bytes = peek_text(peek, peek_process(p->serial), tid, "cmdline", COMMAND_LINE_MAX, &text);

	if (bytes < 0)
		return;
	while (bytes && !text[bytes - 1])
		bytes--;
	for (int i = 0; i < bytes; i++)
		if (!text[i])
			text[i] = ' ';
	p->command_line = strndup(text, (size_t)bytes);
}

void processes_describe(struct processes *t, struct process *p, u32 tid, u64 now_ns)
{
	if (t->ops.command_lines && !p->command_line)
		process_read_command_line(t->ops.peek, p, tid);
	if (!p->exe_path)
		process_read_exe(p, tid);
	if (!p->comm[0])
		process_read_comm(p);
	description_update(&p->description,
			   &(struct described){ t->ops.peek, peek_process(p->serial), tid, p->pid, p->exe_path,
						p->apm_variable_va }, &t->ops.description, now_ns);
}

void processes_describe_sample(struct processes *t, struct process *p, const struct trace_record *sample)
{
	if (sample->end == END_KERNEL_THREAD)
		description_of_kernel(&p->description, &t->ops.description);
	else if (!p->is_removed)
		processes_describe(t, p, sample->tid, sample->time_ns);
}

void processes_choose(struct processes *t, const struct process_choice *choice, const struct boost_list *boosts)
{
	t->ops.description.choice = choice;
	t->ops.description.boosts = boosts;
	for (u32 i = 0; i < BUCKETS; i++) {
		for (struct process *p = t->buckets[i]; p; p = p->next) {
			description_forget(&p->description);
			p->rate_told_ns = 0;
		}
	}
}

void processes_distrust(struct processes *t)
{
	t->unsure_count = t->unsure_count ? t->unsure_count : BUCKETS;
	for (u32 i = 0; i < BUCKETS; i++) {
		for (struct process *p = t->buckets[i]; p; p = p->next) {
			p->maps_known = false;
			p->scanned_ns = 0;
		}
	}
}

/* In a storm events are lost again and again: a pass that is under way is not begun anew, or it would never end. */
void processes_find_ended(struct processes *t, u64 now_ns)
{
	for (u32 i = 0; i < ENDED_BUCKETS && t->unsure_count; i++) {
		t->unsure_count--;
		for (struct process *p = t->buckets[t->unsure_count]; p; p = p->next)
			if (!p->exited_ns && kill((pid_t)p->pid, 0) < 0 && errno == ESRCH)
				processes_exit(t, p->pid, now_ns);
	}
}

void processes_each(struct processes *t, void (*fn)(void *arg, struct process *process), void *arg)
{
	for (u32 i = 0; i < BUCKETS; i++)
		for (struct process *p = t->buckets[i]; p; p = p->next)
			fn(arg, p);
}

/* The number of executable mappings that /proc shows for a thread, or -errno. */
static int processes_read_maps(struct processes *t, struct process *p, u32 tid)
{
	struct maps *maps = process_own_maps(t, p);
	_cleanup_(freep) char *text = NULL;
	FILE *file;
	int r;

	if (!maps)
		return -ENOMEM;
	r = peek_text(t->ops.peek, peek_process(p->serial), tid, "maps", MAPS_TEXT_MAX, &text);
	if (r <= 0)
		return r;
	file = fmemopen(text, (size_t)r, "r");
	if (!file)
		return -errno;
	r = maps_read(maps, file);
	fclose(file);
	t->stats.maps_dropped += maps->dropped_count;
	return r < 0 ? r : (int)maps->count;
}

/* The child of a process that we did not know has the mappings that this one has. */
static int processes_read_parent(struct processes *t, struct process *p)
{
	struct process *parent = p->parent_pid ? processes_find(t, p->parent_pid) : NULL;
	int r = -ESRCH;

	if (!p->parent_pid)
		return r;
	if (!parent)
		parent = processes_add(t, p->parent_pid);
	if (!parent)
		return -ENOMEM;
	if (!parent->maps_known)
		r = processes_scan(t, parent, parent->pid);
	if (!parent->maps_known)
		return r;
	process_set_maps(t, p, maps_ref(parent->maps));
	if (!p->exe_path)
		p->exe_path = copy_string(parent->exe_path);
	return (int)p->maps->count;
}

int processes_scan(struct processes *t, struct process *p, u32 tid)
{
	int r;

	t->stats.scans++;
	/* The leader may have ended before its threads; any of them shows the same mappings. */
	r = processes_read_maps(t, p, tid);
	if (r > 0)
		processes_describe(t, p, tid, monotonic_ns());
	else if (p->parent_pid)
		r = processes_read_parent(t, p);
	p->maps_known = p->maps_changed = r > 0;
	p->is_gone = r <= 0;
	t->stats.scan_failures += p->is_gone;
	return r < 0 ? r : 0;
}

struct processes_stats processes_stats(const struct processes *t)
{
	return t->stats;
}

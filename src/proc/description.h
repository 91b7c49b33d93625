/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc tells of a process beyond its mappings, as attributes of the
 * resource that it becomes: container.id, k8s.pod.uid, service.name and alike,
 * and the variables that the user asked for. It is read once for each program,
 * when it is first sampled, and bounded.
 *
 * What its container is called its engine says (proc/containers.h), some time after it was asked.
 *
 * Tracing libraries publish a process context some time after the start, and may change it: it is looked for a few
 * times, later and later, and once found its time is looked at now and then (proc/process_context.h). So is what an APM
 * agent says, if there is one (proc/apm_storage.h), until it is found.
 *
 * The tracer's thread owns it, as the process that it is a part of.
 */
#ifndef PROC_DESCRIPTION_H
#define PROC_DESCRIPTION_H

#include <stdbool.h>

#include "base/types.h"
#include "proc/environment.h"
#include "proc/process_rules.h"

/* A key with a dot before it is not an attribute of the resource. */
#define DESCRIPTION_CGROUP ".cgroup"	/* see cgroup_cpu_path() */

struct boost_list;
struct containers;
struct peek;

/* Who is to be described. */
struct described {
	struct peek *peek;
	u64 place;		/* for peek */
	u32 tid, pid;
	const char *exe_path;	/* or NULL */
	u64 apm_variable_va;	/* where an APM agent says what it is (proc/apm_storage.h); 0: there is none */
};

struct description_options {
	struct environment_names environment;	/* variables that are wanted */
	const struct process_choice *choice;	/* rules, or NULL */
	const struct boost_list *boosts;	/* who is sampled faster now, or NULL */
	struct containers *containers;		/* who knows their names; NULL: nobody is asked */
};

struct description {
	char *text;		/* KEY=value, each ended by NUL; NULL: nothing */
	u32 bytes;
	u32 number;		/* of this text */
	bool is_known;		/* it was read, whatever came of it */
	bool is_unwanted;	/* by the rules */
	bool is_unsure;		/* ... as far as is known: its container is being asked for */
	u32 every;		/* one of so many samples is wanted, by the rules; 0: all */
	u32 clock_hz;		/* it is sampled by this clock; 0: by that of all others */
	bool is_published;	/* some of it is from a process context, which a child does not inherit, or an agent */
	u8 looks;		/* for what it publishes */
	u64 look_ns;		/* when the next is due */
	u64 ask_ns;		/* when its container is to be asked for again; 0: never */
	u64 context_va, context_time;	/* 0: none was found */
	u64 apm_va;		/* what an APM agent says, where it was read; 0: it was not */
};

void description_done(struct description *description);

/* Reads what is not known, and looks for a context where that is due. now_ns is the time of the sample. */
void description_update(struct description *description, const struct described *who,
			const struct description_options *options, u64 now_ns);

/* The process has got an APM agent, which may have something to say soon. */
void description_expect(struct description *description, u64 now_ns);

/* The rules are others: it is read again. */
void description_forget(struct description *description);

/* Is there something to look for at that time? */
static inline bool description_is_due(const struct description *description, u64 now_ns)
{
	return !description->is_known || (description->look_ns && now_ns >= description->look_ns) ||
	       (description->ask_ns && now_ns >= description->ask_ns);
}

/* For a child: the same but for what is the parent's own. */
void description_inherit(const struct description *parent, u64 now_ns, struct description *ret_child);

/* A service for kernel threads, which have nothing that could be read. */
void description_of_kernel(struct description *description, const struct description_options *options);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about processes: which are meant, and what they are called. Of a list
 * the first whose conditions all hold counts.
 *
 * Whoever made a list owns it; one thread at a time looks.
 */
#ifndef PROC_PROCESS_RULES_H
#define PROC_PROCESS_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/types.h"

struct buf;
struct process_rules;

#define PROCESS_RULES_MAX 256

/* X(member): the texts of a rule, "" or NULL where not given. */
#define PROCESS_RULE_CONDITIONS(X) X(service) X(container) X(pod) X(executable) X(command) X(cgroup) X(user)
#define PROCESS_RULE_NAMES(X) X(name) X(namespace) X(version) X(environment)

/*
 * service is compared as it is; container with a name, an id, or the first 12 digits or more of one; pod with its name
 * or uid; executable (the path), command (arguments with blanks between) and cgroup (the lines of /proc/PID/cgroup) are
 * regular expressions; user is a name or a number; pid 0: any. rate is no condition: that part of the samples of a
 * process is taken.
 */
struct process_rule {
#define X(member) const char *member;
	PROCESS_RULE_CONDITIONS(X)
	PROCESS_RULE_NAMES(X)
#undef X
	s64 pid;
	double rate;		/* 0: all of them */
};

#define PROCESS_RULE_EVERY_MAX 1000

/* One of so many samples is taken, by a rule; 0: all, also without a rule (NULL). */
u32 process_rule_every(const struct process_rule *rule);

/* What is known of a process; texts may be "". */
struct process_facts {
	const char *service, *container_id, *container_name, *pod_name, *pod_uid, *executable, *cgroup;
	struct str command;
	u32 pid, uid;
	bool has_uid;
};

/* Copies texts. -EINVAL and a sentence: a pattern that is none, a user that there is not, a rule without conditions. */
int process_rules_new(const struct process_rule *at, u32 count, struct process_rules **ret_rules, struct buf *why);
void process_rules_free(struct process_rules *rules);
DEFINE_CLEANUP(struct process_rules *, process_rules_free)

/* The rule that fits, or NULL. rules may be NULL: there are none. */
const struct process_rule *process_rules_find(struct process_rules *rules, const struct process_facts *facts);

/* ---- All that is wanted of processes -------------------------------------------------------------------- */

struct process_rule_list {
	const struct process_rule *at;
	u32 count;
};

struct process_choice_spec {
	struct process_rule_list services;	/* what they are called, whatever they say themselves */
	struct process_rule_list include;	/* only these, if there are any */
	struct process_rule_list exclude;	/* not these */
};

/* Members are NULL where there are no rules. */
struct process_choice {
	struct process_rules *services, *include, *exclude;
	bool needs_user;		/* one of them asks for it */
};

bool process_choice_is_given(const struct process_choice_spec *spec);
int process_choice_new(const struct process_choice_spec *spec, struct process_choice **ret_choice, struct buf *why);
void process_choice_free(struct process_choice *choice);
DEFINE_CLEANUP(struct process_choice *, process_choice_free)

/* As bytes, for another process: each rule is a letter for its list, its texts, pid and rate, each ended by NUL. */
#define PROCESS_CHOICE_BYTES_MAX ((size_t)1 << 20)
void process_choice_write(const struct process_choice_spec *spec, struct buf *out);
int process_choice_read(const char *text, size_t bytes, struct process_choice **ret_choice, struct buf *why);

#endif

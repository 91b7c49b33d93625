/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files the service may use, where the kernel has Landlock (base/landlock.h): it reads what programs of any kind
 * need (libraries, certificates, names of hosts, /proc), what the configuration names, and files of programs to take
 * names from; it writes to the directories of the configuration, and nowhere else. That matters most where its user
 * owns more than that: root, or whoever has started it.
 *
 * A file has a rule together with its directory, since it is replaced by rename() one day, unless that holds all kinds
 * of things, as /etc does. So a reload can name files that nothing lets us to, and a file can have been replaced: only
 * another process helps.
 */
#ifndef CMD_SERVICE_FILES_H
#define CMD_SERVICE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct buf;
struct confinement;
struct metrics;
struct service_paths;

struct service_rule;

struct service_files {
	struct service_rule *rules;
	u32 count, cap;
	int abi;		/* 0: there are no rules */
};

/*
 * Makes the rules and hands them to *c, which enforces them; none where the kernel has none. `notice` gets a sentence
 * that tells what holds.
 */
int service_files_allow(struct service_files *files, const struct service_paths *paths, struct confinement *c,
			struct buf *notice);
void service_files_done(struct service_files *files);

/* The rules hold from now on. */
void service_files_begin(struct service_files *files);

/* What a configuration names and no rule does; or a file that has one and was replaced. Into `path`. */
bool service_files_lack(const struct service_files *files, const struct service_paths *paths, char *path, size_t bytes);
bool service_files_lost(const struct service_files *files, char *path, size_t bytes);

/* wick_service_landlock_abi. */
int service_files_tell(struct service_files *files, struct metrics *metrics);

#endif

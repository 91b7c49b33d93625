/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives processes their unwind tables: finds the binaries behind their
 * mappings, gets each binary's rows (from the cache on disk, else from the
 * reader), and puts both into the kernel's tables. Rows are shared by all
 * processes that map the file.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_INSTALLER_H
#define TRACER_INSTALLER_H

#include <stdbool.h>

#include "abi.h"
#include "base/cleanup.h"

struct binary;
struct lang_ops;
struct installer;
struct maps;
struct process;
struct peek;
struct reader;
struct runtimes;
struct tables;

struct installer_stats {
	u64 files, unreadable, not_elf, full;
	u64 rows_none, rows_failed, rows_cut, rows_cached;
	u64 rows_left_out;	/* mappings of generated code, too large for those that it has */
};

struct installer_options {
	struct tables *tables;
	struct reader *reader;
	struct peek *peek;	/* how processes are looked at */
	const char *cache_path;
	u32 langs;			/* bit n: language n is wanted */
	u32 lang_wishes;		/* lang/options.h */
	int (*load_lang)(void *arg, u32 lang, const struct lang_ops *ops);	/* puts its program into place */
	/* As in struct lang_process. */
	int (*recall)(void *arg, const struct kept_key *key, struct kept_objects *ret_kept);
	void (*breathe)(void *arg);	/* called between files, which can take long to read */
	void *arg;
};

int installer_new(const struct installer_options *options, struct installer **ret_installer);
void installer_free(struct installer *installer);
DEFINE_CLEANUP(struct installer *, installer_free)

/* Installs a process's mappings as they are now and publishes them under its identity. */
int installer_install(struct installer *installer, struct process *process, u64 now_ns);

/* Takes installed mappings back. */
void installer_remove(struct installer *installer, struct maps *maps, u64 now_ns);

/* Lets go of files that nobody maps or names any more. Call it every half minute or so. */
void installer_sweep(struct installer *installer, u64 now_ns);

/* The binary of a frame's id: borrowed, or NULL. */
struct binary *installer_binary(void *installer, u32 id);

/* The runtimes of languages in the processes. */
struct runtimes *installer_runtimes(const struct installer *installer);

struct source_maps_stats installer_source_maps(const struct installer *installer);

struct installer_stats installer_stats(const struct installer *installer);

#endif

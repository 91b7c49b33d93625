/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives processes their unwind tables: puts their mappings, with what is known
 * of the files behind them by now (tracer/modules.h), into the kernel's tables.
 *
 * The tracer's thread owns it. It owns nothing itself.
 */
#ifndef TRACER_INSTALLER_H
#define TRACER_INSTALLER_H

#include "abi.h"

struct maps;
struct modules;
struct process;
struct requests;
struct runtimes;
struct tables;

struct installer {
	struct tables *tables;
	struct modules *modules;
	struct runtimes *runtimes;
	struct requests *requests;
	u64 rows_left_out;	/* mappings of generated code, too large for those that it has */
	u64 rested;		/* processes whose tables made room for others' */
};

/* Installs a process's mappings as they are now and publishes them under its identity. */
int installer_install(struct installer *installer, struct process *process, u64 now_ns);

/* Publishes what else is known of a process by now, with the mappings that are installed. */
int installer_tell(struct installer *installer, const struct process *process);

/*
 * Takes the tables of a process back that has not been sampled for INSTALLER_IDLE_NS, to make room for others: its next
 * sample brings them again. Not those that children may have got from it in the kernel, nor those of runtimes.
 */
void installer_rest(struct installer *installer, struct process *process, u64 now_ns);
#define INSTALLER_IDLE_NS 10000000000ull

/* Takes installed mappings back. */
void installer_remove(struct installer *installer, struct maps *maps, u64 now_ns);

#endif

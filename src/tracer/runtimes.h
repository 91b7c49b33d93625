/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtimes of languages (lang/) in the watched processes: takes them up,
 * tells their kernel halves, and names the frames that these send.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_RUNTIMES_H
#define TRACER_RUNTIMES_H

#include <stdbool.h>

#include "abi.h"
#include "base/cleanup.h"

struct loader;
struct maps;
struct modules;
struct peek;
struct process;
struct rows;
struct runtimes;
struct source_maps;
struct tables;
struct window_frame;

#define RUNTIMES_ALL (~0u)

struct unread;

struct runtimes_stats {
	u64 attached;		/* runtimes taken up */
	u64 newer;		/* ... of versions that are read as the newest we know */
	u64 refused;		/* ... that could not be: too old, too new, unreadable */
	u64 programs_failed;	/* languages whose program the kernel did not take */
	u64 asked;		/* frames that were new */
	u64 unnamed;		/* frames that could not be named */
	u64 dropped;		/* pieces of generated code that were told of and could not be kept */
	u64 evictions;		/* times the names of a process were forgotten for lack of room */
};

struct runtimes_options {
	struct tables *tables;
	struct peek *peek;	/* how processes are looked at */
	u32 langs;		/* bit n: language n is wanted */
	u32 wishes;		/* lang/options.h */
	struct loader *loader;	/* of the languages' programs; NULL: there are none */
	struct modules *modules;
	struct source_maps *source_maps;
};

int runtimes_new(const struct runtimes_options *options, struct runtimes **ret_runtimes);
void runtimes_free(struct runtimes *runtimes);
DEFINE_CLEANUP(struct runtimes *, runtimes_free)

/* Is there a runtime in the process that runtimes_attach() would take up now, or try to? */
bool runtimes_are_due(const struct runtimes *runtimes, const struct process *process, u64 now_ns);

/*
 * Takes up what is new in a process whose binaries are known, and fills the slots of its mappings. True if there is
 * something new of which the kernel's tables should tell.
 */
bool runtimes_attach(struct runtimes *runtimes, struct process *process, u64 now_ns);

/* Is a runtime of the process still starting up; is it time to attach it again? */
bool runtimes_waits(const struct process *process);
bool runtimes_should_retry(const struct process *process, u64 now_ns);

/* Is one starting, and has not been for long? What is sampled in its code can wait for it then. */
bool runtimes_are_starting(const struct process *process);

/* Does one wait for its program, which is being loaded, and can its frames be found in copies of stacks meanwhile? */
bool runtimes_are_loading(const struct process *process);

/* The language that has generated the code in anonymous memory of a process, or 0. */
u32 runtimes_owner(const struct process *process, u64 start_va, u64 end_va);

/*
 * How generated code there is unwound, if a runtime knows: rows with addresses less base_va, or -ENODATA. The order is
 * 0 if there are none, else it goes up when there are others.
 */
u64 runtimes_rows_order(const struct process *process, u64 start_va, u64 end_va);
int runtimes_rows(const struct process *process, u64 start_va, u64 end_va, u64 base_va, struct rows **ret_rows);

/*
 * A stack of the process has ended so: its last frames may be in code that a runtime can be asked to look through. True
 * if one has just now, and the process is to get tables with what it has found.
 */
bool runtimes_meet(struct process *process, const u64 *user, u32 user_count, u8 end);

/* Are there others than those that there were when they were taken? To be asked, and taken, before rows are. */
bool runtimes_has_rows(const struct process *process);
void runtimes_take_rows(const struct process *process);

/* The language whose program starts the walks of a process, or 0. */
u32 runtimes_start(const struct process *process);

/* Names a frame: both words of FRAME_RUNTIME, or FRAME_VA and 0. NULL if nobody can. Good until the next call. */
struct window_frame *runtimes_name(struct runtimes *runtimes, struct process *process, const u64 frame[2]);

/* The slots of mappings that nobody uses any more. */
void runtimes_drop_slots(struct runtimes *runtimes, struct maps *maps, u64 now_ns);

void runtimes_forget(struct runtimes *runtimes, struct process *process);

/* A sample of the process came. */
void runtimes_count(struct runtimes *runtimes, const struct process *process);

/* The runtimes that were met and are not read, with the samples of their processes: how many; borrowed. */
u32 runtimes_unread(const struct runtimes *runtimes, const struct unread **ret_unread);

struct runtimes_stats runtimes_stats(const struct runtimes *runtimes);

#endif

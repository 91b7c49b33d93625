/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the kernel half: the maps and programs that there are whatever is
 * sampled, then the object of each kind, and those of languages when they are
 * met. Sets their switches and the sizes of their maps before, makes the ring
 * buffers after. Owns the BPF objects and the unwind tables.
 */
#ifndef TRACER_LOADER_H
#define TRACER_LOADER_H

#include "abi.h"
#include "base/cleanup.h"
#include "tracer/sampler.h"

struct buf;
struct lang_ops;
struct loader;
struct reader;
struct tables;
struct tracer_options;

/* The reader looks at files that probes are in. On failure `why` gets a sentence. */
int loader_open(const struct tracer_options *options, struct reader *reader, struct loader **ret_loader,
		struct buf *why);
void loader_free(struct loader *loader);
DEFINE_CLEANUP(struct loader *, loader_free)

/*
 * Loads the program of a language for each kind, and puts it where walks can be handed over to it. A thread does: the
 * kernel may check it for seconds. -EINPROGRESS while it does: ask again.
 */
int loader_load_lang(struct loader *loader, u32 lang, const struct lang_ops *ops);

/* What the program of a language has kept of a frame's objects: 0, or -ENOENT. */
int loader_recall(const struct loader *loader, const struct kept_key *key, struct kept_objects *ret_kept);

/* Attaches what is not attached to the clock: children are followed from now on. `why` may get a sentence. */
int loader_attach(struct loader *loader, struct buf *why);

/* Takes no samples of kinds that are not the clock's, or again. As above. */
int loader_pause(struct loader *loader, bool pause, struct buf *why);

/* A file from which records of all threads' times can be read, the caller's to close; -ENOENT: nobody wants them. */
int loader_accounts(const struct loader *loader);

/* The map that OBI's is put into (tracer/obi_map.h); borrowed. */
int loader_obi_threads_fd(const struct loader *loader);

struct tables *loader_tables(const struct loader *loader);

/* What the sampler is to open for each kind, in `events`; how many. */
u32 loader_events(const struct loader *loader, struct sampler_event ret_events[KIND_MAX]);

/* The kinds that were chosen. */
u32 loader_kind_count(const struct loader *loader);
const struct kind *loader_kind(const struct loader *loader, u32 index);

/* What makes samples, with commas: "20 a second by cpu-clock, 1 of 16 page-faults". Borrowed. */
const char *loader_event_names(const struct loader *loader);
u32 loader_ring_count(const struct loader *loader);
int loader_ring_fd(const struct loader *loader, u32 index);

/* Rings that are to be emptied now and then, from 0 on; -1: there are no more. */
int loader_kick_fd(const struct loader *loader, u32 index);
u64 loader_user_va_mask(const struct loader *loader);

/* From the next tick on. */
int loader_set_pace(const struct loader *loader, const struct pace *pace);

/* By enum counter: the sums over all CPUs, of the kind at `index` of what was chosen. */
void loader_counters(const struct loader *loader, u32 index, u64 ret_values[COUNTER_COUNT]);

/* COUNTER_RUN_NS alone, of all kinds: what the kernel half has cost. */
u64 loader_run_ns(const struct loader *loader);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map in which OBI (OpenTelemetry eBPF Instrumentation) says for which trace and span each thread works, where it
 * has pinned one: below a BPF file system, as otel/traces_ctx_v1. It may come, go and be replaced at any time: whenever
 * it is another, the kernel half is given that one, for threads that say nothing themselves (bpf/thread_says.h). Only
 * one whose type, keys and values are as they should be is taken: the kernel compares them with those that
 * `obi_threads` is for (bpf_map_meta_equal).
 *
 * The tracer's thread owns it; its state can be read by all.
 */
#ifndef TRACER_OBI_MAP_H
#define TRACER_OBI_MAP_H

#include <stdatomic.h>

#include "base/types.h"

#define OBI_MAP_NAME "otel/traces_ctx_v1"
#define OBI_MAP_ROOT "/sys/fs/bpf"

enum obi_state {
	OBI_ABSENT,
	OBI_USED,
	OBI_REFUSED,	/* what is there is no such map */
};

struct obi_map {
	char *path;		/* NULL: nobody looks */
	int threads_fd;		/* the kernel half's map, that the one of OBI is put into; borrowed */
	u32 id;			/* of what was found last, used or refused; 0: nothing */
	_Atomic u32 state;	/* enum obi_state */
	u64 used, refused;	/* maps, since the start */
};

/* root: of the BPF file system. -ENOMEM. */
int obi_map_init(struct obi_map *map, const char *root, int threads_fd);
void obi_map_done(struct obi_map *map);

/* Is there one, and is it another than before? Some microseconds; where it is, as long as no CPU is in a program. */
void obi_map_look(struct obi_map *map);

#endif

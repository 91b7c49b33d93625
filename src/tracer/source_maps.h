/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source maps of scripts that sampled processes run: found where the script says, in its process's root, read with
 * the care of proc/peek.h, parsed by the reader process, and kept while there is room, one for all processes that run
 * the same. When it is full everything is forgotten, and what is still asked for is read again. Portable PDBs of .NET
 * are read, kept and found in the same way: the assembly is the script.
 *
 * A map is worth SOURCE_MAPS_WAIT_NS of waiting, since what it names may be gone soon; but not while others were late
 * within the last seconds. One that comes later tells by source_maps_generation() that names are to be asked for anew.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_SOURCE_MAPS_H
#define TRACER_SOURCE_MAPS_H

#include "base/cleanup.h"
#include "base/types.h"

struct background_reader;
struct lang_process;
struct lang_script;
struct source_map;
struct source_maps;

#define SOURCE_MAPS_BYTES_MAX (48u << 20)
#define SOURCE_MAPS_SCRIPTS_MAX 2048
#define SOURCE_MAPS_WAIT_NS 100000000ull
#define SOURCE_MAPS_JOBS_MAX 4	/* that are being parsed */

struct source_maps_stats {
	u64 read;		/* maps that were read */
	u64 failed;		/* ... that are not there, may not be read, or are none */
	u64 evictions;		/* times all were forgotten */
};

struct source_maps *source_maps_new(struct background_reader *reader);
/* The reader is freed before: it may hold jobs. */
void source_maps_free(struct source_maps *maps);
DEFINE_CLEANUP(struct source_maps *, source_maps_free)

/*
 * The map of a script: 0, or -ENODATA if it has none, or none yet; -ENOENT if that is not known, and it is not told
 * where it would be. Good until the next call.
 */
int source_maps_find(struct source_maps *maps, const struct lang_process *process, const struct lang_script *script,
		     const struct source_map **ret_map);

/* Goes up when a map has come late. */
u64 source_maps_generation(const struct source_maps *maps);

struct source_maps_stats source_maps_stats(const struct source_maps *maps);

#endif

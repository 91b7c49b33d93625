/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a language supplies, and what it is given. lang/README.md tells how the pieces work together.
 *
 * The tracer's thread calls all of it, except recognise(), which runs in the reader process.
 */
#ifndef LANG_LANG_H
#define LANG_LANG_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"
#include "exe/lang_file.h"
#include "lang/frame_type.h"
#include "lang/list.h"
#include "lang/options.h"

struct kept_objects;
struct kept_key;
struct lang_names;
struct maps;
struct peek;
struct rows;
struct source_map;
struct unwind;

#define LANG_TEXT_MAX 4096	/* bytes of a name or a path; longer ones are cut */

/* A script that a process runs, or an assembly of .NET, whose lines are in its PDB. */
struct lang_script {
	u32 id;				/* of one thread of a process that runs scripts; with its path that of one */
	const char *path;		/* as the process names it */
	const char *url;		/* of its source map or PDB, relative to it, or data:; NULL: what is known? */
};

/* A process that a runtime was found in. */
struct lang_process {
	u32 pid;
	u32 wishes;			/* LANG_WANTS() reads them */
	u64 serial;			/* never that of another program */
	const struct maps *maps;	/* its executable mappings, sorted */
	bool is_gone;			/* its memory is no more, and its pid may be another's */
	struct peek *peek;		/* how its memory and files are looked at */
	const struct kept_objects *kept;	/* if not NULL, memory is read from these copies instead */
	/* Finds what the language's program has kept: 0, or -ENOENT. NULL: nothing is. */
	int (*recall)(void *arg, const struct kept_key *key, struct kept_objects *ret_kept);
	/* The source map of a script: 0, -ENODATA, or -ENOENT (tracer/source_maps.h). NULL: none are looked for. */
	int (*source_map)(void *arg, const struct lang_process *process, const struct lang_script *script,
			  const struct source_map **ret_map);
	void *arg;			/* of both */
};

/* Where in the process the runtime's file is. */
struct lang_place {
	u64 bias;			/* va - ea, modulo 2^64 */
	const char *path;		/* as the process names it */
};

/* 0, or less than 0 if it is not there. */
typedef int lang_read_copy(struct unwind *u, void *to, u32 bytes, u64 va);

struct lang_ops {
	struct frame_type look;		/* of its frames; without a title: that of the type, which another has */
	const char *tracer;		/* what --tracers and `interpreters` call it */

	/* Its BPF object: as tools/pack.sh has packed it. NULL: it has none. */
	const void *(*object)(size_t *ret_bytes);
	bool any_code;			/* asked, without a file, of every process that has code in anonymous memory */
	bool starts_walk;		/* its program runs from the first frame on, not from the first of its own */

	/*
	 * Takes up a process: fills the words of its slot, which its BPF program reads (bpf/walk.h), and makes a state
	 * of its own. -EAGAIN if the runtime is still starting up: it is tried again. Any other error: left alone.
	 * 1 instead of 0 if its version is newer than those we know, and it is read as the nearest.
	 */
	int (*attach)(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		      struct runtime_slot *slot, void **ret_state);
	void (*detach)(void *state);

	/*
	 * Another of its files in a process that it has taken up, or the same once more; the words of its slot may
	 * change, one by one, under its BPF program. NULL: one is enough.
	 */
	void (*add_file)(void *state, const struct lang_file *file, const struct lang_place *place,
			 struct runtime_slot *slot);

	/* Is this anonymous executable memory code that the runtime has generated? NULL: it generates none. */
	bool (*owns)(void *state, const struct lang_process *process, u64 start_va, u64 end_va);

	/*
	 * How code that the runtime has generated there is unwound, where that is known: rows with addresses less
	 * base_va, -ENODATA if there are none. rows_order() is 0 then, else it goes up when there are others.
	 * NULL: by its own program, or by the frame pointer.
	 */
	int (*rows)(void *state, const struct lang_process *process, u64 start_va, u64 end_va, u64 base_va,
		    struct rows **ret_rows);
	u64 (*rows_order)(void *state, const struct lang_process *process, u64 start_va, u64 end_va);

	/*
	 * A stack has ended at an address in anonymous memory that no runtime owns: the code there may be looked
	 * through for rows. NULL: it never is.
	 */
	void (*meet)(void *state, const struct lang_process *process, u64 va);

	/* What it was told of generated code and could not keep: past a limit, or malformed. NULL: nothing. */
	u64 (*dropped)(const void *state);

	/* Goes up when what an address in its memory means has changed: names are asked for anew. NULL: never. */
	u64 (*generation)(void *state, const struct lang_process *process);

	/*
	 * Walks a frame of a copied stack as its BPF program does (bpf/unwind.h: enum step), by u->slot; read() reads
	 * the copy, and the rest of the process as it is now. NULL: such frames are walked as native ones.
	 */
	int (*step)(struct unwind *u, lang_read_copy *read);

	/*
	 * Names a frame that its BPF program has pushed (both words), or, with frame[0] of kind FRAME_VA, an address in
	 * memory that it owns: lines, innermost first, or, for what stands for labels (FRAME_LABELS), those. 0, or
	 * -errno if the frame cannot be named (any more).
	 */
	int (*resolve)(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names);
};

/* By number; NULL where there is none. */
extern const struct lang_ops *const lang_list[LANG_MAX];

/* The halves that look at files, for the reader process. */
extern const struct lang_file_ops *const lang_files[LANG_MAX];

/* Bit n: there is a language n. */
u32 lang_known(void);

/* What --tracers calls a language: its number, or 0 if there is none (yet). `node` is v8. */
u32 lang_named(const char *tracer, size_t len);

/* Goes to the next word of a list with commas: its length, 0 at the end. The caller passes over it. */
size_t lang_next(const char **tracers);

/* The rest of a list with commas, from the first word on that is no language, nor all or native; NULL: all are. */
const char *lang_unknown(const char *tracers);

/*
 * The languages that a list with commas leaves out: bit n for number n. "" and "all" leave out none, "native" all;
 * names of languages that are not there (yet) are passed over.
 */
u32 lang_left_out(const char *tracers);

/*
 * Another process's memory is hostile, and changes while it is read. 0, or -EFAULT if not all of it is there, -ESRCH
 * if the process is gone, -ETIMEDOUT or -EBUSY if it lets us wait.
 */
int lang_read(const struct lang_process *process, u64 va, void *to, size_t bytes);

/* Addresses that will be read next: one look for all, instead of one for each (proc/peek.h). */
void lang_expect(const struct lang_process *process, const u64 *vas, u32 count);

/* As much of it as there is from there on, of a copy that was cut: how many bytes, at least one. */
long lang_read_part(const struct lang_process *process, u64 va, void *to, size_t bytes);

/* The copies that the kernel half has kept of these objects: 0, or -ENOENT. */
int lang_recall(const struct lang_process *process, u32 lang, u64 id_0, u64 id_1, struct kept_objects *ret_kept);

/* One word; 0 where it cannot be read. */
u64 lang_read_word(const struct lang_process *process, u64 va);

/* Where among so many words a value is; -1 if nowhere. So threads' own values are found, of which libc has a table. */
#define LANG_FIND_WORDS_MAX 128
int lang_find_word(const struct lang_process *process, u64 va, u32 count, u64 wanted);

/* The answer of resolve(): texts are copied, cut at LANG_TEXT_MAX, and made clean UTF-8. */
void lang_names_line(struct lang_names *names, const char *function, const char *file, u32 line);

/*
 * A label of the sample, as pprof.Do() sets: the frame itself does not show. The OpenTelemetry eBPF profiler calls them
 * process.context.label.KEY, until the semantic conventions know better (their issue 2561), and so do we.
 */
#define LANG_LABEL_PREFIX "process.context.label."
void lang_names_label(struct lang_names *names, const char *key, const char *value);

#endif

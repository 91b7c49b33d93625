// SPDX-License-Identifier: Apache-2.0
/*
 * Generated code of any runtime that tells of it: as perf asks for, by a perf
 * map in its /tmp or a jitdump file that it has mapped, or as GDB does, by ELF
 * files in its memory. Its frames are walked as native ones; here they get
 * names and, by the tables of such an ELF file, their callers. Code that nobody
 * tells of is looked through where a stack has ended in it (exe/sweep.h); what
 * that finds is believed only if it leads behind a call.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <elf.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "lang/jit/code_image.h"
#include "lang/jit/code_rows.h"
#include "lang/jit/code_table.h"
#include "lang/jit/gdb_jit.h"
#include "lang/jit/jit.h"
#include "lang/jit/jitdump.h"
#include "lang/jit/perf_map.h"
#include "lang/jit/piece.h"
#include "lang/jit/symfile.h"
#include "lang/lang.h"
#include "proc/maps.h"
#include "proc/process_status.h"

#define LOOK_NS 1000000ull		/* between two looks, at least */
#define LOOK_NS_MAX 100000000ull	/* for each file, about */
#define LOOK_REST 8			/* ... and so many times as long as the last one took */
#define MAKE_NS 100000000ull		/* of making rows, then they have to wait */
#define MAKE_REST 4			/* ... so many times as long as that took */
#define CHUNK_BYTES (1u << 20)
#define CHUNK_BYTES_MAX (16u << 20)	/* a record that is longer ends the reading of its file */
#define LOOK_BYTES (8ll << 20)		/* of a file for one look, about; the rest is left for the next */
#define MET_BYTES (64u << 10)		/* of code that are looked through where a stack has ended */
#define MET_MAX 64			/* such places that are remembered; others have to wait for them */
#define MET_NS 500000000ull		/* before a place is looked at again, and twice as long each time */
#define MET_NS_MAX 64000000000ull
#define DESCRIPTORS_MAX 4		/* of libraries in one process, each with a list of its own */

/* A file that grows. */
struct grown {
	struct piece_file known;
	bool bad;		/* nothing more is taken of it */
	bool is_cut;		/* it is longer than what is read */
};

/* Where a stack has ended. */
struct met {
	u64 next_ns, wait_ns;
};

struct jit {
	u32 inner_pid;		/* as it sees itself */
	uid_t uid;
	u64 next_look_ns;
	u64 making_ns, next_make_ns;
	struct grown map, dump;
	char dump_path[256];	/* or "" */
	struct gdb_jit gdb[DESCRIPTORS_MAX];
	u32 gdb_count;
	bool has_more_lists;	/* ... than are looked at */
	const struct lang_process *process;	/* during a call */
	struct code_table table;
	struct code_rows rows;
	struct met met[MET_MAX];	/* by address */
};

/* What was told of is not so any more: all is to be told again. */
static void forget_code(struct jit *jit)
{
	code_table_clear(&jit->table);
	for (u32 i = 0; i < jit->gdb_count; i++)
		gdb_jit_forget(&jit->gdb[i]);
	jit->map.known.done = jit->dump.known.done = 0;
}

/* What a runtime has added to a file since it was last looked at, by as much as one look takes. */
static int read_piece(struct jit *jit, const struct lang_process *process, const char *name, struct grown *file,
		      size_t cap, struct piece *ret_piece)
{
	int r = piece_read(process, jit->uid, name, &file->known, cap, ret_piece);

	if (r < 0)
		return r;
	if (!ret_piece->is_known) {
		if (file->known.done)
			forget_code(jit);
		*file = (struct grown){ .known = ret_piece->file, .is_cut = file->is_cut };
	}
	file->is_cut |= ret_piece->is_cut;
	return 0;
}

/* Takes what was added to a file; take() says how many of the bytes it has used. */
static void read_more(struct jit *jit, const struct lang_process *process, const char *name, struct grown *file,
		      long (*take)(struct jit *jit, struct grown *file, const char *at, size_t bytes))
{
	size_t cap = file->bad ? 0 : CHUNK_BYTES;	/* only another file in its place is of interest */
	off_t end = -1;		/* what is written meanwhile, and what is much, is for the next time */
	u64 end_ns = monotonic_ns() + LOOK_NS_MAX;

	while (end < 0 || (file->known.done < end && monotonic_ns() < end_ns)) {
		_cleanup_(piece_donep) struct piece piece = { 0 };
		long used;

		if (read_piece(jit, process, name, file, cap, &piece) < 0 || !piece.bytes)
			return;
		if (end < 0)
			end = piece.file_bytes - file->known.done < LOOK_BYTES ? piece.file_bytes
									       : file->known.done + LOOK_BYTES;
		used = take(jit, file, piece.at, piece.bytes);
		if (used > 0) {
			file->known.done += used;
		} else if (used < 0 || cap >= CHUNK_BYTES_MAX) {
			file->bad = true;
			return;
		} else if (piece.bytes < cap) {
			return;		/* the rest is still being written */
		} else {
			cap *= 4;
		}
	}
}

static long take_map(struct jit *jit, struct grown *file, const char *at, size_t bytes)
{
	return (long)perf_map_parse(&jit->table, at, bytes);
}

static long take_dump(struct jit *jit, struct grown *file, const char *at, size_t bytes)
{
	int header = 0;
	long used;

	if (!file->known.done) {
		header = jitdump_header(at, bytes);
		if (header < 0 || (size_t)header > bytes)
			return -EBADMSG;
	}
	used = jitdump_parse(&jit->table, at + header, bytes - (size_t)header);
	return used < 0 ? used : used + header;
}

/* Takes what the files tell by now. */
static void read_files(struct jit *jit, const struct lang_process *process)
{
	char name[64];

	snprintf(name, sizeof(name), "/tmp/perf-%u.map", jit->inner_pid);
	read_more(jit, process, name, &jit->map, take_map);
	if (jit->dump_path[0])
		read_more(jit, process, jit->dump_path, &jit->dump, take_dump);
}

/* A file of GDB's list. */
static void take_symfile(void *arg, const void *at, size_t bytes)
{
	struct jit *jit = arg;

	symfile_take(at, bytes, jit->process, &jit->table, &jit->rows);
}

static void read_lists(struct jit *jit, const struct lang_process *process)
{
	jit->process = process;
	for (u32 i = 0; i < jit->gdb_count; i++)
		gdb_jit_look(&jit->gdb[i], process, take_symfile, jit);
	jit->process = NULL;
}

/*
 * Code is told of when it is made, just before it runs: an address that is not known yet is reason enough to look.
 * A look takes microseconds when nothing was added; what keeps being rewritten gets a share of our time, not all. That
 * is time on a CPU: on a busy machine we wait for one. Whoever makes us wait for long has that counted.
 */
static void jit_look(struct jit *jit, const struct lang_process *process)
{
	u64 start_ns = monotonic_ns(), start_cpu_ns, took_ns, end_ns;

	if (process->is_gone || start_ns < jit->next_look_ns)
		return;
	start_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);	/* a system call: not for each of 4,096 mappings */
	read_files(jit, process);
	read_lists(jit, process);
	end_ns = monotonic_ns();
	took_ns = end_ns - start_ns;
	if (took_ns < LOOK_NS_MAX)
		took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_cpu_ns;
	jit->next_look_ns = end_ns + (took_ns * LOOK_REST > LOOK_NS ? took_ns * LOOK_REST : LOOK_NS);
}

/* A runtime that writes a jitdump file maps its first page executable, so that profilers hear of it. */
static void find_dump(struct jit *jit, const struct maps *maps)
{
	for (u32 i = 0; !jit->dump_path[0] && i < maps->count; i++) {
		const char *slash = maps->at[i].path ? strrchr(maps->at[i].path, '/') : NULL;
		size_t len = slash ? strlen(slash) : 0;

		if (len > 10 && !strncmp(slash, "/jit-", 5) && !strcmp(slash + len - 5, ".dump") &&
		    strlen(maps->at[i].path) < sizeof(jit->dump_path))
			memcpy(jit->dump_path, maps->at[i].path, strlen(maps->at[i].path) + 1);
	}
}

static void jit_add_file(void *state, const struct lang_file *file, const struct lang_place *place,
			 struct runtime_slot *slot)
{
	u64 descriptor_va = file->facts[JIT_FACT_DESCRIPTOR_EA] + place->bias;
	struct jit *jit = state;

	for (u32 i = 0; i < jit->gdb_count; i++)
		if (jit->gdb[i].descriptor_va == descriptor_va)
			return;
	if (jit->gdb_count < DESCRIPTORS_MAX)
		jit->gdb[jit->gdb_count++].descriptor_va = descriptor_va;
	else
		jit->has_more_lists = true;
}

static int jit_attach(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		      struct runtime_slot *slot, void **ret_state)
{
	struct process_status status;
	struct jit *jit;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", process->pid);
	if (stat(path, &st) < 0)
		return -ESRCH;
	jit = calloc(1, sizeof(*jit));
	if (!jit)
		return -ENOMEM;
	jit->inner_pid = process_status_read(process->pid, &status) < 0 ? process->pid : status.inner_pid;
	jit->uid = st.st_uid;
	if (file)
		jit_add_file(jit, file, place, slot);
	*ret_state = jit;
	return 0;
}

static void jit_detach(void *state)
{
	struct jit *jit = state;

	for (u32 i = 0; i < jit->gdb_count; i++)
		gdb_jit_done(&jit->gdb[i]);
	code_rows_done(&jit->rows);
	code_table_done(&jit->table);
	free(jit);
}

/* What lies in a file that we know has its names there. */
static bool may_be_generated(const struct maps *maps, u64 va)
{
	const struct mapping *m = maps_find(maps, va);

	return !m || mapping_is_generated(m);
}

/* Whole mappings are not asked for: only what the files tell of is known to be generated code. */
static bool jit_owns(void *state, const struct lang_process *process, u64 start_va, u64 end_va)
{
	struct jit *jit = state;

	if (end_va != start_va + 1 || !may_be_generated(process->maps, start_va))
		return false;
	if (code_table_find(&jit->table, start_va))
		return true;
	find_dump(jit, process->maps);
	jit_look(jit, process);
	return code_table_find(&jit->table, start_va);
}

static u64 jit_generation(void *state, const struct lang_process *process)
{
	struct jit *jit = state;

	jit_look(jit, process);
	return jit->table.generation;
}

static u64 jit_rows_order(void *state, const struct lang_process *process, u64 start_va, u64 end_va)
{
	struct jit *jit = state;

	/* Who asks for each of a process's mappings has asked for all of them first: one look is enough. */
	if (!start_va)
		jit_look(jit, process);
	return code_rows_order(&jit->rows, start_va, end_va);
}

/* A piece can take as long as a large file does: a process with many of them gets a share of our time, too. */
static int make_rows(void *arg, const struct code_place *place, struct rows **ret_rows)
{
	struct jit *jit = arg;
	u64 start_ns = monotonic_ns(), end_ns;
	int r;

	if (start_ns < jit->next_make_ns)
		return -EAGAIN;
	r = code_image_rows(jit->process, &jit->table, place, NULL, ret_rows);
	end_ns = monotonic_ns();
	jit->making_ns += end_ns - start_ns;
	if (jit->making_ns >= MAKE_NS) {
		jit->next_make_ns = end_ns + jit->making_ns * MAKE_REST;
		jit->making_ns = 0;
	}
	return r;
}

static int jit_rows(void *state, const struct lang_process *process, u64 start_va, u64 end_va, u64 base_va,
		    struct rows **ret_rows)
{
	struct jit *jit = state;
	int r;

	jit->process = process;
	r = code_rows_join(&jit->rows, start_va, end_va, base_va, make_rows, jit, ret_rows);
	jit->process = NULL;
	return r;
}

/* True if it is time to look there: code may have changed, but most that cannot be unwound never can. */
static bool met_is_due(struct met *met)
{
	u64 now_ns = monotonic_ns();

	if (now_ns < met->next_ns)
		return false;
	met->wait_ns = !met->wait_ns ? MET_NS : met->wait_ns < MET_NS_MAX ? 2 * met->wait_ns : MET_NS_MAX;
	met->next_ns = now_ns + met->wait_ns;
	return true;
}

static void jit_meet(void *state, const struct lang_process *process, u64 va)
{
	const struct mapping *m = maps_find(process->maps, va);
	u64 start_va = va / MET_BYTES * MET_BYTES, end_va = start_va + MET_BYTES;
	struct jit *jit = state;
	struct code_place place = { .machine = EM_X86_64, .is_met = true };

	if (REG_RA == 30 || !m || !mapping_is_generated(m))
		return;
	place.start_va = start_va > m->start_va ? start_va : m->start_va;
	place.end_va = end_va < m->end_va ? end_va : m->end_va;
	if (!code_rows_told(&jit->rows, place.start_va, place.end_va) &&
	    met_is_due(&jit->met[start_va / MET_BYTES % MET_MAX]))
		code_rows_add(&jit->rows, &place, NULL);
}

static u64 jit_dropped(const void *state)
{
	const struct jit *jit = state;
	u64 dropped = jit->table.dropped + jit->rows.dropped + jit->has_more_lists + jit->map.is_cut + jit->dump.is_cut;

	for (u32 i = 0; i < jit->gdb_count; i++)
		dropped += jit->gdb[i].dropped;
	return dropped;
}

static int jit_resolve(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names)
{
	struct jit *jit = state;
	const struct code_piece *piece = code_table_find(&jit->table, frame[0] & FRAME_VA_MASK);

	if (!piece)
		return -ENOENT;
	lang_names_line(names, code_table_text(&jit->table, piece->name), code_table_text(&jit->table, piece->file),
			piece->line);
	return 0;
}

const struct lang_ops jit_ops = {
	.look = { .type = "native" },
	.tracer = "jit",
	.any_code = true,
	.attach = jit_attach,
	.add_file = jit_add_file,
	.detach = jit_detach,
	.owns = jit_owns,
	.rows_order = jit_rows_order,
	.rows = jit_rows,
	.meet = jit_meet,
	.dropped = jit_dropped,
	.generation = jit_generation,
	.resolve = jit_resolve,
};

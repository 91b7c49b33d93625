// SPDX-License-Identifier: Apache-2.0
/*
 * Generated code of any runtime that tells of it the way perf asks for: a perf
 * map in its /tmp, or a jitdump file that it has mapped. Its frames are walked
 * as native ones; here they get names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "lang/jit/code_table.h"
#include "lang/jit/jitdump.h"
#include "lang/jit/perf_map.h"
#include "lang/lang.h"
#include "proc/maps.h"

#define LOOK_NS 1000000ull		/* between two looks at the files, at least */
#define LOOK_REST 8			/* ... and so many times as long as the last one took */
#define CHUNK_BYTES (1u << 20)
#define CHUNK_BYTES_MAX (16u << 20)	/* a record that is longer ends the reading of its file */
#define FILE_BYTES_MAX (512ll << 20)

/* A file that grows. */
struct grown {
	dev_t device;
	ino_t inode;
	off_t done;		/* bytes taken */
	bool bad;		/* nothing more is taken of it */
};

struct jit {
	u32 pid, inner_pid;	/* as we see it; as it sees itself */
	uid_t uid;
	u64 next_look_ns;
	struct grown map, dump;
	char dump_path[256];	/* or "" */
	struct code_table table;
};

/* The pid that the process has in its own namespace: the last of NSpid. */
static u32 inner_pid(u32 pid)
{
	char path[64], line[256];
	u32 inner = pid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		inner = (u32)strtoul(strrchr(line, '\t') ? strrchr(line, '\t') : line + 6, NULL, 10);
		break;
	}
	if (file)
		fclose(file);
	return inner ? inner : pid;
}

/* A file of the process, as it names it: a regular one, that the process itself or root has written. */
static int open_file(const struct jit *jit, const char *name, struct stat *ret_stat)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/root%s", jit->pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, ret_stat) < 0 || !S_ISREG(ret_stat->st_mode) || ret_stat->st_size > FILE_BYTES_MAX ||
	    (ret_stat->st_uid != jit->uid && ret_stat->st_uid != 0)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

/* Takes what was added to a file; take() says how many of the bytes it has used. */
static void read_more(struct jit *jit, int fd, const struct stat *st, struct grown *file,
		      long (*take)(struct jit *jit, struct grown *file, const char *at, size_t bytes))
{
	size_t cap = CHUNK_BYTES;

	if (file->inode != st->st_ino || file->device != st->st_dev || st->st_size < file->done) {
		if (file->done)
			code_table_clear(&jit->table);
		*file = (struct grown){ .device = st->st_dev, .inode = st->st_ino };
	}
	while (!file->bad && file->done < st->st_size) {
		_cleanup_(freep) char *chunk = malloc(cap);
		ssize_t got = chunk ? pread(fd, chunk, cap, file->done) : -1;
		long used = got > 0 ? take(jit, file, chunk, (size_t)got) : -1;

		if (used > 0) {
			file->done += used;
		} else if (used < 0 || cap >= CHUNK_BYTES_MAX) {
			file->bad = got > 0;
			return;
		} else if ((size_t)got < cap) {
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

	if (!file->done) {
		header = jitdump_header(at, bytes);
		if (header < 0 || (size_t)header > bytes)
			return -EBADMSG;
	}
	used = jitdump_parse(&jit->table, at + header, bytes - (size_t)header);
	return used < 0 ? used : used + header;
}

/* Takes what the files tell by now. */
static void read_files(struct jit *jit)
{
	char name[64];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "/tmp/perf-%u.map", jit->inner_pid);
	fd = open_file(jit, name, &st);
	if (fd >= 0) {
		read_more(jit, fd, &st, &jit->map, take_map);
		close(fd);
	}
	fd = jit->dump_path[0] ? open_file(jit, jit->dump_path, &st) : -1;
	if (fd >= 0) {
		read_more(jit, fd, &st, &jit->dump, take_dump);
		close(fd);
	}
}

/*
 * Code is told of when it is made, just before it runs: an address that is not known yet is reason enough to look.
 * A look takes microseconds when nothing was added; files that keep being rewritten get a share of our time, not all.
 */
static void jit_look(struct jit *jit, const struct lang_process *process)
{
	u64 start_ns = monotonic_ns(), took_ns;

	if (process->is_gone || start_ns < jit->next_look_ns)
		return;
	read_files(jit);
	took_ns = monotonic_ns() - start_ns;
	jit->next_look_ns = start_ns + took_ns + (took_ns * LOOK_REST > LOOK_NS ? took_ns * LOOK_REST : LOOK_NS);
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

static int jit_attach(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		      struct runtime_slot *slot, void **ret_state)
{
	struct jit *jit;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", process->pid);
	if (stat(path, &st) < 0)
		return -ESRCH;
	jit = calloc(1, sizeof(*jit));
	if (!jit)
		return -ENOMEM;
	jit->pid = process->pid;
	jit->inner_pid = inner_pid(process->pid);
	jit->uid = st.st_uid;
	*ret_state = jit;
	return 0;
}

static void jit_detach(void *state)
{
	struct jit *jit = state;

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
	.frame_type = "native",
	.tracer = "jit",
	.attach = jit_attach,
	.detach = jit_detach,
	.owns = jit_owns,
	.generation = jit_generation,
	.resolve = jit_resolve,
};

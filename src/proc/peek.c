// SPDX-License-Identifier: Apache-2.0
#include "proc/peek.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/errands.h"

#define PIECE_BYTES (64u << 10)	/* of memory that one errand brings */
#define TEXT_FIRST_BYTES 4096

struct memory_errand {
	struct errand errand;
	u32 tid;
	u64 va;
	size_t bytes;
	u8 data[PIECE_BYTES];
};

struct text_errand {
	struct errand errand;
	char path[64];
	size_t max;
	char *text;
};

struct peek {
	struct errands *errands;
	struct memory_errand *memory;	/* used again and again; NULL: lost to one that was late */
};

/* Who has begun it, whatever it has become; what cannot be found out has an owner, too. Nobody can hold this up. */
static uint64_t find_user(uint32_t pid)
{
	char path[64], line[256];
	uint64_t user = UINT64_MAX;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	while (file && user == UINT64_MAX && fgets(line, sizeof(line), file))
		if (!strncmp(line, "Uid:", 4))
			user = strtoul(line + 4, NULL, 10);
	if (file)
		fclose(file);
	return user;
}

int peek_new(u64 limit_ns, struct peek **ret_peek)
{
	_cleanup_(peek_freep) struct peek *peek = calloc(1, sizeof(*peek));
	int r;

	if (!peek)
		return -ENOMEM;
	r = errands_new(limit_ns, find_user, &peek->errands);
	if (r < 0)
		return r;
	*ret_peek = TAKE(peek);
	return 0;
}

void peek_free(struct peek *peek)
{
	if (!peek)
		return;
	errands_free(peek->errands);
	free(peek->memory);
	free(peek);
}

u64 peek_process(u64 serial)
{
	return (serial + 1) << 1;
}

u64 peek_device(u32 major, u32 minor)
{
	return ((u64)major << 32 | minor) << 1 | 1;
}

int peek_run(struct peek *peek, struct errand *errand)
{
	return errands_run(peek ? peek->errands : NULL, errand);
}

static int read_memory(u32 tid, u64 va, void *to, size_t bytes)
{
	struct iovec here = { to, bytes }, there = { (void *)(uintptr_t)va, bytes };
	ssize_t got = process_vm_readv((pid_t)tid, &here, 1, &there, 1, 0);

	if (got == (ssize_t)bytes)
		return 0;
	return got < 0 && errno == ESRCH ? -ESRCH : -EFAULT;
}

static int run_memory(struct errand *errand)
{
	struct memory_errand *m = (struct memory_errand *)errand;

	return read_memory(m->tid, m->va, m->data, m->bytes);
}

static int peek_piece(struct peek *peek, u64 place, u32 tid, u64 va, void *to, size_t bytes)
{
	int r;

	if (!peek->memory)
		peek->memory = malloc(sizeof(*peek->memory));
	if (!peek->memory)
		return -ENOMEM;
	peek->memory->errand = (struct errand){ .place = place, .run = run_memory, .pid = tid };
	peek->memory->tid = tid;
	peek->memory->va = va;
	peek->memory->bytes = bytes;
	r = errands_run(peek->errands, &peek->memory->errand);
	if (r == -ETIMEDOUT)
		peek->memory = NULL;
	if (r == 0)
		memcpy(to, peek->memory->data, bytes);
	return r;
}

int peek_memory(struct peek *peek, u64 place, u32 tid, u64 va, void *to, size_t bytes)
{
	u8 *at = to;
	int r = 0;

	if (!peek)
		return read_memory(tid, va, to, bytes);
	while (r == 0 && bytes) {
		size_t piece = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;

		r = peek_piece(peek, place, tid, va, at, piece);
		at += piece;
		va += piece;
		bytes -= piece;
	}
	return r;
}

/* Reads on while there is room, and makes more of it. */
static int read_text(int fd, size_t max, char **ret_text)
{
	_cleanup_(freep) char *text = NULL;
	size_t len = 0, cap = 0;
	ssize_t got = 1;

	while (got > 0 && len < max) {
		if (len == cap) {
			size_t more = cap ? cap * 2 : TEXT_FIRST_BYTES;
			char *larger = realloc(text, (more < max ? more : max) + 1);

			if (!larger)
				return -ENOMEM;
			text = larger;
			cap = more < max ? more : max;
		}
		got = read(fd, text + len, cap - len);
		len += got > 0 ? (size_t)got : 0;
	}
	if (got < 0 && !len)
		return -errno;
	text[len] = '\0';
	*ret_text = TAKE(text);
	return (int)len;
}

static int run_text(struct errand *errand)
{
	struct text_errand *t = (struct text_errand *)errand;
	_cleanup_(closep) int fd = open(t->path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : read_text(fd, t->max, &t->text);
}

static void drop_text(struct errand *errand)
{
	free(((struct text_errand *)errand)->text);
}

int peek_text(struct peek *peek, u64 place, u32 tid, const char *name, size_t max, char **ret_text)
{
	struct text_errand *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->errand = (struct errand){ .place = place, .run = run_text, .drop = drop_text, .pid = tid };
	(void)snprintf(t->path, sizeof(t->path), "/proc/%u/%s", tid, name);
	t->max = max;
	r = peek_run(peek, &t->errand);
	if (r == -ETIMEDOUT)
		return r;
	if (r >= 0)
		*ret_text = t->text;
	free(t);
	return r;
}

struct peek_stats peek_stats(const struct peek *peek)
{
	struct errands_stats stats = errands_stats(peek->errands);

	return (struct peek_stats){ stats.late, stats.refused };
}

// SPDX-License-Identifier: Apache-2.0
#include "proc/peek.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/offload.h"
#include "proc/process_status.h"

#define PIECE_BYTES (64u << 10)	/* of memory that one call brings */
#define PAGE_BYTES 4096u		/* what can be read of it can be read as a whole */
#define PAGES_KEPT 128			/* of all processes together */
#define PAGES_AT_ONCE 4
#define TEXT_FIRST_BYTES 4096

struct memory_call {
	struct offload_call call;
	u32 tid, count;
	bool is_forced;		/* also what the process itself may not read */
	struct iovec there[PAGES_AT_ONCE];
	size_t bytes;		/* of all of them together */
	u8 data[PIECE_BYTES];
};

struct text_call {
	struct offload_call call;
	char path[64];
	size_t max;
	char *text;
};

/* As it was at some time after from_ns. */
struct page {
	u64 place, va;		/* place 0: none is kept here */
	u64 from_ns;
	u8 data[PAGE_BYTES];
};

struct peek {
	struct offload *offload;
	struct memory_call *memory;	/* used again and again; NULL: lost to one that was late */
	u64 since_ns;
	struct page pages[PAGES_KEPT];
};

/* What cannot be found out has an owner, too. */
static uint64_t find_user(uint32_t pid)
{
	struct process_status status;

	return process_status_read(pid, &status) < 0 ? UINT64_MAX : status.real_uid;
}

int peek_new(u64 limit_ns, struct peek **ret_peek)
{
	_cleanup_(peek_freep) struct peek *peek = calloc(1, sizeof(*peek));
	int r;

	if (!peek)
		return -ENOMEM;
	r = offload_new(limit_ns, find_user, &peek->offload);
	if (r < 0)
		return r;
	peek->since_ns = PEEK_NOW;
	*ret_peek = TAKE(peek);
	return 0;
}

void peek_free(struct peek *peek)
{
	if (!peek)
		return;
	offload_free(peek->offload);
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

int peek_run(struct peek *peek, struct offload_call *call)
{
	return offload_run(peek ? peek->offload : NULL, call);
}

/* How much of it is there, up to the first byte that is not: at least one byte, or -errno. */
static int read_memory(u32 tid, const struct iovec *there, u32 count, void *to, size_t bytes)
{
	struct iovec here = { to, bytes };
	ssize_t got = process_vm_readv((pid_t)tid, &here, 1, there, count, 0);

	if (got > 0)
		return (int)got;
	return got < 0 && errno == ESRCH ? -ESRCH : -EFAULT;
}

/* As a debugger does: whatever the protection of a page is. */
static int read_forced(u32 tid, u64 va, void *to, size_t bytes)
{
	_cleanup_(closep) int fd = -1;
	char path[32];
	ssize_t got;

	(void)snprintf(path, sizeof(path), "/proc/%u/mem", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : pread(fd, to, bytes, (off_t)va);
	return got > 0 ? (int)got : -EFAULT;
}

static int run_memory(struct offload_call *call)
{
	struct memory_call *m = (struct memory_call *)call;
	int r = read_memory(m->tid, m->there, m->count, m->data, m->bytes);

	if (m->is_forced && r != -ESRCH && r != (int)m->bytes)
		r = read_forced(m->tid, (u64)(uintptr_t)m->there[0].iov_base, m->data, m->bytes);
	return r;
}

/* As read_memory(). What it brings is in peek->memory until the next. */
static int peek_parts(struct peek *peek, u64 place, u32 tid, const struct iovec *there, u32 count, bool is_forced)
{
	struct memory_call *m = peek->memory ? peek->memory : malloc(sizeof(*m));
	int r;

	peek->memory = m;
	if (!m)
		return -ENOMEM;
	m->call = (struct offload_call){ .target = place, .run = run_memory, .pid = tid };
	m->tid = tid;
	m->count = count;
	m->is_forced = is_forced;
	m->bytes = 0;
	for (u32 i = 0; i < count; i++) {
		m->there[i] = there[i];
		m->bytes += there[i].iov_len;
	}
	r = offload_run(peek->offload, &m->call);
	if (r == -ETIMEDOUT)
		peek->memory = NULL;
	return r;
}

static struct iovec part_of(u64 va, size_t bytes)
{
	return (struct iovec){ (void *)(uintptr_t)va, bytes };
}

static int peek_pieces(struct peek *peek, u64 place, u32 tid, u64 va, u8 *to, size_t bytes, bool is_forced)
{
	while (bytes) {
		struct iovec there = part_of(va, bytes < PIECE_BYTES ? bytes : PIECE_BYTES);
		int r = peek_parts(peek, place, tid, &there, 1, is_forced);

		if (r != (int)there.iov_len)
			return r < 0 ? r : -EFAULT;
		memcpy(to, peek->memory->data, there.iov_len);
		to += there.iov_len;
		va += there.iov_len;
		bytes -= there.iov_len;
	}
	return 0;
}

/* Neighbours have different ones. */
static struct page *page_slot(struct peek *peek, u64 place, u64 va)
{
	return &peek->pages[(va / PAGE_BYTES + place * 31) % PAGES_KEPT];
}

static bool has_page(struct peek *peek, u64 place, u64 va)
{
	const struct page *page = page_slot(peek, place, va);

	return page->place == place && page->va == va && page->from_ns >= peek->since_ns;
}

/*
 * All of some pages, or those before the first that is not there. Such as were read without leave to use them later are
 * kept, too: nobody is shown one that is older than what was seen of it before.
 */
static int fetch_pages(struct peek *peek, u64 place, u32 tid, const u64 *vas, u32 count)
{
	struct iovec there[PAGES_AT_ONCE];
	u64 now_ns = monotonic_ns();
	int r;

	for (u32 i = 0; i < count; i++)
		there[i] = part_of(vas[i], PAGE_BYTES);
	r = peek_parts(peek, place, tid, there, count, false);
	for (u32 i = 0; r > 0 && i < (u32)r / PAGE_BYTES; i++) {
		struct page *page = page_slot(peek, place, vas[i]);

		page->place = place;
		page->va = vas[i];
		page->from_ns = now_ns;
		memcpy(page->data, peek->memory->data + (size_t)i * PAGE_BYTES, PAGE_BYTES);
	}
	return r < 0 ? r : (u32)r == count * PAGE_BYTES ? 0 : -EFAULT;
}

/* Of one page, or of two. */
static int peek_paged(struct peek *peek, u64 place, u32 tid, u64 va, u8 *to, size_t bytes)
{
	u64 off = va % PAGE_BYTES, vas[2] = { va - off, va - off + PAGE_BYTES };
	u32 count = off + bytes > PAGE_BYTES ? 2 : 1;
	size_t first = count == 2 ? PAGE_BYTES - off : bytes;
	int r = 0;

	if (!has_page(peek, place, vas[0]) || (count == 2 && !has_page(peek, place, vas[1])))
		r = fetch_pages(peek, place, tid, vas, count);
	if (r < 0)
		return r;
	memcpy(to, page_slot(peek, place, vas[0])->data + off, first);
	if (count == 2)
		memcpy(to + first, page_slot(peek, place, vas[1])->data, bytes - first);
	return 0;
}

int peek_memory(struct peek *peek, u64 place, u32 tid, u64 va, void *to, size_t bytes)
{
	struct iovec there = part_of(va, bytes);
	int r;

	if (!bytes)
		return 0;
	if (peek && bytes <= PAGE_BYTES && va < UINT64_MAX - 2 * PAGE_BYTES)
		return peek_paged(peek, place, tid, va, to, bytes);
	if (peek)
		return peek_pieces(peek, place, tid, va, to, bytes, false);
	r = read_memory(tid, &there, 1, to, bytes);
	return r < 0 ? r : (size_t)r == bytes ? 0 : -EFAULT;
}

int peek_stack(struct peek *peek, u64 place, u32 tid, u64 va, void *to, size_t bytes)
{
	int r;

	if (peek)
		return peek_pieces(peek, place, tid, va, to, bytes, true);
	r = read_forced(tid, va, to, bytes);
	return r < 0 ? r : (size_t)r == bytes ? 0 : -EFAULT;
}

void peek_expect(struct peek *peek, u64 place, u32 tid, const u64 *vas, u32 count)
{
	u64 lacking[PAGES_AT_ONCE] = { 0 };
	u32 lacking_count = 0;

	if (!peek || peek->since_ns == PEEK_NOW)
		return;
	for (u32 i = 0; i < count && lacking_count < PAGES_AT_ONCE; i++) {
		u64 va = vas[i] - vas[i] % PAGE_BYTES;
		bool is_known = has_page(peek, place, va);

		for (u32 k = 0; k < lacking_count; k++)
			is_known |= lacking[k] == va;
		if (!is_known)
			lacking[lacking_count++] = va;
	}
	/* One is read when it is asked for. */
	if (lacking_count > 1)
		(void)fetch_pages(peek, place, tid, lacking, lacking_count);
}

u64 peek_since(struct peek *peek, u64 since_ns)
{
	u64 before_ns = peek ? peek->since_ns : PEEK_NOW;

	if (peek)
		peek->since_ns = since_ns;
	return before_ns;
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
	assert(text);	/* max is not 0 */
	text[len] = '\0';
	*ret_text = TAKE(text);
	return (int)len;
}

static int run_text(struct offload_call *call)
{
	struct text_call *t = (struct text_call *)call;
	_cleanup_(closep) int fd = open(t->path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : read_text(fd, t->max, &t->text);
}

static void drop_text(struct offload_call *call)
{
	free(((struct text_call *)call)->text);
}

int peek_text(struct peek *peek, u64 place, u32 tid, const char *name, size_t max, char **ret_text)
{
	struct text_call *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->call = (struct offload_call){ .target = place, .run = run_text, .drop = drop_text, .pid = tid };
	(void)snprintf(t->path, sizeof(t->path), "/proc/%u/%s", tid, name);
	t->max = max;
	r = peek_run(peek, &t->call);
	if (r == -ETIMEDOUT)
		return r;
	if (r >= 0)
		*ret_text = t->text;
	free(t);
	return r;
}

struct peek_stats peek_stats(const struct peek *peek)
{
	struct offload_stats stats = offload_stats(peek->offload);

	return (struct peek_stats){ stats.begun, stats.late, stats.refused };
}

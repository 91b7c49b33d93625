// SPDX-License-Identifier: Apache-2.0
#include "lang/python/python_thread.h"

#include <elf.h>
#include <errno.h>

#define INTERPRETERS_MAX 64
#define THREADS_MAX 256		/* of all of them that are looked at, each of which takes some hundred reads */

/*
 * libc's struct pthread, whose address pthread_self() is. On x86-64 it is the thread pointer, too; on arm64 that points
 * behind it, and what it is the address of there depends on libc's version.
 *
 *	glibc	32 pairs of (sequence, value), for keys below 32; then the addresses of 31 more such blocks
 *		(nptl/descr.h: specific_1stblock, specific; unchanged since 2.4)
 *	musl	the address of 128 values (src/internal/pthread_impl.h: tsd)
 */
#define GLIBC_KEYS 32
#define GLIBC_BLOCKS (GLIBC_KEYS * 16)	/* from the first pair on */
#define MUSL_KEYS 128

struct libc {
	u64 glibc_first, musl_values;
	bool has_self;		/* glibc's first word is its own address; musl's always is */
	bool is_below;		/* the thread pointer is behind it */
};

static const struct libc x86_64 = { .glibc_first = 0x310, .musl_values = 0x80, .has_self = true };
static const struct libc arm64 = { .glibc_first = 0x110, .musl_values = 0x70, .is_below = true };

/*
 * The thread pointer of arm64 points to the address of the vector of a thread's TLS blocks, whose second pair is that
 * of the first module: static TLS, a little behind the thread pointer (glibc: sysdeps/aarch64/nptl/tls.h, tcbhead_t;
 * csu/libc-tls.c). musl has the vector as its last word, and its size has not changed since 1.2.0.
 */
#define GLIBC_BYTES_MIN 0x400	/* 0x6f0 in 2.28, 0x740 in 2.36 */
#define GLIBC_BYTES_MAX 0x1000
#define GLIBC_ALIGN 16
#define VECTOR_FIRST 16		/* of the vector: behind its generation */
#define STATIC_TLS_MAX (64u << 10)
#define MUSL_BYTES 200

/*
 * From 3.15 on variables of each thread hold it: one as long as the thread has a state, another while it has the lock.
 * They are among the first that the program and its libraries have of them: x86-64 has these up to the thread pointer,
 * arm64 two words behind it.
 */
#define VARIABLES 64
#define ARM64_VARIABLES 16

static bool find_in_block(const struct lang_process *process, u64 id, u64 offset, u32 words, u64 thread,
			  struct python_slot *slot)
{
	u64 block = lang_read_word(process, id + offset);
	int at = block ? lang_find_word(process, block, words, thread) : -1;

	if (at < 0)
		return false;
	slot->tsd = offset;
	slot->tsd_block = 1;
	slot->tsd_in_block = (u64)at * 8;
	return true;
}

static bool find_in_glibc(const struct lang_process *process, const struct libc *libc, u64 id, u64 thread,
			  struct python_slot *slot)
{
	int at = lang_find_word(process, id + libc->glibc_first, 2 * GLIBC_KEYS, thread);

	if (at >= 0) {
		slot->tsd = libc->glibc_first + (u64)at * 8;
		slot->tsd_block = 0;
		return true;
	}
	for (u32 i = 1; i < GLIBC_KEYS; i++)
		if (find_in_block(process, id, libc->glibc_first + GLIBC_BLOCKS + i * 8, 2 * GLIBC_KEYS, thread, slot))
			return true;
	return false;
}

/* How far the thread pointer is behind glibc's structure; 0 if there is none. */
static u64 find_pointer(const struct lang_process *process, u64 id)
{
	for (u64 bytes = GLIBC_BYTES_MIN; bytes <= GLIBC_BYTES_MAX; bytes += GLIBC_ALIGN) {
		u64 vector = lang_read_word(process, id + bytes), block;

		if (!vector || vector % 8)
			continue;
		block = lang_read_word(process, vector + VECTOR_FIRST);
		if (block >= id + bytes + 16 && block - (id + bytes) < STATIC_TLS_MAX)
			return bytes;
	}
	return 0;
}

/* Is it where one of libc's values is the thread's state? Offsets count from the thread pointer on. */
static bool find_value(const struct lang_process *process, const struct libc *libc, u64 id, u64 thread,
		       struct python_slot *slot)
{
	bool has_self;
	u64 behind = 0;

	if (!id || id % 8)
		return false;
	has_self = lang_read_word(process, id) == id;
	if (has_self == libc->has_self && find_in_glibc(process, libc, id, thread, slot)) {
		if (libc->is_below)
			behind = find_pointer(process, id);
	} else if (has_self && find_in_block(process, id, libc->musl_values, MUSL_KEYS, thread, slot)) {
		behind = libc->is_below ? MUSL_BYTES : 0;
	} else {
		return false;
	}
	slot->tsd -= behind;
	slot->self = 0 - behind;
	return behind || !libc->is_below;
}

/* Is it where variables of the thread are its state? One, or two of them. */
static bool find_variable(const struct lang_process *process, const struct libc *libc, u64 id, u64 thread,
			  struct python_slot *slot)
{
	u64 words[VARIABLES], behind = 0, from = libc->is_below ? ARM64_VARIABLES : 0 - sizeof(words);
	u32 found = 0;

	if (!id || id % 8)
		return false;
	if (libc->is_below)
		behind = lang_read_word(process, id) == id ? MUSL_BYTES : find_pointer(process, id);
	else if (lang_read_word(process, id) != id)
		return false;
	if ((libc->is_below && !behind) || lang_read(process, id + behind + from, words, sizeof(words)) < 0)
		return false;
	for (u32 i = 0; i < VARIABLES && found < 2; i++) {
		if (words[i] != thread)
			continue;
		slot->tsd_other = found ? slot->tsd : 0;
		slot->tsd = from + 8ull * i;
		found++;
	}
	slot->self = 0 - behind;
	return found;
}

int python_thread_find(const struct lang_process *process, const struct python_layout *layout, u64 runtime_va,
		       u32 machine, struct python_slot *slot)
{
	bool (*find)(const struct lang_process *, const struct libc *, u64, u64, struct python_slot *) =
		layout->version < PYTHON_VERSION(15) ? find_value : find_variable;
	const struct libc *libc = machine == EM_AARCH64 ? &arm64 : &x86_64;
	u64 interpreter = lang_read_word(process, runtime_va + layout->interpreters);
	u32 looked = 0;

	for (u32 i = 0; interpreter && i < INTERPRETERS_MAX; i++) {
		u64 thread = lang_read_word(process, interpreter + layout->threads);

		for (; thread && looked < THREADS_MAX; looked++) {
			u64 id = lang_read_word(process, thread + layout->thread_id);

			if (lang_read_word(process, thread + layout->thread_interpreter) != interpreter)
				break;
			if (find(process, libc, id, thread, slot))
				return 0;
			thread = lang_read_word(process, thread + layout->thread_next);
		}
		interpreter = lang_read_word(process, interpreter + layout->interpreter_next);
	}
	return -EAGAIN;
}

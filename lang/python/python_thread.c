// SPDX-License-Identifier: Apache-2.0
#include "lang/python/python_thread.h"

#include <errno.h>

#define INTERPRETERS_MAX 64
#define THREADS_MAX 256		/* of one that are looked at */

/*
 * libc's struct pthread, which the thread pointer is the address of on x86-64:
 *
 *	glibc	0x310: 32 pairs of (sequence, value), for keys below 32; then the addresses of 31 more such blocks
 *		(nptl/descr.h: specific_1stblock, specific; unchanged since 2.4)
 *	musl	0x80: the address of 128 values (src/internal/pthread_impl.h: tsd)
 */
#define GLIBC_FIRST 0x310
#define GLIBC_KEYS 32
#define GLIBC_BLOCKS (GLIBC_FIRST + GLIBC_KEYS * 16)
#define MUSL_VALUES 0x80
#define MUSL_KEYS 128

/* The index of a word, or -1. */
static int find_word(const struct lang_process *process, u64 va, u32 count, u64 wanted)
{
	u64 words[MUSL_KEYS];

	if (lang_read(process, va, words, count * sizeof(u64)) < 0)
		return -1;
	for (u32 i = 0; i < count; i++)
		if (words[i] == wanted)
			return (int)i;
	return -1;
}

static bool find_in_block(const struct lang_process *process, u64 id, u64 offset, u32 words, u64 thread,
			  struct python_slot *slot)
{
	u64 block = lang_read_word(process, id + offset);
	int at = block ? find_word(process, block, words, thread) : -1;

	if (at < 0)
		return false;
	slot->tsd = offset;
	slot->tsd_block = 1;
	slot->tsd_in_block = (u64)at * 8;
	return true;
}

/* Is it where one of libc's values is the thread's state? */
static bool find_value(const struct lang_process *process, u64 id, u64 thread, struct python_slot *slot)
{
	int at;

	/* The first word of struct pthread is its own address. */
	if (!id || id % 8 || lang_read_word(process, id) != id)
		return false;
	at = find_word(process, id + GLIBC_FIRST, 2 * GLIBC_KEYS, thread);
	if (at >= 0) {
		slot->tsd = GLIBC_FIRST + (u64)at * 8;
		slot->tsd_block = 0;
		return true;
	}
	for (u32 i = 1; i < GLIBC_KEYS; i++)
		if (find_in_block(process, id, GLIBC_BLOCKS + i * 8, 2 * GLIBC_KEYS, thread, slot))
			return true;
	return find_in_block(process, id, MUSL_VALUES, MUSL_KEYS, thread, slot);
}

int python_thread_find(const struct lang_process *process, const struct python_layout *layout, u64 runtime_va,
		       struct python_slot *slot)
{
	u64 interpreter = lang_read_word(process, runtime_va + layout->interpreters);

	for (u32 i = 0; interpreter && i < INTERPRETERS_MAX; i++) {
		u64 thread = lang_read_word(process, interpreter + layout->threads);

		for (u32 t = 0; thread && t < THREADS_MAX; t++) {
			u64 id = lang_read_word(process, thread + layout->thread_id);

			if (lang_read_word(process, thread + layout->thread_interpreter) != interpreter)
				break;
			if (find_value(process, id, thread, slot))
				return 0;
			thread = lang_read_word(process, thread + layout->thread_next);
		}
		interpreter = lang_read_word(process, interpreter + layout->interpreter_next);
	}
	return -EAGAIN;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a process's memory by pages, so that many small things cost few calls. What is read holds for one question:
 * memory_begin() forgets it. The first failure is kept, and all reads after it give nothing: check memory_err() once.
 */
#ifndef LANG_MEMORY_H
#define LANG_MEMORY_H

#include <stddef.h>

#include "base/types.h"

struct lang_process;

#define MEMORY_PAGE 4096u
#define MEMORY_PAGES 32u

struct memory {
	const struct lang_process *process;
	int err;
	u64 va[MEMORY_PAGES];		/* of each page; 0: empty */
	u8 page[MEMORY_PAGES][MEMORY_PAGE];
};

void memory_begin(struct memory *memory, const struct lang_process *process);
int memory_err(const struct memory *memory);

void memory_read(struct memory *memory, u64 va, void *to, size_t bytes);
u64 memory_u64(struct memory *memory, u64 va);
u32 memory_u32(struct memory *memory, u64 va);
u16 memory_u16(struct memory *memory, u64 va);
u8 memory_u8(struct memory *memory, u64 va);

/* A string that ends in NUL, cut to fit; "" if it cannot be read. */
void memory_text(struct memory *memory, u64 va, char *to, size_t to_bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own functions and its modules': a sorted table of addresses
 * and a pool of names, built once from /proc/kallsyms and then only read.
 *
 * The whole agent has 30 MiB, a kernel has 120,000 symbols; so an address is
 * 32 bits (the kernel and its modules lie within 2 GiB of each other, to
 * reach by direct calls), names lie end to end, and two kinds of symbols are
 * folded away: code that is freed after boot, and the `__pfx_` twin of each
 * function, of which one bit stays.
 *
 * A name holds until the next symbol of the same module, the last one of a
 * module to the end of its page; between two modules nothing has a name.
 *
 * One thread owns a table.
 */
#ifndef SYMBOL_KSYM_TABLE_H
#define SYMBOL_KSYM_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/types.h"

#define KSYMS_MAX (1u << 20)		/* symbols; a distribution's kernel with its modules has 200,000 */
#define KSYMS_POOL_MAX (16u << 20)	/* bytes of names */

struct ksym_entry;

/* A kernel function. Names are borrowed from whoever answered. */
struct ksym {
	u64 va;
	const char *name;	/* never empty */
	const char *module;	/* "vmlinux", a module's name, or "bpf" */
};

struct ksym_table {
	struct ksym_entry *entries;
	u32 count, cap;
	struct buf pool;		/* names, each ended by NUL; "" comes first */
	u32 *modules;			/* offsets into the pool */
	u32 module_count;
	u32 padding_bytes;		/* before a padded function */
	u64 base;			/* what offsets count from */
	u64 init_from, init_to;		/* freed after boot */
	u64 dropped;			/* symbols beyond a maximum or out of 32 bits' reach */
	int err;
};

void ksym_table_init(struct ksym_table *table);
void ksym_table_done(struct ksym_table *table);

/* Adds one symbol; type as nm(1) prints it, module "" for the kernel itself. Errors stick. */
void ksym_table_add(struct ksym_table *table, u64 va, char type, const char *name, const char *module);

/* Sorts the table after the last symbol was added. 0 or -ENOMEM. */
int ksym_table_finish(struct ksym_table *table);

/* The function that an address lies in; borrowed from the table. */
bool ksym_table_find(const struct ksym_table *table, u64 va, struct ksym *ret_ksym);

/* Memory that the table takes. */
size_t ksym_table_bytes(const struct ksym_table *table);

#endif

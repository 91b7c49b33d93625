/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's own table of its code, of Go 1.18 and later: for each function its
 * name, and by address its stack depth, file, line and inlined calls. Every
 * Go program carries it, stripped or not, for its own stack traces.
 *
 *	header | names | units | files | pctab | ftab, functions
 *
 * The header is known by its magic number (internal/abi/symtab.go), the rest
 * by offsets in it. Addresses count from the start of the Go text, which the
 * module data (runtime/symtab.go: moduledata) tells; so it does where
 * FUNCDATA lies, which holds the trees of inlined calls.
 *
 * Its contents are hostile: nothing is read outside of the file, and what a
 * call does is bounded by the size of what it reads. Immutable once opened.
 */
#ifndef LANG_GO_PCLNTAB_H
#define LANG_GO_PCLNTAB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct exe;

#define PCLNTAB_FUNCTIONS_MAX (2u << 20)
#define PCLNTAB_NONE UINT32_MAX

/* Of a function (internal/abi/symtab.go: FuncFlag). */
#define GO_TOP_FRAME 1	/* the first of its stack */
#define GO_SP_WRITE  2	/* sets the stack pointer to something else than a sum */
#define GO_ASM       4	/* written in assembly */

/* Some bytes of the file. */
struct go_bytes {
	const u8 *at;
	size_t bytes;
};

struct pclntab {
	const struct exe *exe;
	u64 ea;				/* of the header */
	u64 text_ea, end_ea;		/* the Go text */
	u64 gofunc_ea;			/* where FUNCDATA lies; 0: not found */
	u32 function_count;
	u32 quantum;			/* bytes of the shortest instruction */
	bool is_old;			/* 1.18, 1.19: no start line, longer entries of the inline tree */
	struct go_bytes names, units, files, pctab, functions;
};

struct go_function {
	u64 start_ea, end_ea;
	u32 name;			/* offset into names */
	u32 pcsp, pcfile, pcln;		/* offsets into pctab; 0: none */
	u32 inline_index;		/* ... of the index into the tree of inlined calls; 0: none */
	u32 inline_tree;		/* offset from gofunc_ea, or PCLNTAB_NONE */
	u32 unit;			/* index into units of its first file */
	u32 start_line;			/* where it is declared; 0: not known */
	u8 flags;			/* GO_* */
};

/* An entry of a function's tree of inlined calls. */
struct go_inlined {
	u32 name;			/* of what was called */
	u32 start_line;			/* ... where that is declared; 0: not known */
	u64 call_ea;			/* where it was called from */
};

/* A walk over one of a function's tables: [start_ea, end_ea) has that value. */
struct go_values {
	struct go_bytes left;
	u32 quantum;
	u64 limit_ea;
	u64 start_ea, end_ea;
	s32 value;
	bool is_first;
};

/* -ENODATA if the file has no such table, or one of a kind we do not know. The file must outlive it. */
int pclntab_open(const struct exe *exe, struct pclntab *ret_table);

/* The function with that number. False if what the table says of it is impossible. */
bool pclntab_function(const struct pclntab *table, u32 index, struct go_function *ret_function);

/* The number of the function at an address, or PCLNTAB_NONE. */
u32 pclntab_find(const struct pclntab *table, u64 ea);

/* A name, in the file, ended within *ret_max bytes or cut there; "" if there is none. */
const char *pclntab_name(const struct pclntab *table, u32 offset, u32 *ret_max);

/* Is that the function's whole name? */
bool pclntab_is_named(const struct pclntab *table, const struct go_function *function, const char *wanted);

/* The path of a file by its number in the function's unit. */
const char *pclntab_file(const struct pclntab *table, const struct go_function *function, s32 number, u32 *ret_max);

/* Walks the table at that offset in pctab: init, then next until it is false. */
void go_values_init(struct go_values *values, const struct pclntab *table, const struct go_function *function,
		    u32 offset);
bool go_values_next(struct go_values *values);

/* The value at an address, -1 if there is none. */
s32 pclntab_value(const struct pclntab *table, const struct go_function *function, u32 offset, u64 ea);

/* The entry with that number. False if there is none, or what it says is impossible. */
bool pclntab_inlined(const struct pclntab *table, const struct go_function *function, s32 index,
		     struct go_inlined *ret_inlined);

#endif

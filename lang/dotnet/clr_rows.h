/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How .NET's code is unwound. Optimized methods keep no frame pointer, so that their code is looked through, as that of
 * any function without call frame information (exe/sweep.h): all functions in the 64 KiB around an address that was
 * met, which the runtime tells of, each for itself. Those that are new there are when one of them is met.
 */
#ifndef LANG_DOTNET_CLR_ROWS_H
#define LANG_DOTNET_CLR_ROWS_H

#include "base/types.h"
#include "lang/jit/code_rows.h"
#include "lang/jit/code_table.h"

struct clr_layout;
struct clr_modules;
struct lang_process;
struct memory;
struct rows;

struct clr_rows {
	struct code_table functions;	/* those that were met, without names */
	struct code_rows rows;
	u64 making_ns, next_make_ns;
	const struct lang_process *process;	/* during a call */
};

void clr_rows_done(struct clr_rows *rows);

/* An address in a frame: the code around it is told of, unless its function was already. */
void clr_rows_meet(struct clr_rows *rows, const struct clr_layout *layout, struct memory *memory,
		   struct clr_modules *modules, u64 sections_va, u64 va);

/* The same of all methods between two addresses, if they are compiled into there: before any was met. */
void clr_rows_meet_methods(struct clr_rows *rows, const struct clr_layout *layout, struct memory *memory,
			   u64 sections_va, u64 start_va, u64 end_va);

/* As struct lang_ops has it. */
int clr_rows_join(struct clr_rows *rows, const struct lang_process *process, u64 start_va, u64 end_va, u64 base_va,
		  struct rows **ret_rows);

#endif

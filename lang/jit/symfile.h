/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ELF file that a runtime keeps in its memory to tell a debugger of code
 * that it has generated (GDB's JIT interface). Some are complete, with
 * addresses as they are (QEMU, LuaJIT). LLVM leaves its object file as it was
 * compiled, but for the addresses of sections: symbols count from there, and
 * tables are as they should be only where they were loaded to.
 *
 * The bytes are a copy; they are hostile all the same.
 */
#ifndef LANG_JIT_SYMFILE_H
#define LANG_JIT_SYMFILE_H

#include <stddef.h>

struct code_rows;
struct code_table;
struct lang_process;

/*
 * Takes its functions, and how its code is unwound: what was loaded is read from the process, then or when the rows are
 * asked for. Bytes that are no such file are passed over.
 */
void symfile_take(const void *at, size_t bytes, const struct lang_process *process, struct code_table *table,
		  struct code_rows *rows);

#endif

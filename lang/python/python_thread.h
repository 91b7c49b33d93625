/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread finds the state that CPython keeps of it: a thread-specific
 * value of libc (pthread_getspecific()), whose key differs. Every thread in
 * CPython's own list says which it is; the place among libc's values that
 * holds its address is looked for there, once, and is the same in all.
 */
#ifndef LANG_PYTHON_THREAD_H
#define LANG_PYTHON_THREAD_H

#include "base/types.h"
#include "lang/lang.h"
#include "lang/python/python.h"
#include "lang/python/python_layout.h"

/* Fills slot->self, tsd, tsd_block, tsd_in_block. machine: ELF's. -EAGAIN if there is no such thread yet. */
int python_thread_find(const struct lang_process *process, const struct python_layout *layout, u64 runtime_va,
		       u32 machine, struct python_slot *slot);

#endif

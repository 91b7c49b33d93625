/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the kernel half finds what it needs of a process. Packages of BEAM are stripped, some of every name, so that
 * nothing is looked up by one: the live process is asked, and its generated code, which says where it has what.
 *
 *	the descriptor of GDB's interface and the first scheduler are looked for in the program's data, and known by
 *	what they lead to;
 *	the loop of schedulers tells how large their registers are, the fragments where a process keeps its stack;
 *	where a thread has its scheduler's data is found among libc's values of the first scheduler's thread.
 */
#ifndef LANG_BEAM_LAYOUT_H
#define LANG_BEAM_LAYOUT_H

#include "lang/beam/beam.h"
#include "lang/beam/beam_modules.h"

struct lang_process;

/* Fills the slot, and modules. -EAGAIN while the runtime starts; another error if it is not as those that are known. */
int beam_layout_find(const struct lang_process *process, const struct beam_facts *facts, u64 bias,
		     struct beam_modules *modules, struct beam_slot *ret_slot);

/* How many bits the number of a line of the cache has in the table of processes; less than 0: it was not found. */
int beam_layout_line_bits(const struct lang_process *process, const struct beam_facts *facts, u64 bias);

#endif

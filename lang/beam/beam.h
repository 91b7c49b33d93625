/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * BEAM, the machine of Erlang and Elixir, with its JIT on x86-64: what both halves share. Code that it has generated
 * runs on the stack of an Erlang process, in that process's heap; when it calls C code, it goes over to the stack of
 * the scheduler's thread, at the address that the scheduler's registers (struct ErtsSchedulerRegisters) have there.
 */
#ifndef LANG_BEAM_BEAM_H
#define LANG_BEAM_BEAM_H

#include "abi.h"

/* What is known of a file. */
struct beam_facts {
	u64 release;			/* OTP's; 0: not found */
	u64 has_jit;
	u64 is_x86_64;
	u64 data_ea, data_end_ea;	/* what the process writes into */
	u64 text_ea, text_end_ea;
};

/* struct ErtsSchedulerData (erl_process.h), the same in OTP 25 to 29: words */
#define BEAM_SCHEDULER_REGISTERS 0
#define BEAM_SCHEDULER_THREAD 4		/* its pthread_t */
#define BEAM_SCHEDULER_PROCESS 21	/* the Erlang process that runs */
#define BEAM_SCHEDULER_TYPE 22		/* 0: of Erlang code, not one of those for long calls of C code ("dirty") */
#define BEAM_SCHEDULER_NUMBER 23	/* from 1 on */
#define BEAM_SCHEDULER_DIRTY 24
#define BEAM_SCHEDULER_WORDS 25

#define BEAM_ROOTS 4			/* places where the return address of a scheduler's loop may be */
#define BEAM_ROOTS_APART 16

struct beam_slot {
	u64 scheduler;			/* where a thread has that of its scheduler's data, from its pointer on */
	u64 scheduler_in_block;		/* ... in a block that is there, if has_block */
	u64 has_block;
	u64 stop;			/* in struct process: the top of its stack, while C code runs */
	u64 registers;			/* from the registers' address to that which rbx has */
	u64 root, root_va;		/* from there to the first such place; the return address */
	u64 normal_exit_va;		/* what the first function of a process returns to */
	u64 global_va, global_end_va;	/* fragments of code that all modules share */
	u64 loop_va, loop_end_va;	/* one of them: a scheduler's loop, between processes */
	u64 has_frame_pointers;		/* +JPfp true */
	u64 wants_pids;			/* samples get a label with that of their process */
};

#endif

// SPDX-License-Identifier: Apache-2.0
/* The leaves run on a coroutine's own stack, whose root is makecontext's. */
#include <ucontext.h>

#include "victim.h"

static ucontext_t home, coroutine;
static char stack[1 << 16];
static uint64_t coroutine_n;

NOINLINE void coroutine_body(void)
{
	for (;;) {
		LEAVES(coroutine_n);
		swapcontext(&coroutine, &home);
	}
}

void victim_setup(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	makecontext(&coroutine, coroutine_body, 0);
}

NOINLINE uint64_t outer(uint64_t n)
{
	coroutine_n = n;
	swapcontext(&home, &coroutine);
	return n;
}

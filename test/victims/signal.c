// SPDX-License-Identifier: Apache-2.0
/*
 * A timer interrupts `interrupted` anywhere, prologues included; the handler
 * runs the leaves. With -DALTSTACK on a stack of its own.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "victim.h"

static uint64_t handler_n = 1000;

NOINLINE uint64_t tiny(uint64_t x)
{
#ifdef __x86_64__
	__asm__ volatile("" : "+r"(x) :: "rbx", "r12");
#endif
	return x + 1;
}

NOINLINE uint64_t interrupted(uint64_t n)
{
	uint64_t x = n;

	for (; n; n--)
		x = tiny(x);
	return x;
}

NOINLINE void handler(int number)
{
	uint64_t from = victim_cpu_ns();

	(void)number;
	LEAVES(handler_n);
	if (victim_cpu_ns() - from < 3000000)
		handler_n *= 2;
}

NOINLINE uint64_t outer(uint64_t n)
{
	uint64_t r = interrupted(n);

	NO_TAIL();
	return r;
}

void victim_setup(int argc, char **argv)
{
	struct itimerval every = { { 0, 8000 }, { 0, 8000 } };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	(void)argc;
	(void)argv;
#ifdef ALTSTACK
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };

	sigaltstack(&stack, NULL);
	action.sa_flags |= SA_ONSTACK;
#endif
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
}

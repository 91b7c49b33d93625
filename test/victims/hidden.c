// SPDX-License-Identifier: Apache-2.0
/*
 * While the chain runs, nobody can read the part of the stack that holds main and its callers: not the kernel half, for
 * whom a page that is swapped out, or untouched since fork() on some processors, is the same.
 */
#include <alloca.h>
#include <string.h>
#include <sys/mman.h>

#include "victim.h"

#define PAGE 4096ul

static char *hidden_page;

NOINLINE void hides(void)
{
	/* What lies above may end with the stack: then the second page is none. */
	(void)mprotect(hidden_page, 2 * PAGE, PROT_NONE);
	victim_main(victim_budget_ns);
	(void)mprotect(hidden_page, 2 * PAGE, PROT_READ | PROT_WRITE);
}

NOINLINE void victim_setup(int argc, char **argv)
{
	char *room = alloca(2 * PAGE);

	(void)argc;
	(void)argv;
	memset(room, 1, 2 * PAGE);
	hidden_page = (char *)((unsigned long)__builtin_frame_address(0) & ~(PAGE - 1));
	hides();
	victim_sink += (uint64_t)room[17];
	victim_budget_ns = 0;
}

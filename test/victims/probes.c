// SPDX-License-Identifier: Apache-2.0
/*
 * Functions that are called a known number of times, with known arguments, and take a known time, for probes:
 *
 *	probes calls N         take_size(i % 10 + 100) N times; a USDT marker `victim:step` with the same, at two places
 *	probes naps N          nap(i) N times, of 1 to 20 ms
 *	probes hostile         take_size(2^64 - 1), then (1000); read_text() of an address that faults
 *	probes storm N         getppid() N times: one of three by storm_a(), two by storm_b()
 *	probes wait            naps until it is told to end
 *
 * What was done is printed as JSON; of naps, each one's nanoseconds by this program's own clock.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "victim.h"

/* What <sys/sdt.h> makes of DTRACE_PROBE1(victim, step, value): a nop, and a note that says where it is. */
#define STEP(value_, constraint)                                                                    \
	__asm__ volatile("990: nop\n"                                                               \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"                               \
			 ".balign 4\n .4byte 992f-991f, 994f-993f, 3\n"                             \
			 "991: .asciz \"stapsdt\"\n992: .balign 4\n"                                \
			 "993: .8byte 990b\n .8byte 0\n .8byte 0\n"                                 \
			 ".asciz \"victim\"\n .asciz \"step\"\n .asciz \"8@%[value]\"\n"            \
			 "994: .balign 4\n.popsection\n"                                            \
			 : : [value] constraint(value_))

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

NOINLINE uint64_t take_size(uint64_t size)
{
	NO_TAIL();
	return size + 1;
}

NOINLINE void read_text(const char *text)
{
	__asm__ volatile("" : : "r"(text) : "memory");
}

NOINLINE void calls(long count)
{
	for (long i = 0; i < count; i++) {
		uint64_t value = 100 + (uint64_t)i % 10;

		take_size(value);
		if (i % 2)
			STEP(value, "r");
		else
			STEP(value, "m");
	}
}

NOINLINE void nap(uint64_t ns)
{
	struct timespec length = { .tv_nsec = (long)ns };

	nanosleep(&length, NULL);
	NO_TAIL();
}

NOINLINE void naps(long count)
{
	printf("{\"naps\": [");
	for (long i = 0; i < count; i++) {
		uint64_t from = now_ns();

		nap(1000000 + (uint64_t)(i * 7919 % count) * 19000000 / (uint64_t)count);
		printf("%s%llu", i ? ", " : "", (unsigned long long)(now_ns() - from));
	}
	printf("]}\n");
}

NOINLINE void storm_a(void)
{
	syscall(SYS_getppid);
	NO_TAIL();
}

NOINLINE void storm_b(void)
{
	syscall(SYS_getppid);
	NO_TAIL();
}

NOINLINE void storm(long count)
{
	for (long i = 0; i < count; i += 3) {
		storm_a();
		storm_b();
		storm_b();
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long count = argc > 2 ? atol(argv[2]) : 0;
	uint64_t from;

	take_size(0);	/* its tables are there by the time it counts */
	nap(200000000);
	from = now_ns();
	if (!strcmp(what, "calls"))
		calls(count);
	else if (!strcmp(what, "naps"))
		naps(count);
	else if (!strcmp(what, "storm"))
		storm(count);
	else if (!strcmp(what, "hostile")) {
		take_size(UINT64_MAX);
		take_size(1000);
		read_text((const char *)8);
		read_text("read this");
	}
	while (!strcmp(what, "wait")) {
		take_size(7);
		nap(5000000);
	}
	printf("{\"ns\": %llu}\n", (unsigned long long)(now_ns() - from));
	return 0;
}

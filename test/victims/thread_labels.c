// SPDX-License-Identifier: Apache-2.0
/*
 * Works for tenants, and keeps in variables of each thread for whom (thread_labels_variables.c):
 *
 *	thread_labels work SECONDS		in two threads at once: CPU time, waits and page faults
 *	thread_labels fork SECONDS		the same in a child
 *	thread_labels hostile SECONDS HOW	variables say what nobody could mean
 *
 * In the end it says what each tenant took by the clocks of its threads: tenant NAME CPU_NS.
 */
#include "thread_labels.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIECE_NS 8000000

static const struct labels_writer *writer;
static uint64_t end_ns;

static struct tenant {
	struct labels_values values;
	uint64_t cpu_ns;
} tenants[] = {
	{ .values = { "a", "GET /a", 1, -1 } },
	{ .values = { "b", "GET /b", 2, -2 } },
	{ .values = { "sleeping", "GET /sleeping", 3, -3 } },
	{ .values = { "faulting", "GET /faulting", 4, -4 } },
	{ .values = { "beside", "GET /beside", 4000000000u, INT64_MIN } },
};
static const struct labels_values nobody = { "", NULL, 0, 0 };

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static __attribute__((noipa)) void burn(uint64_t ns)
{
	uint64_t until_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	static volatile uint64_t sum;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		for (int i = 0; i < 20000; i++)
			sum += (uint64_t)i;
}

#define AFTER_CALL __asm__ volatile("")	/* or it would be a jump, and its caller not on the stack */

static __attribute__((noipa)) void outside(void) { burn(PIECE_NS / 2); AFTER_CALL; }
static __attribute__((noipa)) void work_a(void) { burn(PIECE_NS); AFTER_CALL; }
static __attribute__((noipa)) void work_b(void) { burn(PIECE_NS / 2); AFTER_CALL; }
static __attribute__((noipa)) void work_beside(void) { burn(PIECE_NS / 2); AFTER_CALL; }
static __attribute__((noipa)) void work_sleeping(void) { usleep(4000); AFTER_CALL; }

static __attribute__((noipa)) void work_faulting(void)
{
	size_t bytes = 256 * 4096;
	volatile char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	for (size_t i = 0; i < bytes; i += 4096)
		at[i] = 1;
	munmap((void *)at, bytes);
}

static void for_tenant(struct tenant *tenant, void (*work)(void))
{
	uint64_t cpu_ns;

	writer->set(&tenant->values);
	cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	work();
	tenant->cpu_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	writer->set(&nobody);
}

static void *beside(void *arg)
{
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		for_tenant(&tenants[4], work_beside);
		usleep(8000);
	}
	return NULL;
}

static void work(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, beside, NULL))
		exit(1);
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		for_tenant(&tenants[0], work_a);
		outside();
		for_tenant(&tenants[1], work_b);
		for_tenant(&tenants[2], work_sleeping);
		for_tenant(&tenants[3], work_faulting);
	}
	pthread_join(thread, NULL);
	for (size_t i = 0; i < sizeof(tenants) / sizeof(*tenants); i++)
		printf("tenant %s %llu\n", tenants[i].values.tenant, (unsigned long long)tenants[i].cpu_ns);
	fflush(stdout);
}

/* ---- What nobody could mean ---------------------------------------------------------------------------------- */

static char scratch[10000];

static void *change(void *arg)
{
	for (unsigned i = 0; now_ns(CLOCK_MONOTONIC) < end_ns; i++)
		scratch[i % 70] = (char)(i * 40503 >> 4);
	return NULL;
}

/* A value that was never there before, each microsecond or so. */
static __attribute__((noipa)) void work_anew(void)
{
	static volatile uint64_t sum;
	struct labels_values values = { "always", "GET /new", 0, 0 };
	char tenant[32];

	for (uint32_t n = 1; now_ns(CLOCK_MONOTONIC) < end_ns; n++) {
		snprintf(tenant, sizeof(tenant), "tenant %u", n);
		values = (struct labels_values){ tenant, "GET /new", n, n };
		writer->set(&values);
		for (int i = 0; i < 200; i++)
			sum += (uint64_t)i;
	}
}

static void be_hostile(const char *how)
{
	struct labels_values values = { "hostile", "GET /", 7, 7 };
	char *edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	munmap(edge + 4096, 4096);
	memset(scratch, 'x', sizeof(scratch) - 1);
	if (!strcmp(how, "nowhere"))
		values.route = (void *)0xdead000;
	else if (!strcmp(how, "kernel"))
		values.route = (void *)0xffff888000000000ull;
	else if (!strcmp(how, "noncanonical"))
		values.route = (void *)0x7fffffffffffff01ull;
	else if (!strcmp(how, "edge"))
		values.route = memset(edge + 4096 - 8, 'e', 8);		/* its end is past the page's */
	else if (!strcmp(how, "long"))
		values.route = scratch;
	else if (!strcmp(how, "unterminated"))
		values.tenant = "0123456789abcdef0123456789abcdef and more";
	else if (!strcmp(how, "binary"))
		values.route = values.tenant = "\x01\xff\n\xc3(\x7f";
	else if (!strcmp(how, "changing"))
		values.route = pthread_create(&thread, NULL, change, NULL) ? NULL : scratch;
	else if (!strcmp(how, "new"))
		work_anew();
	else
		exit(2);
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		writer->set(&values);
		work_a();
	}
}

/* Linked, or in the library that a variable names. */
static const struct labels_writer *find_writer(void)
{
#ifdef LINKED
	return &labels_writer;
#else
	const char *library = getenv("LABELS_LIBRARY");
	void *handle = library ? dlopen(library, RTLD_NOW) : NULL;

	if (!handle)
		fprintf(stderr, "%s\n", library ? dlerror() : "LABELS_LIBRARY is not set");
	return handle ? dlsym(handle, "labels_writer") : NULL;
#endif
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc < 3)
		return 2;
	end_ns = now_ns(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[2]) * 1e9);
	writer = find_writer();
	if (!writer)
		return 1;
	if (!strcmp(argv[1], "fork")) {
		usleep(500000);		/* until wick knows the parent */
		if (fork())
			return wait(&status) < 0 || status;
		work();
	} else if (!strcmp(argv[1], "work")) {
		work();
	} else if (argc > 3) {
		be_hostile(argv[3]);
	}
	return 0;
}

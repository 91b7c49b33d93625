// SPDX-License-Identifier: Apache-2.0
/*
 * Works for requests, and says of each thread which it works for (requests_writer.c):
 *
 *	requests work SECONDS		spans of known CPU time, waits and page faults in one thread
 *	requests hop SECONDS		each span goes from one thread to the other
 *	requests hostile SECONDS HOW	threads say what nobody could mean
 *
 * In the end it says what each span took: span TRACE SPAN NAME CPU_NS WALL_NS.
 */
#include "requests.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SPANS 5
#define PIECE_NS 8000000

static const struct requests_writer *writer;
static uint64_t end_ns;

static struct span {
	const char *name;
	struct published_request record;
	uint64_t cpu_ns, wall_ns;
} spans[SPANS] = {
	{ .name = "a" }, { .name = "b" }, { .name = "sleeping" }, { .name = "faulting" }, { .name = "hopping" },
};

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
static __attribute__((noipa)) void work_hopping(void) { burn(PIECE_NS); AFTER_CALL; }
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

/* Ids that tell which it is, and of which run. The one attribute is the local root span's id, in hexadecimal. */
static void make_spans(void)
{
	for (int i = 0; i < SPANS; i++) {
		struct published_request *r = &spans[i].record;

		for (int k = 0; k < 16; k++)
			r->trace[k] = (uint8_t)(0x10 * (i + 1) + k);
		for (int k = 0; k < 8; k++)
			r->span[k] = (uint8_t)(0xa0 + 0x08 * i + k);
		r->attributes[0] = 0;
		r->attributes[1] = 16;
		snprintf((char *)r->attributes + 2, 17, "%016x", 0x1234 + i);
		r->attributes[18] = 1;
		r->attributes[19] = (uint8_t)snprintf((char *)r->attributes + 20, 32, "GET /%s", spans[i].name);
		r->bytes = (uint16_t)(20 + r->attributes[19]);
		r->valid = 1;
	}
}

static void print_spans(void)
{
	for (int i = 0; i < SPANS; i++) {
		struct published_request *r = &spans[i].record;

		if (!spans[i].wall_ns)
			continue;
		printf("span ");
		for (int k = 0; k < 16; k++)
			printf("%02x", r->trace[k]);
		printf(" ");
		for (int k = 0; k < 8; k++)
			printf("%02x", r->span[k]);
		printf(" %s %llu %llu\n", spans[i].name, (unsigned long long)spans[i].cpu_ns,
		       (unsigned long long)spans[i].wall_ns);
	}
	fflush(stdout);
}

static void in_span(struct span *span, void (*work)(void))
{
	uint64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID), wall_ns = now_ns(CLOCK_MONOTONIC);

	writer->set(&span->record);
	work();
	writer->set(NULL);
	span->cpu_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	span->wall_ns += now_ns(CLOCK_MONOTONIC) - wall_ns;
}

static void work(void)
{
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		in_span(&spans[0], work_a);
		outside();
		in_span(&spans[1], work_b);
		in_span(&spans[2], work_sleeping);
		in_span(&spans[3], work_faulting);
	}
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int whose;

static void *hop(void *arg)
{
	int me = *(int *)arg;

	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		pthread_mutex_lock(&lock);
		while (whose != me && now_ns(CLOCK_MONOTONIC) < end_ns + 1000000000)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		in_span(&spans[4], work_hopping);
		pthread_mutex_lock(&lock);
		whose = 1 - me;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		outside();
	}
	pthread_mutex_lock(&lock);
	whose = 1 - me;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void hops(void)
{
	int numbers[] = { 0, 1 };
	pthread_t thread;

	if (pthread_create(&thread, NULL, hop, &numbers[1]))
		exit(1);
	hop(&numbers[0]);
	pthread_join(thread, NULL);
}

/* ---- What nobody could mean ---------------------------------------------------------------------------------- */

static struct published_request *volatile target;

static void *change(void *arg)
{
	struct published_request *r = arg;

	for (unsigned i = 0; now_ns(CLOCK_MONOTONIC) < end_ns; i++) {
		r->bytes = (uint16_t)(i * 40503);
		r->valid = (uint8_t)i;
		r->attributes[1] = (uint8_t)(i * 7);
		r->trace[i % 16] = (uint8_t)i;
	}
	return NULL;
}

static void be_hostile(const char *how)
{
	static struct published_request mine;
	char *edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	mine = spans[0].record;
	target = &mine;
	munmap(edge + 4096, 4096);
	if (!strcmp(how, "nowhere"))
		target = (void *)0xdead000;
	else if (!strcmp(how, "kernel"))
		target = (void *)0xffff888000000000ull;
	else if (!strcmp(how, "noncanonical"))
		target = (void *)0x7fffffffffffff01ull;
	else if (!strcmp(how, "long"))
		mine.bytes = 65535;
	else if (!strcmp(how, "invalid"))
		mine.valid = 7;
	else if (!strcmp(how, "cut"))
		mine.attributes[1] = 255;
	else if (!strcmp(how, "edge"))
		target = memcpy(edge + 4096 - 30, &mine, 30);	/* its attributes are past the end */
	else if (!strcmp(how, "changing"))
		pthread_create(&thread, NULL, change, &mine);
	else
		exit(2);
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		writer->set(target);
		work_a();
		writer->set(NULL);
	}
}

/* Linked, or in the library that a variable names. */
static const struct requests_writer *find_writer(void)
{
#ifdef LINKED
	return &requests_writer;
#else
	const char *library = getenv("REQUESTS_LIBRARY");
	void *handle = library ? dlopen(library, RTLD_NOW) : NULL;

	if (!handle)
		fprintf(stderr, "%s\n", library ? dlerror() : "REQUESTS_LIBRARY is not set");
	return handle ? dlsym(handle, "requests_writer") : NULL;
#endif
}

int main(int argc, char **argv)
{
	static const char *const keys[] = { "datadog.local_root_span_id", "http.route", NULL };
	const char *schema = getenv("REQUESTS_SCHEMA");

	if (argc < 3)
		return 2;
	end_ns = now_ns(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[2]) * 1e9);
	writer = find_writer();
	if (!writer || writer->publish("requests", schema ? schema : "tlsdesc_v1_dev", keys) < 0)
		return 1;
	make_spans();
	if (!strcmp(argv[1], "work"))
		work();
	else if (!strcmp(argv[1], "hop"))
		hops();
	else if (argc > 3)
		be_hostile(argv[3]);
	print_spans();
	return 0;
}

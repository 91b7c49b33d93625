// SPDX-License-Identifier: Apache-2.0
/*
 * A program whose stacks are known, small enough to go into every guest:
 *
 *	victim flat|deep|signal|threads|fork|waits SECONDS
 *
 * run.sh has the chain that each of them must show. It is built without frame
 * pointers; every function has a caller that uses its result, so that none is
 * inlined or jumped to.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noipa)) static
#define DEPTH 1000
#define THREADS 4

static double end_seconds;
static volatile uint64_t sink;

static double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

NOINLINE uint64_t victim_spin(uint64_t x)
{
	while (now_seconds() < end_seconds)
		for (int i = 0; i < 20000; i++)
			sink = x = x * 6364136223846793005u + 1442695040888963407u;
	return x + 1;
}

NOINLINE uint64_t victim_c(uint64_t x)
{
	uint64_t local[8] = { x };

	sink = local[x & 7];
	return victim_spin(x) ^ local[0];
}

NOINLINE uint64_t victim_b(uint64_t x)
{
	return victim_c(x + 2) * 3;
}

NOINLINE uint64_t victim_a(uint64_t x)
{
	return victim_b(x + 1) * 5;
}

NOINLINE uint64_t victim_deep(uint64_t left)
{
	if (left > 1)
		return victim_deep(left - 1) * 31 ^ left;
	return victim_spin(left) + 1;
}

NOINLINE void victim_handler(int number)
{
	sink = victim_spin(number) + 1;
}

/* The signal comes at some instruction of victim_spin, and its handler takes the rest of the time. */
NOINLINE uint64_t victim_signal(uint64_t x)
{
	struct itimerval soon = { .it_value.tv_usec = 20000 };
	struct sigaction action = { .sa_handler = victim_handler };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	return victim_spin(x) + 1;
}

NOINLINE void *victim_thread(void *arg)
{
	return (void *)(uintptr_t)(victim_a((uintptr_t)arg) + 1);
}

static uint64_t run_threads(void)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, victim_thread, (void *)i))
			exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

NOINLINE uint64_t victim_fork(uint64_t x)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit((victim_a(x) + 1) == 0);
	return pid < 0 || waitpid(pid, NULL, 0) != pid;
}

NOINLINE uint64_t victim_nap(uint64_t x)
{
	while (now_seconds() < end_seconds)
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	return x + 1;
}

/* One that sleeps now and then, one that sleeps all the time. */
NOINLINE uint64_t victim_waits(uint64_t x)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit((victim_nap(x) + 1) == 0);
	return pid < 0 || waitpid(pid, NULL, 0) != pid;
}

int main(int argc, char **argv)
{
	const char *mode = argc == 3 ? argv[1] : "";

	end_seconds = now_seconds() + (argc == 3 ? atof(argv[2]) : 0);
	if (!strcmp(mode, "flat"))
		sink = victim_a(argc) + 1;
	else if (!strcmp(mode, "deep"))
		sink = victim_deep(DEPTH) + 1;
	else if (!strcmp(mode, "signal"))
		sink = victim_signal(argc) + 1;
	else if (!strcmp(mode, "threads"))
		sink = run_threads() + 1;
	else if (!strcmp(mode, "fork"))
		sink = victim_fork(argc) + 1;
	else if (!strcmp(mode, "waits"))
		sink = victim_waits(argc) + 1;
	else
		return fprintf(stderr, "usage: victim flat|deep|signal|threads|fork|waits SECONDS\n"), 1;
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Processes that a profiler should survive, each for SECONDS of CPU time (forks: of wall time):
 *	hostile maps SECONDS			maps and unmaps executable memory in a loop
 *	hostile lines SECONDS COUNT		a maps file of COUNT lines
 *	hostile run SECONDS FILE OFFSET		runs code inside FILE, mapped executable whatever it is
 *	hostile truncate SECONDS LIBRARY	runs code inside a copy of LIBRARY, all but its code cut off
 *	hostile forks SECONDS COUNT		COUNT processes at a time, each short
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

uint64_t spent_ns[3];
volatile uint64_t victim_sink;

static clockid_t clock_used = CLOCK_PROCESS_CPUTIME_ID;
static double end_s;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(clock_used, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* For the library of the truncate scenario. */
uint64_t victim_cpu_ns(void);
uint64_t victim_cpu_ns(void)
{
	return 0;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* A function that counts its argument down and returns, as machine code. */
static const unsigned char spin_code[] = {
#if defined(__x86_64__)
	0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3,					/* 1: dec rdi; jnz 1b; ret */
#elif defined(__aarch64__)
	0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff, 0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6,	/* 1: subs x0, x0, 1; b.ne 1b; ret */
#endif
};

static void run_at(void *code)
{
	void (*spin)(uint64_t n) = (void (*)(uint64_t))(uintptr_t)code;

	while (now_s() < end_s)
		spin(1000000);
}

static int run_maps(char **argv)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)argv;
	for (unsigned i = 0; now_s() < end_s; i++) {
		void *at[64];

		for (int k = 0; k < 64; k++)
			at[k] = mmap(NULL, PAGE * (1 + (i + (unsigned)k) % 7), PROT_READ | PROT_EXEC, MAP_PRIVATE,
				     fd, 0);
		for (int k = 0; k < 64; k++)
			if (at[k] != MAP_FAILED)
				munmap(at[k], PAGE * (1 + (i + (unsigned)k) % 7));
	}
	return 0;
}

/* Neighbours differ in protection, so that the kernel cannot merge them. */
static int run_lines(char **argv)
{
	long count = strtol(argv[0], NULL, 10), made = 0;
	char *at = mmap(NULL, (size_t)count * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || code == MAP_FAILED)
		die("mmap");
	for (long i = 0; i < count; i += 2)
		if (!mprotect(at + i * PAGE, PAGE, i % 4 ? PROT_READ | PROT_EXEC : PROT_NONE))
			made += 2;
	fprintf(stderr, "%ld lines\n", made);
	memcpy(code, spin_code, sizeof(spin_code));
	mprotect(code, PAGE, PROT_READ | PROT_EXEC);
	run_at(code);
	return 0;
}

static int run_file(char **argv)
{
	long offset = strtol(argv[1], NULL, 0);
	int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *at;

	if (fd < 0 || fstat(fd, &st) < 0)
		die(argv[0]);
	at = mmap(NULL, (size_t)offset + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		die("mmap");
	memcpy(at + offset, spin_code, sizeof(spin_code));
	if (mprotect(at, (size_t)offset + PAGE, PROT_READ | PROT_EXEC) < 0)
		die("mprotect");
	run_at(at + offset);
	return 0;
}

/*
 * The library's first two pages hold its headers and its code; what follows
 * (unwind tables, symbols, section headers) is cut off once it runs.
 */
static int run_truncate(char **argv)
{
	char path[] = "/tmp/wick-truncate-XXXXXX.so";
	int out = mkstemps(path, 3), in = open(argv[0], O_RDONLY | O_CLOEXEC);
	uint64_t (*leaf)(uint64_t n);
	void *library;

	if (out < 0 || in < 0)
		die(argv[0]);
	while (sendfile(out, in, NULL, 1 << 20) > 0)
		;
	library = dlopen(path, RTLD_NOW);
	leaf = library ? (uint64_t(*)(uint64_t))dlsym(library, "dl_leaf_a") : NULL;
	if (!leaf)
		die("dlopen");
	for (unsigned i = 0; now_s() < end_s; i++) {
		victim_sink += leaf(1000000);
		if (i == 500 && ftruncate(out, 2 * PAGE) < 0)
			die("ftruncate");
	}
	unlink(path);
	fflush(NULL);
	_exit(0);
}

static void short_life(void)
{
	for (unsigned i = 0; i < 200000; i++)
		victim_sink += i;
	_exit(0);
}

static int run_forks(char **argv)
{
	long count = strtol(argv[0], NULL, 10), running = 0;
	double seconds = end_s - now_s();

	clock_used = CLOCK_MONOTONIC;
	end_s = now_s() + seconds;
	while (now_s() < end_s) {
		if (running < count) {
			pid_t pid = fork();

			if (pid == 0)
				short_life();
			running += pid > 0;
		}
		if (waitpid(-1, NULL, running < count ? WNOHANG : 0) > 0)
			running--;
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **argv);
		int arguments;
	} ways[] = {
		{ "maps", run_maps, 0 },	 { "lines", run_lines, 1 }, { "run", run_file, 2 },
		{ "truncate", run_truncate, 1 }, { "forks", run_forks, 1 },
	};

	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (argc < 3 + ways[i].arguments || strcmp(argv[1], ways[i].name))
			continue;
		end_s = now_s() + strtod(argv[2], NULL);
		return ways[i].run(argv + 3);
	}
	fprintf(stderr, "hostile maps|lines|run|truncate|forks SECONDS ...\n");
	return 2;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * What costs a profiler much: processes, executables and code that come and go.
 *
 *	storm fork RATE SECONDS			so many processes a second, which work for a moment and end
 *	storm exec RATE SECONDS FOLDER		... each of which runs a file in FOLDER that nobody has seen before
 *	storm jit RATE SECONDS			so many pieces of new code a second, each in a mapping of its own
 *	storm sleep COUNT			so many processes that sleep; prints a line when they do
 *	storm work SECONDS THREADS		nothing but work
 *	storm spin MICROSECONDS			works so long
 *
 * Prints how many there were at its end.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>

#define SPIN_US 200

static uint64_t now_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static volatile uint64_t sink;

__attribute__((noinline)) static void spin(uint64_t us)
{
	uint64_t end = now_us(CLOCK_THREAD_CPUTIME_ID) + us;

	while (now_us(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 1000; i++)
			sink += (uint64_t)i * 7;
}

static char *image;
static size_t image_bytes;

static void read_image(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		exit(2);
	image_bytes = (size_t)st.st_size;
	image = malloc(image_bytes);
	if (!image || read(fd, image, image_bytes) != (ssize_t)image_bytes)
		exit(2);
	close(fd);
}

static void one_fork(unsigned long number, const char *folder)
{
	if (fork() == 0) {
		spin(SPIN_US);
		_exit(0);
	}
}

static void one_exec(unsigned long number, const char *folder)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/storm-%lu", folder, number);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0 || write(fd, image, image_bytes) != (ssize_t)image_bytes ||
	    write(fd, &number, sizeof(number)) != sizeof(number))
		exit(2);
	close(fd);
	if (vfork() == 0) {
		execl(path, path, "spin", "200", (char *)NULL);
		_exit(127);
	}
	unlink(path);
}

/* Counts down: mov $100000, %ecx; loop .; ret — or the like. */
static void one_jit(unsigned long number, const char *folder)
{
#if defined(__x86_64__)
	static const unsigned char code[] = { 0xb9, 0xa0, 0x86, 0x01, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
#else
	static const uint32_t code[] = { 0xd2830d40, 0xf1000400, 0x54ffffe1, 0xd65f03c0 };
#endif
	/* Each at another address, so that neighbours do not become one mapping. */
	void *at = mmap((void *)(0x200000000000 + (number % 100000) * 0x20000), 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(2);
	memcpy(at, code, sizeof(code));
	mprotect(at, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(at, (char *)at + 4096);
	((void (*)(void))at)();
	munmap(at, 4096);
}

static void reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void storm(void (*one)(unsigned long, const char *), const char *rate, const char *seconds, const char *folder)
{
	uint64_t began = now_us(CLOCK_MONOTONIC), end = began + strtoul(seconds, NULL, 10) * 1000000, now;
	unsigned long number = 0, hz = strtoul(rate, NULL, 10);

	while ((now = now_us(CLOCK_MONOTONIC)) < end) {
		while (number < (now - began) * hz / 1000000) {
			one(number++, folder);
			reap();
			if (now_us(CLOCK_MONOTONIC) > end)
				break;
		}
		usleep(500);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	printf("%lu\n", number);
}

static void sleepers(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		if (pid < 0)
			exit(2);
	}
	printf("asleep\n");
	fflush(stdout);
	for (;;)
		pause();
}

static void *worker(void *arg)
{
	spin(*(uint64_t *)arg);
	return NULL;
}

static void work(uint64_t us, int threads)
{
	pthread_t thread[64];

	for (int i = 0; i < threads && i < 64; i++)
		pthread_create(&thread[i], NULL, worker, &us);
	for (int i = 0; i < threads && i < 64; i++)
		pthread_join(thread[i], NULL);
}

int main(int count, char **arguments)
{
	const char *what = count > 2 ? arguments[1] : "";

	if (!strcmp(what, "fork") && count > 3)
		storm(one_fork, arguments[2], arguments[3], NULL);
	else if (!strcmp(what, "exec") && count > 4)
		read_image(), storm(one_exec, arguments[2], arguments[3], arguments[4]);
	else if (!strcmp(what, "jit") && count > 3)
		storm(one_jit, arguments[2], arguments[3], NULL);
	else if (!strcmp(what, "sleep"))
		sleepers(strtoul(arguments[2], NULL, 10));
	else if (!strcmp(what, "work") && count > 3)
		work(strtoul(arguments[2], NULL, 10) * 1000000, atoi(arguments[3]));
	else if (!strcmp(what, "spin"))
		spin(strtoul(arguments[2], NULL, 10));
	else
		return 1;
	return 0;
}

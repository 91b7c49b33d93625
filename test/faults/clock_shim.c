// SPDX-License-Identifier: Apache-2.0
/*
 * LD_PRELOAD: a time of day that somebody else sets. The file CLOCK_FILE holds how many nanoseconds it is off, as one
 * word that may change at any time; other clocks go on as they do. What sleeps until a time of day sleeps by the
 * kernel's clock, and is too early or too late for it, as with a clock that was set.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ll

static const volatile long long *off;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("CLOCK_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*off), PROT_READ, MAP_SHARED, fd, 0);

	off = at == MAP_FAILED ? NULL : at;
	if (fd >= 0)
		close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	long r = syscall(SYS_clock_gettime, clock, t);
	long long ns;

	if (r == 0 && off && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		ns = t->tv_sec * SECOND + t->tv_nsec + *off;
		t->tv_sec = ns / SECOND;
		t->tv_nsec = ns % SECOND;
	}
	return (int)r;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;
	int r = clock_gettime(CLOCK_REALTIME, &now);

	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return r;
}

time_t time(time_t *at)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (at)
		*at = now.tv_sec;
	return now.tv_sec;
}

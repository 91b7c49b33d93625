// SPDX-License-Identifier: Apache-2.0
/*
 * Makes one call of a program fail, by LD_PRELOAD: the FAIL_AT-th of those below, counted from the program's start.
 * What they fail with is what they can fail with. With FAIL_COUNT the number of calls there were is written to that
 * file at the end.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_ulong calls;
static unsigned long fail_at;
static atomic_bool counts;
static FILE *count_file;	/* open from the start: a collector may open little later on (Landlock) */

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("FAIL_AT"), *path = getenv("FAIL_COUNT");

	count_file = path ? fopen(path, "we") : NULL;
	fail_at = at ? strtoul(at, NULL, 10) : 0;
	atomic_store(&counts, true);
}

__attribute__((destructor)) static void end(void)
{
	atomic_store(&counts, false);
	if (!count_file)
		return;
	fprintf(count_file, "%lu\n", atomic_load(&calls));
	fclose(count_file);
}

static int fails(int error)
{
	if (!atomic_load(&counts) || atomic_fetch_add(&calls, 1) + 1 != fail_at)
		return 0;
	errno = error;
	return 1;
}

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *at, size_t bytes);

void *malloc(size_t bytes)
{
	return fails(ENOMEM) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return fails(ENOMEM) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *at, size_t bytes)
{
	return fails(ENOMEM) ? NULL : __libc_realloc(at, bytes);
}

/* name, type, what it fails with as a result and as errno, parameters, arguments */
#define CALLS(X)                                                                                                      \
	X(read, ssize_t, -1, EIO, (int fd, void *to, size_t bytes), (fd, to, bytes))                                  \
	X(pread64, ssize_t, -1, EIO, (int fd, void *to, size_t bytes, off64_t at), (fd, to, bytes, at))               \
	X(write, ssize_t, -1, ENOSPC, (int fd, const void *from, size_t bytes), (fd, from, bytes))                    \
	X(pwrite64, ssize_t, -1, ENOSPC, (int fd, const void *from, size_t bytes, off64_t at), (fd, from, bytes, at)) \
	X(writev, ssize_t, -1, ENOSPC, (int fd, const struct iovec *of, int count), (fd, of, count))                  \
	X(mmap64, void *, MAP_FAILED, ENOMEM, (void *at, size_t bytes, int prot, int flags, int fd, off64_t from),    \
	  (at, bytes, prot, flags, fd, from))                                                                         \
	X(mmap, void *, MAP_FAILED, ENOMEM, (void *at, size_t bytes, int prot, int flags, int fd, off_t from),        \
	  (at, bytes, prot, flags, fd, from))                                                                         \
	X(fstat, int, -1, EIO, (int fd, struct stat *to), (fd, to))                                                   \
	X(fstat64, int, -1, EIO, (int fd, struct stat64 *to), (fd, to))                                               \
	X(stat, int, -1, EACCES, (const char *path, struct stat *to), (path, to))                                     \
	X(rename, int, -1, ENOSPC, (const char *from, const char *to), (from, to))                                    \
	X(fsync, int, -1, EIO, (int fd), (fd))                                                                        \
	X(fdatasync, int, -1, EIO, (int fd), (fd))                                                                    \
	X(ftruncate64, int, -1, ENOSPC, (int fd, off64_t bytes), (fd, bytes))                                         \
	X(mkdir, int, -1, ENOSPC, (const char *path, mode_t mode), (path, mode))                                      \
	X(socket, int, -1, EMFILE, (int domain, int type, int protocol), (domain, type, protocol))                    \
	X(bind, int, -1, EADDRINUSE, (int fd, const struct sockaddr *to, socklen_t bytes), (fd, to, bytes))           \
	X(listen, int, -1, EADDRINUSE, (int fd, int count), (fd, count))                                              \
	X(accept4, int, -1, EMFILE, (int fd, struct sockaddr *from, socklen_t *bytes, int flags),                     \
	  (fd, from, bytes, flags))                                                                                   \
	X(recv, ssize_t, -1, ECONNRESET, (int fd, void *to, size_t bytes, int flags), (fd, to, bytes, flags))         \
	X(send, ssize_t, -1, ECONNRESET, (int fd, const void *at, size_t bytes, int flags), (fd, at, bytes, flags)) \
	X(recvmsg, ssize_t, -1, ECONNRESET, (int fd, struct msghdr *to, int flags), (fd, to, flags))                  \
	X(sendmsg, ssize_t, -1, ECONNRESET, (int fd, const struct msghdr *from, int flags), (fd, from, flags))        \
	X(epoll_create1, int, -1, EMFILE, (int flags), (flags))                                                       \
	X(epoll_ctl, int, -1, ENOSPC, (int fd, int what, int of, struct epoll_event *event), (fd, what, of, event))   \
	X(eventfd, int, -1, EMFILE, (unsigned int first, int flags), (first, flags))                                  \
	X(socketpair, int, -1, EMFILE, (int domain, int type, int protocol, int to[2]), (domain, type, protocol, to)) \
	X(memfd_create, int, -1, EMFILE, (const char *name, unsigned int flags), (name, flags))                       \
	X(fork, pid_t, -1, EAGAIN, (void), ())

#define X(name, type, result, error, parameters, arguments)                                                           \
	type name parameters                                                                                          \
	{                                                                                                             \
		static type(*real) parameters;                                                                        \
                                                                                                                      \
		if (!real)                                                                                            \
			real = (type(*) parameters)dlsym(RTLD_NEXT, #name);                                           \
		return fails(error) ? result : real arguments;                                                        \
	}
CALLS(X)
#undef X

int pthread_create(pthread_t *to, const pthread_attr_t *attributes, void *(*run)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (!real)
		real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT,
												      "pthread_create");
	return fails(EAGAIN) ? EAGAIN : real(to, attributes, run, arg);
}

/* The mode is there only with these flags. */
#define OPEN(name, parameters, before)                                                                                \
	int name parameters                                                                                           \
	{                                                                                                             \
		static int (*real) parameters;                                                                        \
		mode_t mode = 0;                                                                                      \
		va_list more;                                                                                         \
                                                                                                                      \
		if (flags & (O_CREAT | O_TMPFILE)) {                                                                  \
			va_start(more, flags);                                                                        \
			mode = va_arg(more, mode_t);                                                                  \
			va_end(more);                                                                                 \
		}                                                                                                     \
		if (!real)                                                                                            \
			real = (int (*) parameters)dlsym(RTLD_NEXT, #name);                                           \
		return fails(EMFILE) ? -1 : real before;                                                              \
	}
OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
OPEN(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))

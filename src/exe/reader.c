// SPDX-License-Identifier: Apache-2.0
#include "exe/reader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/lock.h"
#include "exe/lang_file.h"
#include "exe/probe_points.h"
#include "exe/reader_protocol.h"
#include "exe/reader_rest.h"
#include "exe/rows.h"
#include "exe/rows_part.h"
#include "exe/source_map.h"

/* Readers that were killed but sleep in the kernel (a file on a dead network mount) are waited for later. */
#define UNREAPED_MAX 8
#define AWAIT_MS 200			/* how long a reader rests may have changed since */
#define REAP_TRIES 20
#define REAP_NS 1000000

struct reader {
	pthread_mutex_t lock;
	_Atomic pid_t pid;	/* 0 if none runs; changed under the lock */
	int socket_fd;
	_Atomic bool greeted;	/* it said hello */
	_Atomic unsigned rest_times;
	pthread_mutex_t pid_lock;	/* a process that is told something is not reaped meanwhile */
	unsigned timeout_ms;
	u64 resting_max_ns;	/* CPU time of a request while it rests; 0: any */
	int nice;		/* how the process is to run */
	int cancel_fd;		/* readable once nobody wants answers any more */
	pid_t unreaped[UNREAPED_MAX];
	struct reader_stats stats;
	pthread_mutex_t shown_lock;
	struct reader_stats shown;	/* as of the last call: who wants to know does not wait for the one under way */
};

static bool may_be_unfiltered;

void reader_allow_unfiltered(void)
{
	may_be_unfiltered = true;
}

static int offer_fd = -1;
static char offer_before[16];

void reader_keep_offer(void)
{
	ssize_t len;

	offer_fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	len = offer_fd < 0 ? -1 : pread(offer_fd, offer_before, sizeof(offer_before) - 1, 0);
	offer_before[len > 0 ? len : 0] = '\0';
}

/* A child begins with what its parent has: so much of a moment ours is another. */
static void offer(const char *score)
{
	if (offer_fd >= 0 && *offer_before)
		(void)!pwrite(offer_fd, score, strlen(score), 0);
}

/* Between fork and exec, in a copy of a program with threads: system calls only. */
static _Noreturn void become_reader(int socket_fd)
{
	char *argv[] = { READER_ARGV0, NULL }, *envp[] = { NULL };
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	/* A root may have no devices: then what is written fails. */
	if (null_fd < 0)
		null_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* File capabilities of the program are not for the reader. */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (dup2(socket_fd, READER_SOCKET_FD) >= 0 && dup2(null_fd, 1) >= 0 && dup2(null_fd, 2) >= 0 &&
	    close_range(3, ~0u, 0) == 0)
		execve("/proc/self/exe", argv, envp);
	_exit(127);
}

/* Starts the process; it greets when it is ready, which nobody waits for until the first request. */
static int reader_spawn(struct reader *reader)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	offer(READER_OFFER);
	pid = fork();
	if (pid == 0)
		become_reader(pair[1]);
	offer(offer_before);
	close(pair[1]);
	if (pid < 0) {
		int r = -errno;

		close(pair[0]);
		return r;
	}
	/* Without the privilege all run alike. */
	if (reader->nice)
		(void)setpriority(PRIO_PROCESS, (id_t)pid, reader->nice);
	reader->pid = pid;
	reader->socket_fd = pair[0];
	reader->greeted = false;
	return 0;
}

/* True once that process is gone; waits a moment for it. */
static bool reap(pid_t pid, int tries)
{
	struct timespec moment = { .tv_nsec = REAP_NS };

	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (--tries <= 0)
			return false;
		nanosleep(&moment, NULL);
	}
	return true;
}

static void reap_killed(struct reader *reader)
{
	for (int i = 0; i < UNREAPED_MAX; i++)
		if (reader->unreaped[i] && reap(reader->unreaped[i], 1))
			reader->unreaped[i] = 0;
}

static bool add_unreaped(struct reader *reader, pid_t pid)
{
	for (int i = 0; i < UNREAPED_MAX; i++)
		if (!reader->unreaped[i]) {
			reader->unreaped[i] = pid;
			return true;
		}
	return false;
}

/* Ends the process, if one runs. */
static void reader_kill(struct reader *reader)
{
	pid_t pid = reader->pid;

	if (!pid)
		return;
	pthread_mutex_lock(&reader->pid_lock);
	reader->pid = 0;
	reader->greeted = false;
	pthread_mutex_unlock(&reader->pid_lock);
	close(reader->socket_fd);
	reader->socket_fd = -1;
	kill(pid, SIGKILL);
	/* Without a free place it is left for whoever reaps our children when we exit. */
	if (!reap(pid, REAP_TRIES))
		(void)add_unreaped(reader, pid);
	reader->stats.restarts++;
}

int reader_start(int nice, struct reader **ret_reader)
{
	_cleanup_(reader_freep) struct reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return -ENOMEM;
	reader->socket_fd = -1;
	reader->nice = nice;
	reader->cancel_fd = eventfd(0, EFD_CLOEXEC);
	if (reader->cancel_fd < 0)
		return -errno;
	reader->timeout_ms = READER_SECONDS * 1000;
	pthread_mutex_init(&reader->lock, NULL);
	pthread_mutex_init(&reader->shown_lock, NULL);
	pthread_mutex_init(&reader->pid_lock, NULL);
	r = reader_spawn(reader);
	if (r < 0)
		return r;
	*ret_reader = TAKE(reader);
	return 0;
}

void reader_free(struct reader *reader)
{
	if (!reader)
		return;
	reader_kill(reader);
	closep(&reader->cancel_fd);
	pthread_mutex_destroy(&reader->lock);
	pthread_mutex_destroy(&reader->shown_lock);
	pthread_mutex_destroy(&reader->pid_lock);
	free(reader);
}

void reader_set_timeout(struct reader *reader, unsigned ms)
{
	LOCKED(&reader->lock);
	reader->timeout_ms = ms;
}

/* Before it has said hello it cannot hear it. */
static void reader_tell_rest(struct reader *reader)
{
	LOCKED(&reader->pid_lock);
	if (reader->pid && reader->greeted)
		(void)sigqueue(reader->pid, READER_REST_SIGNAL, (union sigval){ (int)reader->rest_times });
}

void reader_set_rest(struct reader *reader, unsigned times)
{
	times = times < READER_REST_MAX ? times : READER_REST_MAX;
	if (atomic_exchange(&reader->rest_times, times) != times)
		reader_tell_rest(reader);
}

void reader_set_resting_max(struct reader *reader, u64 cpu_ns)
{
	reader->resting_max_ns = cpu_ns;
}

void reader_cancel(struct reader *reader)
{
	u64 one = 1;

	(void)!write(reader->cancel_fd, &one, sizeof(one));
}

int reader_pid(struct reader *reader)
{
	return reader->pid;
}

struct reader_stats reader_stats(struct reader *reader)
{
	LOCKED(&reader->shown_lock);
	return reader->shown;
}

static void reader_show_stats(struct reader *reader)
{
	LOCKED(&reader->shown_lock);
	reader->shown = reader->stats;
}

static u64 reader_cpu_ns(const struct reader *reader)
{
	struct timespec spent;
	clockid_t clock;

	if (clock_getcpuclockid(reader->pid, &clock) != 0 || clock_gettime(clock, &spent) < 0)
		return 0;
	return (u64)spent.tv_sec * SECOND_NS + (u64)spent.tv_nsec;
}

/* A file that costs more than there is to spend: the longer it is read, the longer others wait. */
static bool costs_too_much(const struct reader *reader, u64 since_cpu_ns)
{
	return reader->resting_max_ns && reader->rest_times &&
	       reader_cpu_ns(reader) > since_cpu_ns + reader->resting_max_ns;
}

/* Waits for the reader's next message. Its length, 0 if the reader died, -ETIMEDOUT, -ECANCELED, or -errno. */
static ssize_t await(struct reader *reader, void *at, size_t bytes, int fds[READER_FILES], u32 *ret_fd_count)
{
	u64 left_ns = reader->timeout_ms * 1000000ull, at_ns = monotonic_ns(), cpu_ns = reader_cpu_ns(reader);
	struct pollfd wait[2] = { { .fd = reader->socket_fd, .events = POLLIN },
				  { .fd = reader->cancel_fd, .events = POLLIN } };

	for (;;) {
		int left_ms = (int)(left_ns / 1000000), r = poll(wait, 2, left_ms < AWAIT_MS ? left_ms : AWAIT_MS);
		u64 now_ns = monotonic_ns(), took_ns = (now_ns - at_ns) / (1 + reader->rest_times);

		at_ns = now_ns;
		left_ns -= took_ns < left_ns ? took_ns : left_ns;
		if (r > 0 && wait[1].revents)
			return -ECANCELED;
		if (r > 0)
			return reader_receive(reader->socket_fd, at, bytes, fds, ret_fd_count);
		if (r == 0 && (left_ns < 1000000 || costs_too_much(reader, cpu_ns)))
			return -ETIMEDOUT;
		if (r < 0 && errno != EINTR)
			return -errno;
	}
}

static void close_all(const int *fds, u32 count)
{
	for (u32 i = 0; i < count; i++)
		close(fds[i]);
}

/* A reader that has said hello: starts one if none runs. */
static int reader_ready(struct reader *reader)
{
	struct reader_hello hello;
	int fds[READER_FILES], r = 0;
	u32 fd_count = 0;
	ssize_t got;

	reap_killed(reader);
	if (!reader->pid)
		r = reader_spawn(reader);
	if (r < 0 || reader->greeted)
		return r;
	got = await(reader, &hello, sizeof(hello), fds, &fd_count);
	close_all(fds, fd_count);
	if (got != sizeof(hello) || hello.magic != READER_HELLO_MAGIC) {
		reader_kill(reader);
		return got == -ETIMEDOUT ? -ETIMEDOUT : -ENOEXEC;
	}
	if (!hello.seccomp && !may_be_unfiltered) {
		reader_kill(reader);
		return -ENOSYS;
	}
	reader->greeted = true;
	if (reader->rest_times)
		reader_tell_rest(reader);
	reader->stats.unfiltered += !hello.seccomp;
	return 0;
}

int reader_check(struct reader *reader)
{
	LOCKED(&reader->lock);
	return reader_ready(reader);
}

/* Sends a request to a reader that can take it. One that died idle is no fault of the file: it is replaced. */
static int reader_ask(struct reader *reader, const struct reader_request *request, const int *fds)
{
	int r = 0;

	for (int tries = 0; tries < 2; tries++) {
		r = reader_ready(reader);
		if (r < 0)
			return r;
		r = reader_send(reader->socket_fd, request, reader_request_bytes(request->count), fds,
				__builtin_popcount(request->files));
		if (r == 0)
			return 0;
		reader_kill(reader);
	}
	return r;
}

/* The answer to the request that was sent. */
static int reader_hear(struct reader *reader, void **ret_at, size_t *ret_bytes)
{
	struct reader_reply reply;
	int fds[READER_FILES], r;
	u32 fd_count = 0;
	ssize_t got = await(reader, &reply, sizeof(reply), fds, &fd_count);

	r = got > 0 ? reader_reply_check(&reply, got, fd_count) : -EBADMSG;
	if (r == 0 && reply.error == 0)
		r = reader_unpack(fds[0], reply.bytes, ret_at);
	close_all(fds, fd_count);
	if (r == -EBADMSG) {
		reader->stats.timeouts += got == -ETIMEDOUT;
		reader_kill(reader);
	}
	if (r == 0 && reply.error == 0)
		*ret_bytes = reply.bytes;
	return r == 0 ? reply.error : r;
}

/* Only regular files can neither block nor act on being read. Who serves a file is not asked: it might not answer. */
static int check_file(int fd)
{
	struct statx stat;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.stx_mode))
		return -ENOEXEC;
	return stat.stx_size > READER_FILE_MAX ? -EFBIG : 0;
}

/* Fills in which files come along; fds gets them without gaps. */
static int add_files(struct reader_request *request, const int files[READER_FILES], int fds[READER_FILES])
{
	u32 count = 0;

	for (int place = 0; place < READER_FILES; place++) {
		int r;

		if (place != READER_EXE && files[place] < 0)
			continue;
		r = check_file(files[place]);
		if (r < 0)
			return r;
		request->files |= 1u << place;
		fds[count++] = files[place];
	}
	return 0;
}

static int reader_call(struct reader *reader, struct reader_request *request, const int files[READER_FILES],
		       void **ret_at, size_t *ret_bytes)
{
	int fds[READER_FILES], r;

	pthread_mutex_lock(&reader->lock);
	reader->stats.requests++;
	r = add_files(request, files, fds);
	if (r < 0)
		reader->stats.refused++;
	if (r == 0)
		r = reader_ask(reader, request, fds);
	if (r == 0)
		r = reader_hear(reader, ret_at, ret_bytes);
	reader->stats.too_large += r == -E2BIG;
	reader_show_stats(reader);
	pthread_mutex_unlock(&reader->lock);
	return r;
}

int reader_identify(struct reader *reader, int fd, struct exe_info *ret_info)
{
	struct reader_request request = { .op = READER_IDENTIFY };
	_cleanup_(freep) void *at = NULL;
	size_t bytes = 0;
	int r = reader_call(reader, &request, (int[]){ fd, -1, -1 }, &at, &bytes);

	if (r == 0)
		r = exe_info_check(at, bytes);
	if (r == 0)
		memcpy(ret_info, at, sizeof(*ret_info));
	return r;
}

/* Calls with addresses and takes the answer if it is what it should be. */
static int call_with_addresses(struct reader *reader, u32 op, const int files[READER_FILES], const u64 *ea, u32 count,
			       int (*check)(const void *at, size_t bytes), void **ret_at)
{
	_cleanup_(freep) struct reader_request *request = calloc(1, reader_request_bytes(count));
	_cleanup_(freep) void *at = NULL;
	size_t bytes = 0;
	int r;

	if (!request)
		return -ENOMEM;
	request->op = op;
	request->count = count;
	if (count)
		memcpy(request->ea, ea, count * sizeof(*ea));
	r = reader_call(reader, request, files, &at, &bytes);
	if (r == 0)
		r = check(at, bytes);
	if (r == 0)
		*ret_at = TAKE(at);
	return r;
}

static int check_lang(const void *at, size_t bytes)
{
	return lang_file_check(at, bytes);
}

static int check_rows(const void *at, size_t bytes)
{
	return rows_check(at, bytes);
}

static int check_source_map(const void *at, size_t bytes)
{
	return source_map_check(at, bytes);
}

static int check_symbols(const void *at, size_t bytes)
{
	return symbols_check(at, bytes);
}

static int check_lines(const void *at, size_t bytes)
{
	return exe_lines_check(at, bytes);
}

int reader_rows(struct reader *reader, int fd, int debug_fd, struct rows **ret_rows)
{
	return call_with_addresses(reader, READER_ROWS, (int[]){ fd, debug_fd, -1 }, NULL, 0, check_rows,
				   (void **)ret_rows);
}

int reader_rows_part(struct reader *reader, int fd, const struct rows_part *part, struct rows **ret_rows)
{
	return call_with_addresses(reader, part->is_unread ? READER_ROWS_PAGE : READER_SWEEP, (int[]){ fd, -1, -1 },
				   part->ea, part->count, check_rows, (void **)ret_rows);
}

int reader_probe_points(struct reader *reader, int fd, const struct probe_wanted *wanted,
			struct probe_points **ret_points)
{
	return call_with_addresses(reader, READER_PROBE_POINTS, (int[]){ fd, -1, -1 }, (const u64 *)wanted,
				   sizeof(*wanted) / sizeof(u64), probe_points_check, (void **)ret_points);
}

int reader_lang(struct reader *reader, int fd, const struct tls_wanted *wanted, struct lang_file **ret_file)
{
	return call_with_addresses(reader, READER_LANG, (int[]){ fd, -1, -1 }, (const u64 *)wanted,
				   sizeof(*wanted) / sizeof(u64), check_lang, (void **)ret_file);
}

int reader_source_map(struct reader *reader, int fd, struct source_map **ret_map)
{
	return call_with_addresses(reader, READER_SOURCE_MAP, (int[]){ fd, -1, -1 }, NULL, 0, check_source_map,
				   (void **)ret_map);
}

int reader_symbols(struct reader *reader, int fd, int debug_fd, const u64 *ea, u32 count,
		   struct symbols **ret_symbols)
{
	assert(count <= SYMBOLS_MAX);
	return call_with_addresses(reader, READER_SYMBOLS, (int[]){ fd, debug_fd, -1 }, ea, count, check_symbols,
				   (void **)ret_symbols);
}

int reader_lines(struct reader *reader, int fd, int debug_fd, int alt_fd, const u64 *ea, u32 count,
		 struct exe_lines **ret_lines)
{
	int r;

	assert(count <= LINES_MAX);
	r = call_with_addresses(reader, READER_LINES, (int[]){ fd, debug_fd, alt_fd }, ea, count, check_lines,
				(void **)ret_lines);
	/* One chain for each address: the block itself does not say how many were asked for. */
	if (r == 0 && (*ret_lines)->address_count != count) {
		free(TAKE(*ret_lines));
		r = -EBADMSG;
	}
	return r;
}

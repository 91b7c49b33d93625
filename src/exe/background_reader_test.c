// SPDX-License-Identifier: Apache-2.0
#include "exe/background_reader.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "test.h"

#define SOON_NS 1000000000ull

/* A job that runs until it is let go, or asks a reader for a file. */
struct test_job {
	struct read_job job;
	sem_t *begun, *go_on;	/* NULL: it does not wait */
	int fd;
	int *ret_result;
};

static int test_run(struct read_job *job, struct reader *reader)
{
	struct test_job *t = (struct test_job *)job;
	struct exe_info info;

	if (t->begun)
		sem_post(t->begun);
	if (t->go_on)
		sem_wait(t->go_on);
	return t->fd < 0 ? 7 : reader_identify(reader, t->fd, &info);
}

static u32 done_owners[16], done_total;

static void test_done(struct read_job *job, int result)
{
	struct test_job *t = (struct test_job *)job;

	if (t->ret_result)
		*t->ret_result = result;
	done_owners[done_total++ % 16] = (u32)job->owner;
	free(job);
}

static struct test_job *test_job(u64 owner, int *ret_result)
{
	struct test_job *t = calloc(1, sizeof(*t));

	*t = (struct test_job){ .job = { .run = test_run, .done = test_done, .owner = owner }, .fd = -1,
				.ret_result = ret_result };
	return t;
}

/* Until so many jobs are done. */
static void settle(struct background_reader *b, u32 total)
{
	struct pollfd done = { .fd = background_reader_fd(b), .events = POLLIN };

	while (done_total < total) {
		OK(poll(&done, 1, 10000) >= 0);
		background_reader_poll(b, monotonic_ns());
	}
}

static struct background_reader *start(void)
{
	struct background_reader *b = NULL;

	done_total = 0;
	EQ(background_reader_new(&b), 0);
	return b;
}

TEST(background_reader_hands_jobs_back_in_its_owners_turn)
{
	_cleanup_(background_reader_freep) struct background_reader *b = start();
	int result = 0;

	OK(background_reader_post(b, &test_job(1, &result)->job));
	EQ(result, 0);
	settle(b, 1);
	EQ(result, 7);
	EQ(background_reader_done_count(b), 1);
}

TEST(background_reader_goes_on_beside_a_job_that_is_slow)
{
	_cleanup_(background_reader_freep) struct background_reader *b = start();
	struct test_job *slow = test_job(1, NULL);
	sem_t begun, go_on;
	int quick = 0;

	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	slow->begun = &begun;
	slow->go_on = &go_on;
	OK(background_reader_post(b, &slow->job));
	sem_wait(&begun);
	OK(background_reader_post(b, &test_job(1, &quick)->job));
	background_reader_poll(b, monotonic_ns());
	EQ(quick, 0);
	/* It has waited: another thread does it. */
	background_reader_poll(b, monotonic_ns() + SOON_NS);
	settle(b, 1);
	EQ(quick, 7);
	sem_post(&go_on);
	settle(b, 2);
}

TEST(background_reader_lets_owners_of_files_take_turns)
{
	_cleanup_(background_reader_freep) struct background_reader *b = start();
	struct test_job *first = test_job(1, NULL);
	sem_t begun, go_on;

	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	first->begun = &begun;
	first->go_on = &go_on;
	OK(background_reader_post(b, &first->job));
	sem_wait(&begun);
	for (u32 i = 0; i < 4; i++)
		OK(background_reader_post(b, &test_job(1, NULL)->job));
	OK(background_reader_post(b, &test_job(2, NULL)->job));
	sem_post(&go_on);
	settle(b, 6);
	EQ(done_owners[0], 1);
	EQ(done_owners[1], 2);
	EQ(done_owners[2], 1);
}

/* All threads but the last have jobs that do not end; one that is slow on the last is ended, and begun again. */
TEST(background_reader_ends_what_is_slow_on_its_last_process)
{
	_cleanup_(background_reader_freep) struct background_reader *b = start();
	_cleanup_(closep) int fd = memfd_create("text", MFD_CLOEXEC);
	int pids[BACKGROUND_READERS_MAX], stopped = 0, quick = 0;
	sem_t begun, go_on, last_begun, last_go_on;
	struct test_job *last;

	EQ(write(fd, "text", 4), 4);
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	sem_init(&last_begun, 0, 0);
	sem_init(&last_go_on, 0, 0);
	for (u32 i = 0; i < BACKGROUND_READERS_MAX - 1; i++) {
		struct test_job *slow = test_job(1, NULL);

		slow->begun = &begun;
		slow->go_on = &go_on;
		OK(background_reader_post(b, &slow->job));
		background_reader_poll(b, monotonic_ns() + SOON_NS);
		sem_wait(&begun);
	}
	last = test_job(2, &stopped);
	last->begun = &last_begun;
	last->go_on = &last_go_on;
	last->fd = fd;
	OK(background_reader_post(b, &last->job));
	background_reader_poll(b, monotonic_ns() + SOON_NS);
	sem_wait(&last_begun);
	background_reader_pids(b, pids);
	for (u32 i = 0; i < BACKGROUND_READERS_MAX; i++)
		OK(pids[i] > 0);
	/* The thread that runs it was started last, at one of the places behind the first. */
	for (u32 i = 1; i < BACKGROUND_READERS_MAX; i++)
		EQ(kill(pids[i], SIGSTOP), 0);
	sem_post(&last_go_on);
	OK(background_reader_post(b, &test_job(3, &quick)->job));
	settle(b, 1);
	EQ(quick, 7);
	EQ(stopped, 0);
	EQ(background_reader_stats(b).timeouts, 0);
	EQ(background_reader_stats(b).restarts, 0);
	for (u32 i = 1; i < BACKGROUND_READERS_MAX; i++)
		(void)kill(pids[i], SIGCONT);	/* the one of the two that was not killed */
	for (u32 i = 0; i < BACKGROUND_READERS_MAX - 1; i++)
		sem_post(&go_on);
	/* Now there is a place for it. */
	sem_post(&last_go_on);
	settle(b, 4);
	EQ(stopped, -ENOEXEC);
}

TEST(background_reader_ends_what_is_under_way_with_itself)
{
	struct background_reader *b = start();
	_cleanup_(closep) int fd = memfd_create("text", MFD_CLOEXEC);
	int pids[BACKGROUND_READERS_MAX], under_way = 0, waiting = 0;
	struct test_job *job = test_job(1, &under_way);
	sem_t begun;

	sem_init(&begun, 0, 0);
	background_reader_pids(b, pids);
	EQ(kill(pids[0], SIGSTOP), 0);
	job->begun = &begun;
	job->fd = fd;
	OK(background_reader_post(b, &job->job));
	sem_wait(&begun);
	OK(background_reader_post(b, &test_job(1, &waiting)->job));
	background_reader_free(b);
	OK(under_way < 0);
	EQ(waiting, -ECANCELED);
}

TEST(background_reader_waits_for_one_job_and_not_for_long)
{
	_cleanup_(background_reader_freep) struct background_reader *b = start();
	struct test_job *quick = test_job(1, NULL), *slow = test_job(1, NULL);
	sem_t go_on;

	sem_init(&go_on, 0, 0);
	slow->go_on = &go_on;
	OK(background_reader_post(b, &quick->job));
	OK(background_reader_wait(b, &quick->job, 10 * SOON_NS));
	EQ(done_total, 1);
	OK(background_reader_post(b, &slow->job));
	OK(!background_reader_wait(b, &slow->job, 0));
	sem_post(&go_on);
	OK(background_reader_wait(b, &slow->job, 10 * SOON_NS));
	EQ(done_total, 2);
	/* Nothing is left to be told of. */
	EQ(poll(&(struct pollfd){ .fd = background_reader_fd(b), .events = POLLIN }, 1, 0), 0);
}

TEST(background_reader_takes_only_so_many_jobs)
{
	_cleanup_(background_reader_freep) struct background_reader *b = start();
	struct test_job *first = test_job(1, NULL);
	int refused = 0;
	sem_t go_on;

	sem_init(&go_on, 0, 0);
	first->go_on = &go_on;
	OK(background_reader_post(b, &first->job));
	for (u32 i = 1; i < BACKGROUND_JOBS_MAX; i++)
		OK(background_reader_post(b, &test_job(1, NULL)->job));
	OK(!background_reader_post(b, &test_job(1, &refused)->job));
	EQ(refused, -ECANCELED);
	sem_post(&go_on);
	settle(b, BACKGROUND_JOBS_MAX + 1);
}

// SPDX-License-Identifier: Apache-2.0
#include "base/errands.h"

#include <errno.h>
#include <stdatomic.h>

#include "test.h"

#define SHORT_NS 4000000ull
#define LONG_NS 600000000000ull

/* Comes back when something is written to the pipe it waits at. */
struct visit {
	struct errand errand;
	int pipe_fd;		/* -1: at once */
	int told_fd;
	int answer;
};

static int run(struct errand *errand)
{
	struct visit *visit = (struct visit *)errand;
	char c;

	if (visit->pipe_fd >= 0)
		EQ(read(visit->pipe_fd, &c, 1), 1);
	return visit->answer;
}

static void drop(struct errand *errand)
{
	EQ(write(((struct visit *)errand)->told_fd, "d", 1), 1);
}

static struct visit *visit_new(uint64_t place, int pipe_fd, int told_fd, int answer)
{
	struct visit *visit = malloc(sizeof(*visit));

	OK(visit);
	*visit = (struct visit){ { place, run, told_fd < 0 ? NULL : drop, 0 }, pipe_fd, told_fd, answer };
	return visit;
}

static int go(struct errands *errands, uint64_t place, int answer)
{
	_cleanup_(freep) struct visit *visit = visit_new(place, -1, -1, answer);

	return errands_run(errands, &visit->errand);
}

TEST(errands_bring_what_they_were_sent_for)
{
	_cleanup_(errands_freep) struct errands *errands = NULL;

	EQ(go(NULL, 1, 5), 5);
	EQ(errands_new(LONG_NS, NULL, &errands), 0);
	for (int i = 0; i < 1000; i++)
		EQ(go(errands, 1, i), i);
	EQ(go(errands, 1, -EFAULT), -EFAULT);
	/* Only one that is late belongs to nobody. */
	EQ(go(errands, 1, -ETIMEDOUT), -EIO);
	EQ(go(NULL, 1, -ETIMEDOUT), -EIO);
	EQ(errands_stats(errands).begun, 1002);
	EQ(errands_stats(errands).late, 0);
	EQ(errands_stats(errands).refused, 0);
}

TEST(errands_that_are_late_are_left_behind_and_tidy_up)
{
	_cleanup_(errands_freep) struct errands *errands = NULL;
	int hold[2], told[2];
	struct visit *visit;
	char c;

	EQ(pipe(hold), 0);
	EQ(pipe(told), 0);
	EQ(errands_new(SHORT_NS, NULL, &errands), 0);
	visit = visit_new(7, hold[0], told[1], 0);
	EQ(errands_run(errands, &visit->errand), -ETIMEDOUT);
	EQ(errands_stats(errands).late, 1);
	/* Nobody goes there soon, not even when it has come back. */
	EQ(go(errands, 7, 3), -EBUSY);
	EQ(errands_stats(errands).refused, 1);
	EQ(write(hold[1], "h", 1), 1);
	EQ(read(told[0], &c, 1), 1);
	EQ(go(errands, 7, 3), -EBUSY);
}

static uint64_t owner(uint32_t pid)
{
	return pid / 100;
}

static int go_by(struct errands *errands, uint64_t place, uint32_t pid)
{
	_cleanup_(freep) struct visit *visit = visit_new(place, -1, -1, 0);

	visit->errand.pid = pid;
	return errands_run(errands, &visit->errand);
}

/* One that is late, at a place of its own. */
static void lose(struct errands *errands, uint32_t pid, int hold_fd, int told_fd)
{
	struct visit *visit = visit_new(pid, hold_fd, told_fd, 0);

	visit->errand.pid = pid;
	EQ(errands_run(errands, &visit->errand), -ETIMEDOUT);
}

TEST(errands_refuse_an_owner_then_all_while_too_many_are_out)
{
	struct errands *errands = NULL;
	int hold[2], told[2];
	uint32_t out = 0;
	char c;

	EQ(pipe(hold), 0);
	EQ(pipe(told), 0);
	EQ(errands_new(SHORT_NS, owner, &errands), 0);
	for (; out < ERRANDS_OF_OWNER_MAX; out++)
		lose(errands, 100 + out, hold[0], told[1]);
	EQ(go_by(errands, 1000, 199), -EBUSY);
	EQ(go_by(errands, 1000, 200), 0);
	for (; out < ERRANDS_OUT_MAX; out++)
		lose(errands, 1000 + 100 * out, hold[0], told[1]);
	EQ(go_by(errands, 1000, 200), -EBUSY);
	EQ(errands_stats(errands).late, ERRANDS_OUT_MAX);
	EQ(errands_stats(errands).refused, 2);
	/* They come back to nobody. */
	errands_free(errands);
	for (uint32_t i = 0; i < ERRANDS_OUT_MAX; i++) {
		EQ(write(hold[1], "h", 1), 1);
		EQ(read(told[0], &c, 1), 1);
	}
}

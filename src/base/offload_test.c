// SPDX-License-Identifier: Apache-2.0
#include "base/offload.h"

#include <errno.h>
#include <stdatomic.h>

#include "test.h"

#define SHORT_NS 4000000ull
#define LONG_NS 600000000000ull

/* Comes back when something is written to the pipe it waits at. */
struct visit {
	struct offload_call call;
	int pipe_fd;		/* -1: at once */
	int told_fd;
	int answer;
};

static int run(struct offload_call *call)
{
	struct visit *visit = (struct visit *)call;
	char c;

	if (visit->pipe_fd >= 0)
		EQ(read(visit->pipe_fd, &c, 1), 1);
	return visit->answer;
}

static void drop(struct offload_call *call)
{
	EQ(write(((struct visit *)call)->told_fd, "d", 1), 1);
}

static struct visit *visit_new(uint64_t place, int pipe_fd, int told_fd, int answer)
{
	struct visit *visit = malloc(sizeof(*visit));

	OK(visit);
	*visit = (struct visit){ { place, run, told_fd < 0 ? NULL : drop, 0 }, pipe_fd, told_fd, answer };
	return visit;
}

static int go(struct offload *offload, uint64_t place, int answer)
{
	_cleanup_(freep) struct visit *visit = visit_new(place, -1, -1, answer);

	return offload_run(offload, &visit->call);
}

TEST(offload_returns_what_a_call_returned)
{
	_cleanup_(offload_freep) struct offload *offload = NULL;

	EQ(go(NULL, 1, 5), 5);
	EQ(offload_new(LONG_NS, NULL, &offload), 0);
	for (int i = 0; i < 1000; i++)
		EQ(go(offload, 1, i), i);
	EQ(go(offload, 1, -EFAULT), -EFAULT);
	/* Only one that is late belongs to nobody. */
	EQ(go(offload, 1, -ETIMEDOUT), -EIO);
	EQ(go(NULL, 1, -ETIMEDOUT), -EIO);
	EQ(offload_stats(offload).begun, 1002);
	EQ(offload_stats(offload).late, 0);
	EQ(offload_stats(offload).refused, 0);
}

TEST(offload_abandons_late_calls_which_tidy_up)
{
	_cleanup_(offload_freep) struct offload *offload = NULL;
	int hold[2], told[2];
	struct visit *visit;
	char c;

	EQ(pipe(hold), 0);
	EQ(pipe(told), 0);
	EQ(offload_new(SHORT_NS, NULL, &offload), 0);
	visit = visit_new(7, hold[0], told[1], 0);
	EQ(offload_run(offload, &visit->call), -ETIMEDOUT);
	EQ(offload_stats(offload).late, 1);
	/* Nobody goes there soon, not even when it has come back. */
	EQ(go(offload, 7, 3), -EBUSY);
	EQ(offload_stats(offload).refused, 1);
	EQ(write(hold[1], "h", 1), 1);
	EQ(read(told[0], &c, 1), 1);
	EQ(go(offload, 7, 3), -EBUSY);
}

static uint64_t owner(uint32_t pid)
{
	return pid / 100;
}

/* On a busy machine a call that holds nothing up may be late all the same: then another is made, elsewhere. */
static int go_by(struct offload *offload, uint64_t *target, uint32_t pid)
{
	for (;;) {
		_cleanup_(freep) struct visit *visit = visit_new((*target)++, -1, -1, 0);
		int r;

		visit->call.pid = pid;
		r = offload_run(offload, &visit->call);
		if (r != -ETIMEDOUT)
			return r;
		TAKE(visit);
	}
}

/* One that is late, at a place of its own. */
static void lose(struct offload *offload, uint32_t pid, int hold_fd, int told_fd)
{
	struct visit *visit = visit_new(pid, hold_fd, told_fd, 0);

	visit->call.pid = pid;
	EQ(offload_run(offload, &visit->call), -ETIMEDOUT);
}

TEST(offload_refuses_an_owner_then_all_while_too_many_are_stuck)
{
	struct offload *offload = NULL;
	int hold[2], told[2];
	uint64_t target = 1u << 20, busy;
	uint32_t out = 0;
	char c;

	EQ(pipe(hold), 0);
	EQ(pipe(told), 0);
	EQ(offload_new(SHORT_NS, owner, &offload), 0);
	for (; out < OFFLOAD_STUCK_PER_OWNER_MAX; out++)
		lose(offload, 100 + out, hold[0], told[1]);
	EQ(go_by(offload, &target, 199), -EBUSY);
	busy = target;
	EQ(go_by(offload, &target, 200), 0);
	busy = target - busy - 1;
	for (; out < OFFLOAD_STUCK_MAX; out++)
		lose(offload, 1000 + 100 * out, hold[0], told[1]);
	EQ(go_by(offload, &target, 200), -EBUSY);
	EQ(offload_stats(offload).late, OFFLOAD_STUCK_MAX + busy);
	EQ(offload_stats(offload).refused, 2);
	/* They come back to nobody. */
	offload_free(offload);
	for (uint32_t i = 0; i < OFFLOAD_STUCK_MAX; i++) {
		EQ(write(hold[1], "h", 1), 1);
		EQ(read(told[0], &c, 1), 1);
	}
}

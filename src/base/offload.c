// SPDX-License-Identifier: Apache-2.0
#include "base/offload.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include "base/clock.h"
#include "base/deadline.h"
#include "base/thread.h"

#define TARGETS_MAX 64		/* that are remembered for having been late */
#define QUARANTINE_NS (60 * SECOND_NS)
#define PAUSES 4		/* the wait is cut in so many: a pause of our own (a quota) is but one of them */
#define ATTACK_LIMIT_DIVISOR 16
#define ATTACK_LASTS_LIMITS 10		/* ... for so many times the limit */
#define STACK_BYTES (256u << 10)

/* Shared by the owner and by threads that were left behind; the last one frees it. */
struct stuck_calls {
	atomic_uint refs;
	_Atomic uint64_t targets[OFFLOAD_STUCK_MAX];	/* where those are that were left behind; 0: none */
	uint64_t owners[OFFLOAD_STUCK_MAX];		/* of these targets; read by the pool's owner only */
};

enum worker_state { WORKER_BUSY, WORKER_DONE, WORKER_ABANDONED };

struct worker {
	struct stuck_calls *stuck;
	_Atomic uint64_t *target;	/* where it is noted that it was left behind */
	sem_t asked, back;
	struct offload_call *call;	/* NULL: end */
	int result;
	_Atomic enum worker_state state;
};

struct offload {
	struct stuck_calls *stuck;
	struct worker *worker;	/* NULL until one is needed */
	uint64_t limit_ns;
	uint64_t (*owner)(uint32_t pid);
	uint64_t late_ns;	/* when one was, last; 0: never */
	struct {
		uint64_t target, since_ns;
	} late[TARGETS_MAX];	/* the newest, in a ring */
	struct offload_stats stats;
};

static void stuck_calls_unref(struct stuck_calls *stuck)
{
	if (atomic_fetch_sub(&stuck->refs, 1) == 1)
		free(stuck);
}

static void worker_free(struct worker *worker)
{
	stuck_calls_unref(worker->stuck);
	sem_destroy(&worker->asked);
	sem_destroy(&worker->back);
	free(worker);
}

static void await(sem_t *sem)
{
	while (sem_wait(sem) < 0)
		;	/* nothing but a signal ends it early */
}

/* ThreadSanitizer does not know sem_clockwait(): it is told that what was done before the post is seen. */
static void see(sem_t *sem)
{
#ifdef __SANITIZE_THREAD__
	__tsan_acquire(sem);
#else
	(void)sem;
#endif
}

static void drop(struct offload_call *call)
{
	if (call->drop)
		call->drop(call);
	free(call);
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	for (;;) {
		await(&worker->asked);
		if (!worker->call)
			break;
		worker->result = worker->call->run(worker->call);
		if (atomic_exchange(&worker->state, WORKER_DONE) == WORKER_ABANDONED) {
			drop(worker->call);
			atomic_store(worker->target, 0);
			break;
		}
		sem_post(&worker->back);
	}
	worker_free(worker);
	return NULL;
}

static int start_worker(struct offload *offload)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	int r;

	if (!worker)
		return -ENOMEM;
	worker->stuck = offload->stuck;
	atomic_fetch_add(&offload->stuck->refs, 1);
	sem_init(&worker->asked, 0, 0);
	sem_init(&worker->back, 0, 0);
	/* Never joined: one that is out may not come back before the process ends. */
	r = thread_start_detached("wick: offload", STACK_BYTES, work, worker);
	if (r < 0)
		worker_free(worker);
	else
		offload->worker = worker;
	return r;
}

int offload_new(uint64_t limit_ns, uint64_t (*owner)(uint32_t pid), struct offload **ret_offload)
{
	struct offload *offload = calloc(1, sizeof(*offload));

	if (!offload)
		return -ENOMEM;
	offload->limit_ns = limit_ns;
	offload->owner = owner;
	offload->stuck = calloc(1, sizeof(*offload->stuck));
	if (!offload->stuck) {
		free(offload);
		return -ENOMEM;
	}
	atomic_init(&offload->stuck->refs, 1);
	*ret_offload = offload;
	return 0;
}

void offload_free(struct offload *offload)
{
	if (!offload)
		return;
	if (offload->worker) {
		offload->worker->call = NULL;
		sem_post(&offload->worker->asked);
	}
	stuck_calls_unref(offload->stuck);
	free(offload);
}

/* A target where to note that somebody is out, or NULL if all are taken. */
static _Atomic uint64_t *find_free(struct stuck_calls *stuck)
{
	for (uint32_t i = 0; i < OFFLOAD_STUCK_MAX; i++)
		if (!atomic_load(&stuck->targets[i]))
			return &stuck->targets[i];
	return NULL;
}

static uint64_t owner_of(const struct offload *offload, uint32_t pid)
{
	return offload->owner ? offload->owner(pid) : 0;
}

/* As many are out at targets of this owner as may be. Who it is takes a while to find out: only if it could be so. */
static bool is_crowded(const struct offload *offload, uint32_t pid)
{
	uint32_t out = 0, of_owner = 0;
	uint64_t owner;

	for (uint32_t i = 0; i < OFFLOAD_STUCK_MAX; i++)
		out += atomic_load(&offload->stuck->targets[i]) != 0;
	if (out < OFFLOAD_STUCK_PER_OWNER_MAX)
		return false;
	owner = owner_of(offload, pid);
	for (uint32_t i = 0; i < OFFLOAD_STUCK_MAX; i++)
		of_owner += atomic_load(&offload->stuck->targets[i]) && offload->stuck->owners[i] == owner;
	return of_owner >= OFFLOAD_STUCK_PER_OWNER_MAX;
}

/* Somebody is out there, or was not long ago; or too many are, nearby. */
static bool is_quarantined(const struct offload *offload, uint64_t target, uint32_t pid)
{
	if (!offload->late_ns)
		return false;
	for (uint32_t i = 0; i < OFFLOAD_STUCK_MAX; i++)
		if (atomic_load(&offload->stuck->targets[i]) == target)
			return true;
	for (uint32_t i = 0; i < TARGETS_MAX; i++)
		if (offload->late[i].target == target && monotonic_ns() - offload->late[i].since_ns < QUARANTINE_NS)
			return true;
	return is_crowded(offload, pid);
}

/* True if the call came back in time. */
static bool wait_for(struct worker *worker, uint64_t limit_ns)
{
	struct timespec until = deadline_timespec(deadline_after(limit_ns / PAUSES));
	int pauses = PAUSES;

	while (sem_clockwait(&worker->back, CLOCK_MONOTONIC, &until) < 0) {
		if (errno == EINTR)
			continue;
		if (--pauses > 0) {
			until = deadline_timespec(deadline_after(limit_ns / PAUSES));
			continue;
		}
		if (atomic_exchange(&worker->state, WORKER_ABANDONED) == WORKER_BUSY)
			return false;
		/* In the last moment. */
		await(&worker->back);
		break;
	}
	see(&worker->back);
	return true;
}

static uint64_t current_limit_ns(const struct offload *offload)
{
	bool is_attack = offload->late_ns &&
			 monotonic_ns() - offload->late_ns < offload->limit_ns * ATTACK_LASTS_LIMITS;

	return is_attack ? offload->limit_ns / ATTACK_LIMIT_DIVISOR : offload->limit_ns;
}

static void abandon_worker(struct offload *offload, uint64_t target)
{
	uint64_t i = offload->stats.late++ % TARGETS_MAX;

	offload->worker = NULL;
	offload->late_ns = monotonic_ns();
	offload->late[i].target = target;
	offload->late[i].since_ns = offload->late_ns;
}

/* Whoever serves a file chooses its errors, but only here -ETIMEDOUT says that the call is not the caller's. */
static int result_of(int r)
{
	return r == -ETIMEDOUT ? -EIO : r;
}

int offload_run(struct offload *offload, struct offload_call *call)
{
	uint64_t target = call->target;
	uint32_t pid = call->pid;
	_Atomic uint64_t *slot;
	struct worker *worker;
	int r = 0;

	if (!offload)
		return result_of(call->run(call));
	slot = find_free(offload->stuck);
	if (!slot || is_quarantined(offload, target, pid)) {
		offload->stats.refused++;
		return -EBUSY;
	}
	if (!offload->worker)
		r = start_worker(offload);
	if (r < 0)
		return r;
	offload->stats.begun++;
	worker = offload->worker;
	worker->call = call;
	worker->target = slot;
	/* Noted before it is late: a moment after that it may be back. */
	atomic_store(slot, target);
	atomic_store(&worker->state, WORKER_BUSY);
	sem_post(&worker->asked);
	if (!wait_for(worker, current_limit_ns(offload))) {
		abandon_worker(offload, target);
		offload->stuck->owners[slot - offload->stuck->targets] = owner_of(offload, pid);
		return -ETIMEDOUT;
	}
	atomic_store(slot, 0);
	return result_of(worker->result);
}

struct offload_stats offload_stats(const struct offload *offload)
{
	return offload->stats;
}

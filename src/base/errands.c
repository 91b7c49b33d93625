// SPDX-License-Identifier: Apache-2.0
#include "base/errands.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"

#define PLACES_MAX 64		/* that are remembered for having been late */
#define GRUDGE_NS (60 * SECOND_NS)
#define PAUSES 4		/* the wait is cut in so many: a pause of our own (a quota) is but one of them */
#define HURRY_SHARE 16
#define HURRY_TIMES 10		/* ... for so many times the limit */
#define STACK_BYTES (256u << 10)

/* Shared by the owner and by threads that were left behind; the last one frees it. */
struct outside {
	atomic_uint refs;
	_Atomic uint64_t places[ERRANDS_OUT_MAX];	/* where those are that were left behind; 0: none */
	uint64_t owners[ERRANDS_OUT_MAX];		/* of these places; nobody but the owner of it all looks here */
};

enum worker_state { WORKER_OUT, WORKER_BACK, WORKER_LEFT };

struct worker {
	struct outside *outside;
	_Atomic uint64_t *place;	/* where it is noted that it was left behind */
	sem_t asked, back;
	struct errand *errand;	/* NULL: go home */
	int result;
	_Atomic enum worker_state state;
};

struct errands {
	struct outside *outside;
	struct worker *worker;	/* NULL until one is needed */
	uint64_t limit_ns;
	uint64_t (*owner)(uint32_t pid);
	uint64_t late_ns;	/* when one was, last; 0: never */
	struct {
		uint64_t place, since_ns;
	} late[PLACES_MAX];	/* the newest, in a ring */
	struct errands_stats stats;
};

static void outside_unref(struct outside *outside)
{
	if (atomic_fetch_sub(&outside->refs, 1) == 1)
		free(outside);
}

static void worker_free(struct worker *worker)
{
	outside_unref(worker->outside);
	sem_destroy(&worker->asked);
	sem_destroy(&worker->back);
	free(worker);
}

static void await(sem_t *sem)
{
	while (sem_wait(sem) < 0)
		;	/* nothing but a signal ends it early */
}

static void drop(struct errand *errand)
{
	if (errand->drop)
		errand->drop(errand);
	free(errand);
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	for (;;) {
		await(&worker->asked);
		if (!worker->errand)
			break;
		worker->result = worker->errand->run(worker->errand);
		if (atomic_exchange(&worker->state, WORKER_BACK) == WORKER_LEFT) {
			drop(worker->errand);
			atomic_store(worker->place, 0);
			break;
		}
		sem_post(&worker->back);
	}
	worker_free(worker);
	return NULL;
}

/* Threads are never joined: one that is out may not come back before the process ends. */
static int start_thread(struct worker *worker)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, &attr, work, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (r == 0)
		pthread_setname_np(thread, "wick: errand");
	return -r;
}

static int errands_hire(struct errands *errands)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	int r;

	if (!worker)
		return -ENOMEM;
	worker->outside = errands->outside;
	atomic_fetch_add(&errands->outside->refs, 1);
	sem_init(&worker->asked, 0, 0);
	sem_init(&worker->back, 0, 0);
	r = start_thread(worker);
	if (r < 0)
		worker_free(worker);
	else
		errands->worker = worker;
	return r;
}

int errands_new(uint64_t limit_ns, uint64_t (*owner)(uint32_t pid), struct errands **ret_errands)
{
	struct errands *errands = calloc(1, sizeof(*errands));

	if (!errands)
		return -ENOMEM;
	errands->limit_ns = limit_ns;
	errands->owner = owner;
	errands->outside = calloc(1, sizeof(*errands->outside));
	if (!errands->outside) {
		free(errands);
		return -ENOMEM;
	}
	atomic_init(&errands->outside->refs, 1);
	*ret_errands = errands;
	return 0;
}

void errands_free(struct errands *errands)
{
	if (!errands)
		return;
	if (errands->worker) {
		errands->worker->errand = NULL;
		sem_post(&errands->worker->asked);
	}
	outside_unref(errands->outside);
	free(errands);
}

/* A place where to note that somebody is out, or NULL if all are taken. */
static _Atomic uint64_t *find_free(struct outside *outside)
{
	for (uint32_t i = 0; i < ERRANDS_OUT_MAX; i++)
		if (!atomic_load(&outside->places[i]))
			return &outside->places[i];
	return NULL;
}

static uint64_t owner_of(const struct errands *errands, uint32_t pid)
{
	return errands->owner ? errands->owner(pid) : 0;
}

/* As many are out at places of this owner as may be. Who it is takes a while to find out: only if it could be so. */
static bool is_crowded(const struct errands *errands, uint32_t pid)
{
	uint32_t out = 0, of_owner = 0;
	uint64_t owner;

	for (uint32_t i = 0; i < ERRANDS_OUT_MAX; i++)
		out += atomic_load(&errands->outside->places[i]) != 0;
	if (out < ERRANDS_OF_OWNER_MAX)
		return false;
	owner = owner_of(errands, pid);
	for (uint32_t i = 0; i < ERRANDS_OUT_MAX; i++)
		of_owner += atomic_load(&errands->outside->places[i]) && errands->outside->owners[i] == owner;
	return of_owner >= ERRANDS_OF_OWNER_MAX;
}

/* Somebody is out there, or was not long ago; or too many are, nearby. */
static bool is_shunned(const struct errands *errands, uint64_t place, uint32_t pid)
{
	if (!errands->late_ns)
		return false;
	for (uint32_t i = 0; i < ERRANDS_OUT_MAX; i++)
		if (atomic_load(&errands->outside->places[i]) == place)
			return true;
	for (uint32_t i = 0; i < PLACES_MAX; i++)
		if (errands->late[i].place == place && monotonic_ns() - errands->late[i].since_ns < GRUDGE_NS)
			return true;
	return is_crowded(errands, pid);
}

static struct timespec after(uint64_t wait_ns)
{
	uint64_t ns = monotonic_ns() + wait_ns;

	return (struct timespec){ .tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS) };
}

/* True if the errand came back in time. */
static bool wait_for(struct worker *worker, uint64_t limit_ns)
{
	struct timespec until = after(limit_ns / PAUSES);
	int pauses = PAUSES;

	while (sem_clockwait(&worker->back, CLOCK_MONOTONIC, &until) < 0) {
		if (errno == EINTR)
			continue;
		if (--pauses > 0) {
			until = after(limit_ns / PAUSES);
			continue;
		}
		if (atomic_exchange(&worker->state, WORKER_LEFT) == WORKER_OUT)
			return false;
		/* In the last moment. */
		await(&worker->back);
		break;
	}
	return true;
}

static uint64_t errands_limit(const struct errands *errands)
{
	bool is_attack = errands->late_ns && monotonic_ns() - errands->late_ns < errands->limit_ns * HURRY_TIMES;

	return is_attack ? errands->limit_ns / HURRY_SHARE : errands->limit_ns;
}

static void errands_leave(struct errands *errands, uint64_t place)
{
	uint64_t i = errands->stats.late++ % PLACES_MAX;

	errands->worker = NULL;
	errands->late_ns = monotonic_ns();
	errands->late[i].place = place;
	errands->late[i].since_ns = errands->late_ns;
}

/* Whoever serves a file chooses its errors, but only here -ETIMEDOUT says that the errand is not the caller's. */
static int result_of(int r)
{
	return r == -ETIMEDOUT ? -EIO : r;
}

int errands_run(struct errands *errands, struct errand *errand)
{
	uint64_t place = errand->place;
	uint32_t pid = errand->pid;
	_Atomic uint64_t *free_place;
	struct worker *worker;
	int r = 0;

	if (!errands)
		return result_of(errand->run(errand));
	free_place = find_free(errands->outside);
	if (!free_place || is_shunned(errands, place, pid)) {
		errands->stats.refused++;
		return -EBUSY;
	}
	if (!errands->worker)
		r = errands_hire(errands);
	if (r < 0)
		return r;
	errands->stats.begun++;
	worker = errands->worker;
	worker->errand = errand;
	worker->place = free_place;
	/* Noted before it is late: a moment after that it may be back. */
	atomic_store(free_place, place);
	atomic_store(&worker->state, WORKER_OUT);
	sem_post(&worker->asked);
	if (!wait_for(worker, errands_limit(errands))) {
		errands_leave(errands, place);
		errands->outside->owners[free_place - errands->outside->places] = owner_of(errands, pid);
		return -ETIMEDOUT;
	}
	atomic_store(free_place, 0);
	return result_of(worker->result);
}

struct errands_stats errands_stats(const struct errands *errands)
{
	return errands->stats;
}

// SPDX-License-Identifier: Apache-2.0
#include "exe/reader_rest.h"

#include <errno.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#include "base/clock.h"
#include "base/types.h"

#define TICK_US 5000		/* of CPU time, or more: the kernel looks at it now and then */

static volatile sig_atomic_t rest_times;
static u64 rested_at_ns;	/* CPU time when it last rested */
static volatile sig_atomic_t is_resting;
static u64 alarm_ns;		/* when the process is to end, 0: never */

static void arm_alarm(void)
{
	u64 now_ns = monotonic_ns(), left_ns = alarm_ns > now_ns ? alarm_ns - now_ns : 1000;
	struct itimerval timer = { .it_value = { .tv_sec = (time_t)(left_ns / SECOND_NS),
						 .tv_usec = (suseconds_t)(left_ns % SECOND_NS / 1000) } };

	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* What is told meanwhile changes how long that is. */
static void on_tick(int number)
{
	u64 began_ns = monotonic_ns(), cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), slept_ns = 0;
	u64 worked_ns = cpu_ns - rested_at_ns;
	int error = errno;

	rested_at_ns = cpu_ns;
	is_resting = 1;
	while (slept_ns < worked_ns * (u64)rest_times) {
		u64 left_ns = worked_ns * (u64)rest_times - slept_ns;

		(void)nanosleep(&(struct timespec){ (time_t)(left_ns / SECOND_NS), (long)(left_ns % SECOND_NS) }, NULL);
		slept_ns = monotonic_ns() - began_ns;
	}
	is_resting = 0;
	if (alarm_ns && slept_ns) {
		alarm_ns += slept_ns;
		arm_alarm();
	}
	errno = error;
}

/* In the middle of a file at once. */
static void on_told(int number, siginfo_t *info, void *context)
{
	rest_times = info->si_value.sival_int;
	if (alarm_ns && !is_resting)
		on_tick(number);
}

void reader_rest_init(void)
{
	const struct itimerval tick = { { 0, TICK_US }, { 0, TICK_US } };
	struct sigaction told = { .sa_sigaction = on_told, .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER };
	struct sigaction ticked = { .sa_handler = on_tick, .sa_flags = SA_RESTART };

	sigaddset(&told.sa_mask, SIGPROF);
	(void)sigaction(READER_REST_SIGNAL, &told, NULL);
	(void)sigaction(SIGPROF, &ticked, NULL);
	(void)setitimer(ITIMER_PROF, &tick, NULL);
}

void reader_rest_set_alarm(unsigned seconds)
{
	const struct itimerval none = { 0 };

	alarm_ns = seconds ? monotonic_ns() + seconds * SECOND_NS : 0;
	if (alarm_ns)
		arm_alarm();
	else
		(void)setitimer(ITIMER_REAL, &none, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up machine that is profiled: every call of load_window() is the next
 * window of samples, as the profiler would have built it, in simulated time.
 *
 *	programs	each with stacks of its own: a random walk over the functions of its language, now and then
 *			into native code, a quarter of them ends in the kernel; 8 to 120 deep, 26 on average
 *	processes	of a program each; a few end and come back under a new pid every minute
 *	samples		Zipf over processes and over the stacks of each; what is hot moves on by the hour
 *	load		of all CPUs, or by the time of day
 *
 * The same seed gives the same windows. Profiles borrow strings from the load: free them first.
 */
#ifndef BENCH_STORE_LOAD_H
#define BENCH_STORE_LOAD_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"

struct load;
struct profile;

struct load_options {
	u32 cores, hz, processes;
	u32 stacks;  /* distinct ones, over all programs */
	bool by_day; /* the load follows the time of day; else all CPUs are busy */
	u64 start_ns;
	u32 tenants; /* values of a label of the samples; 0: they have none */
};

struct load *load_new(const struct load_options *options);
void load_free(struct load *load);
DEFINE_CLEANUP(struct load *, load_free)

/* The next window; NULL: out of memory. */
struct profile *load_window(struct load *load, u64 window_ns);

/* The time up to which windows were made, how many samples were in them, and how many frames those have. */
u64 load_time_ns(const struct load *load);
u64 load_samples(const struct load *load);
u64 load_frames(const struct load *load);

#endif

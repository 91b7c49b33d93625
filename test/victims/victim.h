/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every victim shares: a chain with known names and a known split of time.
 *
 *	main -> victim_main -> outer -> (the scenario) -> leaf_a 60 %, leaf_b 30 %, leaf_c 10 %
 *
 * victim.c has main() and victim_main(), leaves.c the leaves; each scenario
 * supplies outer(n), which spends about n units of work, and may set up in
 * victim_setup(). The split is one of iteration counts over equal loops, and
 * is measured: TIMED() adds what a leaf really used to spent_ns[], which is
 * printed at the end as JSON.
 */
#ifndef VICTIM_H
#define VICTIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__clang__) || defined(__cplusplus)
#define NOINLINE __attribute__((noinline, used))
#else
#define NOINLINE __attribute__((noipa, used))
#endif

/* The same work everywhere, opaque to the optimiser. A macro, so that no debug information calls it inlined. */
#define SPIN(n, x)								\
	for (uint64_t left_ = (n); left_; left_--) {				\
		(x) = (x) * 6364136223846793005u + left_;			\
		__asm__ volatile("" : "+r"(x));					\
	}

/* After a call: it cannot become a jump. */
#define NO_TAIL() __asm__ volatile("" ::: "memory")

enum { LEAF_A, LEAF_B, LEAF_C, LEAF_COUNT };

extern uint64_t spent_ns[LEAF_COUNT];
extern volatile uint64_t victim_sink;

/* CPU time of this thread. */
uint64_t victim_cpu_ns(void);

#define TIMED(leaf, call)							\
	do {									\
		uint64_t from_ = victim_cpu_ns();				\
		victim_sink += (call);						\
		__atomic_fetch_add(&spent_ns[leaf], victim_cpu_ns() - from_,	\
				   __ATOMIC_RELAXED);				\
	} while (0)

uint64_t leaf_a(uint64_t n);
uint64_t leaf_b(uint64_t n);
uint64_t leaf_c(uint64_t n);

/* The three leaves in their shares, each timed. */
#define LEAVES(n)								\
	do {									\
		TIMED(LEAF_A, leaf_a(6 * (n)));					\
		TIMED(LEAF_B, leaf_b(3 * (n)));					\
		TIMED(LEAF_C, leaf_c((n)));					\
	} while (0)

/* Set from the command line before victim_setup(), which may change it. */
extern uint64_t victim_budget_ns;

/* Supplied by the scenario. */
uint64_t outer(uint64_t n);
void victim_setup(int argc, char **argv) __attribute__((weak));

/* Calls outer() until this thread has used that much CPU time; n grows until a round takes 10 ms. */
void victim_main(uint64_t budget_ns);

#ifdef __cplusplus
}
#endif

#endif

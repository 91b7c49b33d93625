/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that nobody wants: of processes that are too young, or that rules
 * leave out. The kernel half is told of the latter, and samples them no more;
 * and of those that rules want some samples of, or more.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_LEFT_OUT_H
#define TRACER_LEFT_OUT_H

#include <stdbool.h>

#include "abi.h"

struct boost_list;
struct process;
struct process_choice;
struct processes;
struct tables;

struct left_out {
	struct tables *tables;
	u64 age_min_ns;		/* of processes */
	const struct process_choice *choice;	/* the present rules; NULL: none */
	const struct boost_list *boosts;	/* who is sampled faster; NULL: nobody */
	u64 rules_number;	/* of these */
	bool has_rules;
	bool has_clocks;	/* beside the usual one */
	u64 young, unwanted;	/* samples that were left out here */
};

bool left_out_young(struct left_out *left_out, const struct trace_record *record);

/* By the process's description, which is made now if it is not known. Who ended a wait is wanted always. */
bool left_out_unwanted(struct left_out *left_out, struct processes *processes, struct process *process,
		       const struct trace_record *record);

/* Other rules hold now, borrowed until the next; NULL: none. */
void left_out_choose(struct left_out *left_out, struct processes *processes, const struct process_choice *choice);

/*
 * Others are sampled faster now, borrowed until the next; NULL: nobody. From then on ticks are told apart by their
 * clock, until there are no others: left_out_clocks().
 */
void left_out_boost(struct left_out *left_out, struct processes *processes, const struct boost_list *boosts);
void left_out_clocks(struct left_out *left_out, bool has_clocks);

#endif

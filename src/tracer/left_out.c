// SPDX-License-Identifier: Apache-2.0
#include "tracer/left_out.h"

#include "proc/processes.h"
#include "tracer/record.h"
#include "tracer/tables.h"

#define TELL_NS 1000000000ull

/* Both times are of CLOCK_MONOTONIC; task_struct.start_time is so since v5.5 (cf25e24db61c). */
bool left_out_young(struct left_out *l, const struct trace_record *record)
{
	bool is_young = record->time_ns < record->id.start_ns + l->age_min_ns;

	l->young += is_young;
	return is_young;
}

/* Again and again, since the kernel forgets whom it has not seen for long. */
static void tell_rate(struct left_out *l, struct process *p, const struct trace_record *record)
{
	if ((p->description.every < 2 && !p->description.clock_hz) || record->time_ns < p->rate_told_ns + TELL_NS)
		return;
	p->rate_told_ns = record->time_ns;
	tables_judge(l->tables, record->kernel_pid, &record->id, p->description.every ? p->description.every : 1,
		     p->description.clock_hz);
}

bool left_out_unwanted(struct left_out *l, struct processes *processes, struct process *p,
		       const struct trace_record *record)
{
	/* A look at a process costs more than the sample, which is to cost next to nothing. */
	if ((record->end != END_SPARED || l->has_rules) && description_is_due(&p->description, record->time_ns))
		processes_describe_sample(processes, p, record);
	if (!p->description.is_unwanted || record_is_waker(record)) {
		tell_rate(l, p, record);
		return false;
	}
	l->unwanted++;
	if (!p->description.is_unsure)
		tables_judge(l->tables, record->kernel_pid, &record->id, 0, 0);
	return true;
}

static void tell_rules(const struct left_out *l)
{
	tables_set_rules(l->tables, l->has_rules || l->has_clocks ? l->rules_number : 0, l->has_clocks);
}

/* What was told of processes means nothing from then on: all are looked at anew when they are sampled. */
static void judge_anew(struct left_out *l, struct processes *processes)
{
	processes_choose(processes, l->choice, l->boosts);
	l->has_rules = l->boosts || (l->choice && (l->choice->include || l->choice->exclude));
	l->rules_number++;
	tell_rules(l);
}

void left_out_choose(struct left_out *l, struct processes *processes, const struct process_choice *choice)
{
	l->choice = choice;
	judge_anew(l, processes);
}

void left_out_boost(struct left_out *l, struct processes *processes, const struct boost_list *boosts)
{
	l->boosts = boosts;
	l->has_clocks |= boosts != NULL;
	judge_anew(l, processes);
}

void left_out_clocks(struct left_out *l, bool has_clocks)
{
	l->has_clocks = has_clocks;
	tell_rules(l);
}

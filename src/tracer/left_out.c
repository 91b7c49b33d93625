// SPDX-License-Identifier: Apache-2.0
#include "tracer/left_out.h"

#include "proc/processes.h"
#include "tracer/tables.h"

/* Both times are of CLOCK_MONOTONIC; task_struct.start_time is so since v5.5 (cf25e24db61c). */
bool left_out_young(struct left_out *l, const struct trace_record *record)
{
	bool is_young = record->time_ns < record->id.start_ns + l->age_min_ns;

	l->young += is_young;
	return is_young;
}

bool left_out_unwanted(struct left_out *l, struct processes *processes, struct process *p,
		       const struct trace_record *record)
{
	/* A look at a process costs more than the sample, which is to cost next to nothing. */
	if ((record->end != END_SPARED || l->has_rules) && description_is_due(&p->description, record->time_ns))
		processes_describe_sample(processes, p, record);
	if (!p->description.is_unwanted)
		return false;
	l->unwanted++;
	tables_leave_out(l->tables, record->kernel_pid, &record->id);
	return true;
}

void left_out_choose(struct left_out *l, struct processes *processes, const struct process_choice *choice)
{
	processes_choose(processes, choice);
	l->has_rules = choice && (choice->include || choice->exclude);
	l->rules_number++;
	tables_set_rules(l->tables, l->has_rules ? l->rules_number : 0);
}

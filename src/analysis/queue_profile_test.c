// SPDX-License-Identifier: Apache-2.0
#include "analysis/queue_profile.h"

#include "analysis/queue_profile_test.h"
#include "test.h"

TEST(queue_of_a_profile_is_by_process_or_thread)
{
	_cleanup_(profile_freep) struct profile *p = queue_profile_of("lanes");
	_cleanup_(queue_profile_freep) struct queue_profile *processes = NULL, *threads = NULL;

	EQ(queue_profile_new(p, SUMMARY_PROCESS, &processes), 0);
	EQ(processes->has_lanes, 1);
	EQ(processes->waits.all.count, 6);
	EQ(processes->waits.all.sum_ns, (100 + 40 + 1000 + 100 + 4000 + 1000) * US);
	EQ(processes->order_count, 2);
	EQ(frame_set_at(&processes->owners, processes->order[0])->pid, 71);
	EQ(processes->waits.groups[processes->order[0]].longest_ns, 4000 * US);
	EQ(processes->waits.groups[processes->order[1]].count, 3);
	EQ(queue_profile_new(p, SUMMARY_THREAD, &threads), 0);
	EQ(threads->order_count, 4);
	EQ(frame_set_at(&threads->owners, threads->order[0])->tid, 71);
	EQ(frame_set_at(&threads->owners, threads->order[3])->tid, 70);
	EQ(threads->waits.groups[threads->order[1]].count, 1);
}

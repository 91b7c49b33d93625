// SPDX-License-Identifier: Apache-2.0
#include "tracer/record.h"

#include <string.h>

#include "kinds/kind.h"

size_t record_bytes(const struct trace_record *r)
{
	return sizeof(*r) + ((size_t)r->kernel_count + r->user_count) * 8 + r->slice_bytes +
	       (r->end == END_SLICE ? sizeof(struct slice_regs) : 0);
}

/* Its times make sense; where it waited is behind them. */
static bool lane_is_whole(const struct trace_record *record)
{
	const size_t words = sizeof(struct lane_times) / 8;
	struct lane_times times;
	u64 rest = record->time_ns;

	if (record->kernel_count || record->user_count < words || record->user_count - words > LANE_FRAMES_MAX ||
	    record->end != END_COMPLETE)
		return false;
	memcpy(&times, record + 1, sizeof(times));
	if (times.ran_ns > rest || times.waited_ns > rest - times.ran_ns)
		return false;
	return times.queued_ns <= rest - times.ran_ns - times.waited_ns;
}

bool record_is_whole(const struct trace_record *record, size_t bytes)
{
	return bytes >= sizeof(*record) && bytes == record_bytes(record) && record->end < END_COUNT &&
	       record->kind < KIND_MAX && (record->kind >= KIND_PROBES || kind_list[record->kind]) &&
	       record->request_words <= REQUEST_WORDS_MAX && record->label_words <= LABEL_WORDS_MAX &&
	       record->request_words + record->label_words <= record->kernel_count &&
	       record->kernel_count - record->request_words - record->label_words <= KERNEL_FRAMES_MAX &&
	       record->clock_hz <= CLOCK_HZ_MAX &&
	       record->user_count <= USER_WORDS_MAX &&
	       (!(record->flags & TRACE_REST) || !(record->kernel_count | record->user_count)) &&
	       (record->kind != KIND_LANES || lane_is_whole(record)) &&
	       (!(record->flags & TRACE_TOTALS) || record->user_count * 8 == sizeof(struct thread_totals)) &&
	       memchr(record->comm, '\0', sizeof(record->comm));
}

bool record_is_waker(const struct trace_record *record)
{
	return record->flags >> TRACE_WAIT_SHIFT == WAIT_WAKES;
}

const u64 *record_user(const struct trace_record *record)
{
	return (const u64 *)(record + 1) + record->kernel_count;
}

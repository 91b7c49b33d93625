// SPDX-License-Identifier: Apache-2.0
#include "tracer/counters.h"

#include <stddef.h>

static enum counter_kind end_kind(enum stack_end end)
{
	switch (end) {
	case END_COMPLETE:
	case END_KERNEL_THREAD:
	case END_EXEC:
	case END_EXIT:
	case END_SLICE:
	case END_NOT_TAKEN:
		return COUNT_NEUTRAL;
	default:
		return COUNT_SHORT;
	}
}

bool counters_is_cut(u8 end)
{
	return end_kind(end) == COUNT_SHORT;
}

static enum counter_kind kernel_kind(enum counter counter)
{
	switch (counter) {
	case COUNTER_TICKS:
	case COUNTER_FILTERED:
	case COUNTER_THINNED:
	case COUNTER_OUTSIDE:
	case COUNTER_SENT:
	case COUNTER_ROWS_MISSES:
	case COUNTER_SPARED:
	case COUNTER_RUN_NS:
	case COUNTER_IDLE:
	case COUNTER_OWED:
	case COUNTER_ENDS_ALONE:
		return COUNT_NEUTRAL;
	case COUNTER_WAITS_SHED:
	case COUNTER_SWITCHES_SHED:
	case COUNTER_KERNEL_CUT:
	case COUNTER_NO_WALKER:
		return COUNT_SHORT;
	default:
		return COUNT_LOSS;
	}
}

u32 counters_list_kind(const char *kind, const u64 *kernel, struct counter_value *ret_values)
{
	struct counter_value *to = ret_values;

#define X(ID, name, text) \
	*to++ = (struct counter_value){ name, text, kind, kind ? "kind" : NULL, kernel_kind(COUNTER_##ID), \
				     kernel[COUNTER_##ID] };
	COUNTERS(X)
#undef X
	return (u32)(to - ret_values);
}

u32 counters_list(const u64 *ends, const u64 *kernel, const u64 *tracer, struct counter_value *ret_values)
{
	struct counter_value *to = ret_values + counters_list_kind(NULL, kernel, ret_values);

#define X(ID, name, text) \
	*to++ = (struct counter_value){ name, text, .kind = end_kind(END_##ID), .value = ends[END_##ID] };
	STACK_ENDS(X)
#undef X
#define X(ID, name, kind_, text) \
	*to++ = (struct counter_value){ name, text, .kind = COUNT_##kind_, .value = tracer[TRACER_##ID] };
	TRACER_COUNTERS(X)
#undef X
	return (u32)(to - ret_values);
}

u32 counters_list_unread(const struct unread *unread, u32 count, struct counter_value *ret_values)
{
	for (u32 i = 0; i < count; i++)
		ret_values[i] = (struct counter_value){ COUNTER_UNREAD, "samples of processes with a runtime whose own "
							"functions are not read: only native ones show",
							unread[i].title, "runtime", COUNT_SHORT, unread[i].samples };
	return count;
}

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
		return COUNT_NEUTRAL;
	default:
		return COUNT_SHORT;
	}
}

static enum counter_kind kernel_kind(enum counter counter)
{
	switch (counter) {
	case COUNTER_TICKS:
	case COUNTER_FILTERED:
	case COUNTER_SENT:
		return COUNT_NEUTRAL;
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
	*to++ = (struct counter_value){ name, text, kind, kernel_kind(COUNTER_##ID), kernel[COUNTER_##ID] };
	COUNTERS(X)
#undef X
	return (u32)(to - ret_values);
}

u32 counters_list(const u64 *ends, const u64 *kernel, const u64 *tracer, struct counter_value *ret_values)
{
	struct counter_value *to = ret_values + counters_list_kind(NULL, kernel, ret_values);

#define X(ID, name, text) *to++ = (struct counter_value){ name, text, NULL, end_kind(END_##ID), ends[END_##ID] };
	STACK_ENDS(X)
#undef X
#define X(ID, name, kind, text) *to++ = (struct counter_value){ name, text, NULL, COUNT_##kind, tracer[TRACER_##ID] };
	TRACER_COUNTERS(X)
#undef X
	return (u32)(to - ret_values);
}

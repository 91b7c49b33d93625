// SPDX-License-Identifier: Apache-2.0
#include "halves/channel.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static u64 look(const struct channel_frame *frame)
{
	static struct counter_value values[COUNTER_VALUES_MAX];
	struct boost_event event;
	struct boost boost;
	char *strings = NULL;
	size_t count = 0;
	u64 sum = 0;

	switch (frame->kind) {
	case CHANNEL_WANTED:
		return channel_wanted(frame);
	case CHANNEL_WINDOW:
		return channel_window(frame).end_ns + channel_window(frame).bytes;
	case CHANNEL_BOOST:
		return channel_boost(frame, &boost) == 0 ? boost.hz + strlen(boost.service) + strlen(boost.cgroup) : 0;
	case CHANNEL_BOOSTED:
		return channel_boosted(frame, &event) == 0 ? strlen(boost_outcome_text(event.outcome)) : 0;
	default:
		break;
	}
	if (channel_counters(frame, values, &count, &strings) < 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		sum += strlen(values[i].name) + strlen(values[i].text) + (values[i].of ? strlen(values[i].of) : 0) +
		       (values[i].label ? strlen(values[i].label) : 0) + values[i].kind;
	free(strings);
	return sum;
}

/* The first byte says which half reads, and how many files came along; the rest is a message. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum channel_reader reader = size && data[0] & 1 ? CHANNEL_SAMPLER : CHANNEL_SERVICE;
	struct channel_frame frame;

	if (!size || channel_parse(reader, data + 1, size - 1, data[0] >> 1, &frame) < 0)
		return 0;
	return look(&frame) == UINT64_MAX;
}

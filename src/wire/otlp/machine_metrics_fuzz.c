// SPDX-License-Identifier: Apache-2.0
/* Any bytes, as protobuf and as JSON; what comes out keeps its promises. */
#include "wire/otlp/machine_metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void check(const struct machine_metrics *metrics)
{
	if (metrics->count > MACHINE_SAMPLES_MAX)
		abort();
	for (u32 i = 0; i < metrics->count; i++) {
		const struct machine_sample *s = &metrics->samples[i];
		size_t len = strnlen(s->host, sizeof(s->host));

		if (!len || len == sizeof(s->host) || !utf8_valid(s->host, len) || !s->at.monotonic_ns ||
		    (i && s->at.monotonic_ns < s[-1].at.monotonic_ns) || s->at.by_cpu_count > HOST_TOP ||
		    s->at.by_rss_count > HOST_TOP || s->at.memory_available_bytes > s->at.memory_total_bytes)
			abort();
		for (u32 p = 0; p < s->at.by_cpu_count; p++)
			if (!isfinite(s->at.by_cpu[p].cpus) || s->at.by_cpu[p].cpus > s->at.cpu_count ||
			    s->at.by_cpu[p].name[HOST_NAME_MAX - 1])
				abort();
	}
}

static void decode(const void *at, size_t bytes)
{
	struct machine_metrics metrics;

	if (machine_metrics_decode(at, bytes, &metrics) < 0)
		return;
	check(&metrics);
	machine_metrics_done(&metrics);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct buf made;

	decode(data, size);
	buf_init(&made, (size_t)1 << 24);
	if (machine_metrics_from_json(data, size, &made) == 0)
		decode(made.data, made.len);
	buf_done(&made);
	return 0;
}

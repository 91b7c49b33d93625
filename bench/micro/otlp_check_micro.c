// SPDX-License-Identifier: Apache-2.0
/* How fast a relay looks through requests: those given, or those of the OpenTelemetry eBPF profiler in test/golden. */
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "micro.h"
#include "wire/otlp/otlp_check.h"

#define REQUEST_MAX (64u << 20)

static int measure(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct buf request, why;
	u64 samples = 0;
	struct micro m;
	int r = 0;

	if (!file) {
		perror(path);
		return -1;
	}
	buf_init(&request, REQUEST_MAX);
	buf_init(&why, 4096);
	for (int c; (c = getc(file)) != EOF;)
		buf_add(&request, &(char){ (char)c }, 1);
	fclose(file);
	for (m = micro_start(); r >= 0 && micro_more(&m);)
		r = otlp_check(request.data, request.len, SIZE_MAX, &samples, &why);
	micro_report(&m, "check OTLP", samples, "samples", request.len);
	buf_done(&request);
	buf_done(&why);
	return r;
}

int main(int argc, char **argv)
{
	int r = 0;

	if (argc < 2)
		return measure("test/golden/otlp/ebpf-profiler-c.bin") < 0;
	for (int i = 1; i < argc && r >= 0; i++)
		r = measure(argv[i]);
	return r < 0;
}

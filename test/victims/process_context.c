// SPDX-License-Identifier: Apache-2.0
/*
 * Publishes an OpenTelemetry process context (OTEP 4719), by the specification, and works on:
 * process_context NAME [LATER]: as service NAME, and half a second later as LATER, where that is given.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

struct header {
	char signature[8];
	uint32_t version, bytes;
	_Atomic uint64_t time;
	const void *payload;
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A KeyValue of protobuf; all lengths are below 128. */
static size_t put_pair(char *to, const char *key, const char *value)
{
	size_t k = strlen(key), v = strlen(value), at = 0;

	to[at++] = 0x0a;
	to[at++] = (char)(k + v + 6);
	to[at++] = 0x0a;
	to[at++] = (char)k;
	memcpy(to + at, key, k);
	at += k;
	to[at++] = 0x12;
	to[at++] = (char)(v + 2);
	to[at++] = 0x0a;
	to[at++] = (char)v;
	memcpy(to + at, value, v);
	return at + v;
}

static void publish(struct header *header, char *payload, const char *name)
{
	size_t bytes = put_pair(payload + 2, "service.name", name);

	atomic_store(&header->time, 0);
	payload[0] = 0x0a;
	payload[1] = (char)bytes;
	header->version = 2;
	header->bytes = (uint32_t)bytes + 2;
	header->payload = payload;
	memcpy(header->signature, "OTEL_CTX", 8);
	atomic_store(&header->time, now_ns(CLOCK_BOOTTIME));
	prctl(0x53564d41, 0, header, 4096, "OTEL_CTX");
}

int main(int argc, char **argv)
{
	static char payloads[2][256];
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct header *header;
	uint64_t start_ns = now_ns(CLOCK_MONOTONIC);
	volatile uint64_t sum = 0;

	if (argc < 2 || fd < 0 || ftruncate(fd, 4096) < 0)
		return 1;
	header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (header == MAP_FAILED)
		return 1;
	madvise(header, 4096, MADV_DONTFORK);
	publish(header, payloads[0], argv[1]);
	for (;;) {
		for (int i = 0; i < 1000000; i++)
			sum += (uint64_t)i;
		if (argc > 2 && now_ns(CLOCK_MONOTONIC) - start_ns > 500000000) {
			publish(header, payloads[1], argv[2]);
			argc = 2;
		}
	}
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Publishes an OpenTelemetry process context and thread context by the specifications (OTEP 4719, 4947): linked into
 * the program, or a library of its own, in each way that a compiler reaches a thread's variables.
 */
#include "requests.h"

#include <stdatomic.h>
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

__attribute__((visibility("default"))) __thread struct published_request *otel_thread_ctx_v1;

#ifdef PADDING
/* A large block of thread-local memory never gets a place among those that every thread has from its start. */
__attribute__((visibility("default"))) __thread char requests_padding[PADDING];
#endif

static struct header *header;

static size_t put_bytes(uint8_t *to, uint8_t tag, const void *from, size_t bytes)
{
	to[0] = tag;
	to[1] = (uint8_t)bytes;	/* all are below 128 */
	memcpy(to + 2, from, bytes);
	return bytes + 2;
}

static size_t put_pair(uint8_t *to, uint8_t tag, const char *key, const uint8_t *value, size_t value_bytes)
{
	uint8_t pair[256];
	size_t at = put_bytes(pair, 0x0a, key, strlen(key));

	at += put_bytes(pair + at, 0x12, value, value_bytes);
	return put_bytes(to, tag, pair, at);
}

static size_t put_text_pair(uint8_t *to, uint8_t tag, const char *key, const char *text)
{
	uint8_t value[128];

	return put_pair(to, tag, key, value, put_bytes(value, 0x0a, text, strlen(text)));
}

/* ProcessContext { 1: Resource { 1: service.name } 2: threadlocal.schema_version, 2: threadlocal.attribute_key_map } */
static size_t put_context(uint8_t *to, const char *service, const char *schema, const char *const *keys)
{
	uint8_t part[256], value[128], list[128];
	size_t at = 0, bytes = put_text_pair(part, 0x0a, "service.name", service), list_bytes = 0;

	at += put_bytes(to, 0x0a, part, bytes);
	at += put_text_pair(to + at, 0x12, "threadlocal.schema_version", schema);
	for (; *keys; keys++) {
		bytes = put_bytes(value, 0x0a, *keys, strlen(*keys));
		list_bytes += put_bytes(list + list_bytes, 0x0a, value, bytes);
	}
	bytes = put_bytes(value, 0x2a, list, list_bytes);
	return at + put_pair(to + at, 0x12, "threadlocal.attribute_key_map", value, bytes);
}

static int publish(const char *service, const char *schema, const char *const *keys)
{
	static uint8_t payloads[2][512];
	static int turn;
	int fd = header ? -1 : memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct timespec t;

	if (!header) {
		if (fd < 0 || ftruncate(fd, 4096) < 0)
			return -1;
		header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		close(fd);
		if (header == MAP_FAILED)
			return -1;
		madvise(header, 4096, MADV_DONTFORK);
	}
	atomic_store(&header->time, 0);
	turn ^= 1;
	header->bytes = (uint32_t)put_context(payloads[turn], service, schema, keys);
	header->version = 2;
	header->payload = payloads[turn];
	memcpy(header->signature, "OTEL_CTX", 8);
	clock_gettime(CLOCK_BOOTTIME, &t);
	atomic_store(&header->time, (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
	prctl(0x53564d41, 0, header, 4096, "OTEL_CTX");
	return 0;
}

static void set(struct published_request *record)
{
	atomic_signal_fence(memory_order_seq_cst);
	otel_thread_ctx_v1 = record;
	atomic_signal_fence(memory_order_seq_cst);
}

static struct published_request *get(void)
{
	return otel_thread_ctx_v1;
}

__attribute__((visibility("default"))) const struct requests_writer requests_writer = { publish, set, get };

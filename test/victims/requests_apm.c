// SPDX-License-Identifier: Apache-2.0
/*
 * Publishes requests as APM agents of Elastic's protocol do (elastic/apm, universal-profiling-integration.md), in place
 * of requests_writer.c. REQUESTS_HOSTILE: says what nobody could mean instead.
 */
#include "requests.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct said {
	uint16_t version;
	uint8_t valid, has_trace, flags;
	uint8_t trace[16], span[8], transaction[8];
} __attribute__((packed));
_Static_assert(sizeof(struct said) == 37, "as the specification has it");

#define EXPORTED __attribute__((visibility("default")))

EXPORTED __thread void *elastic_apm_profiling_correlation_tls_v1;
EXPORTED void *elastic_apm_profiling_correlation_process_storage_v1;

#ifdef PADDING
EXPORTED __thread char requests_padding[PADDING];
#endif

static __thread struct said mine;
static __thread struct published_request *current;
static const char *hostile = "";

static char *put_text(char *to, const char *text)
{
	uint32_t bytes = (uint32_t)strlen(text);

	memcpy(to, &bytes, sizeof(bytes));
	memcpy(to + sizeof(bytes), text, bytes);
	return to + sizeof(bytes) + bytes;
}

static int publish(const char *service, const char *schema, const char *const *keys)
{
	static char storage[512] = { 1 };	/* the version, in the order of bytes that both architectures have */

	(void)schema;
	(void)keys;
	hostile = getenv("REQUESTS_HOSTILE") ? getenv("REQUESTS_HOSTILE") : "";
	put_text(put_text(put_text(storage + 2, service), "testing"), "/nowhere/to/listen");
	if (!strcmp(hostile, "storage"))
		memset(storage + 2, 0xff, 4);
	elastic_apm_profiling_correlation_process_storage_v1 = storage;
	return 0;
}

static void *change(void *arg)
{
	volatile struct said *said = arg;

	for (unsigned i = 0;; i++) {
		said->version = (uint16_t)(i >> 3);
		said->valid = (uint8_t)i;
		said->has_trace = i % 3;
		said->trace[i % 16] = (uint8_t)i;
	}
	return NULL;
}

static void *target(void)
{
	static pthread_t changer;

	if (!strcmp(hostile, "null"))
		return NULL;
	if (!strcmp(hostile, "nowhere"))
		return (void *)0xdead000;
	if (!strcmp(hostile, "kernel"))
		return (void *)0xffff888000000000ull;
	if (!strcmp(hostile, "version"))
		mine.version = 0;
	if (!strcmp(hostile, "present"))
		mine.has_trace = 2;
	if (!strcmp(hostile, "torn"))
		mine.valid = 0;
	if (!strcmp(hostile, "changing") && !changer)
		pthread_create(&changer, NULL, change, &mine);
	return &mine;
}

#define IN_ORDER atomic_signal_fence(memory_order_seq_cst)

static void set(struct published_request *record)
{
	mine.valid = 0;
	IN_ORDER;
	current = record;
	mine.version = 1 + !strcmp(hostile, "later");
	mine.has_trace = record != NULL;
	if (record) {
		memcpy(mine.trace, record->trace, sizeof(mine.trace));
		memcpy(mine.span, record->span, sizeof(mine.span));
		memcpy(mine.transaction, record->trace + 8, sizeof(mine.transaction));
	}
	IN_ORDER;
	mine.valid = 1;
	IN_ORDER;
	elastic_apm_profiling_correlation_tls_v1 = target();
	IN_ORDER;
}

static struct published_request *get(void)
{
	return current;
}

EXPORTED const struct requests_writer requests_writer = { publish, set, get };

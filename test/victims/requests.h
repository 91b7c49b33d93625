/* SPDX-License-Identifier: Apache-2.0 */
/* What requests.c and requests_writer.c share. */
#ifndef VICTIMS_REQUESTS_H
#define VICTIMS_REQUESTS_H

#include <stdint.h>

/* OTEP 4947: what otel_thread_ctx_v1 of a thread points to. */
struct published_request {
	uint8_t trace[16], span[8];
	uint8_t valid, pad;
	uint16_t bytes;		/* of attributes: a key's number, a length, the value */
	uint8_t attributes[612];
} __attribute__((packed));

struct requests_writer {
	int (*publish)(const char *service, const char *schema, const char *const *keys);
	void (*set)(struct published_request *record);
	struct published_request *(*get)(void);
};

extern const struct requests_writer requests_writer;

#endif

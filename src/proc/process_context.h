/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's process context (OTEP 4719): what a tracing library says
 * about the process that it is in, in memory that others can find.
 *
 *	a private mapping named OTEL_CTX:
 *		"OTEL_CTX"	8 bytes
 *		u32 version	2
 *		u32 bytes	of the payload
 *		u64 time	when it was published; 0: it is being changed
 *		u64 payload	an address
 *	payload: ProcessContext { 1: Resource { 1: KeyValue ... } 2: KeyValue ... } in protobuf
 *
 * All of it is the process's own to write. No state; the caller brings the way to read memory.
 */
#ifndef PROC_PROCESS_CONTEXT_H
#define PROC_PROCESS_CONTEXT_H

#include <stddef.h>

#include "base/str.h"
#include "base/types.h"

#define PROCESS_CONTEXT_BYTES_MAX 65536

/* Where it is, by the text of /proc/PID/maps; 0 if there is none. */
u64 process_context_find(const char *maps);

struct process_context_reader {
	int (*read)(void *arg, u64 va, void *to, size_t bytes);	/* 0, or -errno */
	void *arg;
};

/* When it was published, 0 if that cannot be told now. */
u64 process_context_time(const struct process_context_reader *reader, u64 va);

/* A copy of the payload, to be freed; its bytes and time. -EBADMSG: it is none; -EAGAIN: it changes; -ENOMEM. */
int process_context_read(const struct process_context_reader *reader, u64 va, void **ret_payload, u64 *ret_time);

/* Calls put() for each attribute of the resource that is a string. The number of them, or -EBADMSG. */
int process_context_decode(const void *payload, size_t bytes, void (*put)(void *arg, struct str key, struct str value),
			   void *arg);

/*
 * Does it say that threads tell for which requests they work (OTEP 4947)? Then keys gets the names of attributes, by
 * number, each ended by NUL, as far as there is room. 1, 0, or -EBADMSG.
 */
#define PROCESS_CONTEXT_KEYS_BYTES 2048
int process_context_threads(const void *payload, size_t bytes, char ret_keys[PROCESS_CONTEXT_KEYS_BYTES],
			    size_t *ret_keys_bytes);

#endif

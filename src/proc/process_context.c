// SPDX-License-Identifier: Apache-2.0
#include "proc/process_context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/proto_fields.h"
#include "base/utf8.h"

#define TRIES 3

struct header {
	char signature[8];
	u32 version, bytes;
	u64 time, payload_va;
};
_Static_assert(sizeof(struct header) == 32, "as the specification has it");

/* ---- In memory ----------------------------------------------------------------------------- */

/* "7f00-7f01 rw-p 0 0:1 12   /memfd:OTEL_CTX (deleted)": not executable, and by one of the names that it can have. */
static u64 start_of(struct str line)
{
	static const char *const names[] = { "/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX", "[anon:OTEL_CTX" };
	char text[128];
	unsigned long long start;
	char rights[5] = "";
	int name_at = 0;

	if (line.len >= sizeof(text))
		return 0;
	memcpy(text, line.at, line.len);
	text[line.len] = '\0';
	if (sscanf(text, "%llx-%*x %4s %*x %*s %*u %n", &start, rights, &name_at) != 2 || !name_at || rights[2] == 'x')
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(text + name_at, names[i], strlen(names[i])))
			return start;
	return 0;
}

u64 process_context_find(const char *maps)
{
	for (const char *at = maps; (at = strstr(at, "OTEL_CTX")); at++) {
		const char *line = at, *end = strchrnul(at, '\n');
		u64 start;

		while (line > maps && line[-1] != '\n')
			line--;
		start = start_of((struct str){ line, (u32)(end - line) });
		if (start)
			return start;
	}
	return 0;
}

u64 process_context_time(const struct process_context_reader *reader, u64 va)
{
	u64 time = 0;

	return reader->read(reader->arg, va + offsetof(struct header, time), &time, sizeof(time)) < 0 ? 0 : time;
}

static int read_once(const struct process_context_reader *reader, u64 va, void **ret_payload, u64 *ret_time)
{
	_cleanup_(freep) void *payload = NULL;
	struct header header;
	int r = reader->read(reader->arg, va, &header, sizeof(header));

	if (r < 0)
		return r;
	if (memcmp(header.signature, "OTEL_CTX", 8) || header.version != 2 || !header.bytes ||
	    header.bytes > PROCESS_CONTEXT_BYTES_MAX)
		return -EBADMSG;
	if (!header.time)
		return -EAGAIN;
	payload = malloc(header.bytes);
	if (!payload)
		return -ENOMEM;
	r = reader->read(reader->arg, header.payload_va, payload, header.bytes);
	if (r < 0)
		return r;
	if (process_context_time(reader, va) != header.time)
		return -EAGAIN;
	*ret_payload = TAKE(payload);
	*ret_time = header.time;
	return (int)header.bytes;
}

int process_context_read(const struct process_context_reader *reader, u64 va, void **ret_payload, u64 *ret_time)
{
	int r = -EAGAIN;

	for (int i = 0; i < TRIES && r == -EAGAIN; i++)
		r = read_once(reader, va, ret_payload, ret_time);
	return r;
}

/* ---- Protobuf ------------------------------------------------------------------------------ */

/* KeyValue { 1: key, 2: AnyValue { 1: string } } */
static bool decode_pair(struct cursor *pair, struct str *ret_key, struct str *ret_value)
{
	struct cursor field, value;
	u32 number, kind;

	*ret_key = *ret_value = (struct str){ "", 0 };
	while (proto_next(pair, &number, &field)) {
		if (number == 1)
			*ret_key = proto_text(&field);
		while (number == 2 && proto_next(&field, &kind, &value))
			if (kind == 1)
				*ret_value = proto_text(&value);
	}
	return !pair->bad && ret_key->len && ret_value->len;
}

int process_context_decode(const void *payload, size_t bytes, void (*put)(void *arg, struct str key, struct str value),
			   void *arg)
{
	struct cursor all = cursor_of(payload, bytes), resource, pair;
	u32 number, inner;
	int count = 0;

	while (proto_next(&all, &number, &resource)) {
		while (number == 1 && proto_next(&resource, &inner, &pair)) {
			struct str key, value;

			if (inner == 1 && decode_pair(&pair, &key, &value)) {
				put(arg, key, value);
				count++;
			}
		}
	}
	return all.bad ? -EBADMSG : count;
}

/* ---- What it says of threads ----------------------------------------------------------------- */

/* The record's layout is the same in all of them: its version is in the variable's name. */
static bool is_known_schema(struct str schema)
{
	return str_is(schema, "tlsdesc_v1_dev") || str_is(schema, "tlsdesc_v1") || str_is(schema, "tls_v1");
}

/* AnyValue { 5: ArrayValue { 1: AnyValue { 1: string } } } */
static size_t decode_keys(struct cursor value, char keys[PROCESS_CONTEXT_KEYS_BYTES])
{
	struct cursor list, item, text;
	u32 kind, number, inner;
	size_t at = 0;

	while (proto_next(&value, &kind, &list)) {
		while (kind == 5 && proto_next(&list, &number, &item)) {
			struct str key = { "", 0 };

			while (number == 1 && proto_next(&item, &inner, &text))
				if (inner == 1)
					key = proto_text(&text);
			if (number != 1 || PROCESS_CONTEXT_KEYS_BYTES - at < key.len + 1)
				return at;
			/* One that is no text keeps its number, but has no name. */
			if (!utf8_valid(key.at, key.len) || memchr(key.at, '\0', key.len))
				key.len = 0;
			memcpy(keys + at, key.at, key.len);
			keys[at + key.len] = '\0';
			at += key.len + 1;
		}
	}
	return at;
}

int process_context_threads(const void *payload, size_t bytes, char ret_keys[PROCESS_CONTEXT_KEYS_BYTES],
			    size_t *ret_keys_bytes)
{
	struct cursor all = cursor_of(payload, bytes), pair, field;
	bool is_known = false;
	u32 number, inner;

	*ret_keys_bytes = 0;
	while (proto_next(&all, &number, &pair)) {
		struct cursor again = pair, value = { 0 };
		struct str key = { "", 0 }, text;

		if (number != 2)
			continue;
		while (proto_next(&pair, &inner, &field)) {
			if (inner == 1)
				key = proto_text(&field);
			else if (inner == 2)
				value = field;
		}
		if (str_is(key, "threadlocal.attribute_key_map"))
			*ret_keys_bytes = decode_keys(value, ret_keys);
		else if (str_is(key, "threadlocal.schema_version") && decode_pair(&again, &key, &text))
			is_known = is_known_schema(text);
	}
	return all.bad ? -EBADMSG : is_known;
}

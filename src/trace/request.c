// SPDX-License-Identifier: Apache-2.0
#include "trace/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "base/hex.h"
#include "base/utf8.h"

/* The key with that number; empty if there is none. */
static struct str key_at(const char *keys, size_t bytes, u32 number)
{
	const char *end = keys + bytes;

	while (keys < end) {
		size_t len = strnlen(keys, (size_t)(end - keys));

		if (!number--)
			return (struct str){ keys, (u32)len };
		keys += len + 1;
	}
	return (struct str){ "", 0 };
}

static void put_label(struct request *request, struct str key, struct str value)
{
	u32 i = 0;

	if (!key.len || !utf8_valid(value.at, value.len) || memchr(value.at, '\0', value.len))
		return;
	while (i < request->label_count && !str_equal(request->labels[i].key, key))
		i++;
	if (i == REQUEST_LABELS_MAX)
		return;
	request->labels[i].key = key;
	request->labels[i].value = value;
	request->label_count += i == request->label_count;
}

/* Under the name that Elastic's schema has for it. */
static void put_transaction(struct request *request, const u8 id[APM_TRANSACTION_BYTES])
{
	hex_write(id, APM_TRANSACTION_BYTES, request->transaction);
	put_label(request, STR("transaction.id"), (struct str){ request->transaction, 2 * APM_TRANSACTION_BYTES });
}

void request_decode(const void *record, size_t bytes, const char *keys, size_t keys_bytes, struct request *ret_request)
{
	struct request_record head;
	const u8 *at = (const u8 *)record + sizeof(head), *end = (const u8 *)record + bytes;

	*ret_request = (struct request){ .has_trace = true, .has_span = true };
	memcpy(&head, record, sizeof(head));
	memcpy(ret_request->trace_id, head.trace_id, sizeof(head.trace_id));
	memcpy(ret_request->span_id, head.span_id, sizeof(head.span_id));
	if (head.layout == REQUEST_APM) {
		if (end - at >= APM_TRANSACTION_BYTES)
			put_transaction(ret_request, at);
		return;
	}
	for (; end - at >= 2 && end - at - 2 >= at[1]; at += 2 + at[1])
		put_label(ret_request, key_at(keys, keys_bytes, at[0]), (struct str){ (const char *)at + 2, at[1] });
}

bool request_is_from_obi(const void *record)
{
	struct request_record head;

	memcpy(&head, record, sizeof(head));
	return head.layout == REQUEST_OBI;
}

/* All of the text, and nothing but an id: not 0. */
static bool read_hex(const char *text, u8 *to, size_t bytes)
{
	u8 any = 0, id[16];

	if (strlen(text) != 2 * bytes || bytes > sizeof(id))
		return false;
	for (size_t i = 0; i < bytes; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		id[i] = (u8)(high << 4 | low);
		any |= id[i];
	}
	if (any)
		memcpy(to, id, bytes);
	return any;
}

static bool read_decimal(const char *text, u8 to[8])
{
	unsigned long long id;
	char *end;

	errno = 0;
	id = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || !id)
		return false;
	for (u32 i = 0; i < 8; i++)
		to[i] = (u8)(id >> (56 - 8 * i));
	return true;
}

bool request_take_label(struct request *request, const char *key, const char *value)
{
	bool is_span = true, found;

	if (!strcmp(key, "trace_id") || !strcmp(key, "trace id")) {
		is_span = false;
		found = read_hex(value, request->trace_id, sizeof(request->trace_id));
	} else if (!strcmp(key, "span_id") || !strcmp(key, "profile_id")) {
		found = read_hex(value, request->span_id, sizeof(request->span_id));
	} else {
		found = !strcmp(key, "span id") && read_decimal(value, request->span_id);
	}
	request->has_span |= found && is_span;
	request->has_trace |= found && !is_span;
	return found;
}

// SPDX-License-Identifier: Apache-2.0
#include "web/lists_json.h"

#include <string.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "pipeline/arrivals.h"

static void put_text(struct json_write *j, const char *key, const char *text)
{
	json_write_key(j, key);
	json_write_string(j, text, strlen(text));
}

static void put_number(struct json_write *j, const char *key, double value)
{
	json_write_key(j, key);
	json_write_double(j, value);
}

static void open_rows(struct json_write *j)
{
	json_write_key(j, "rows");
	json_write_open(j, '[');
}

static int close_rows(struct json_write *j)
{
	json_write_close(j, ']');
	json_write_close(j, '}');
	return buf_err(j->b);
}

/* ---- Traces ------------------------------------------------------------------------------ */

int traces_json(const struct store_traces *traces, struct buf *out)
{
	struct json_write j = { .b = out };

	json_write_open(&j, '{');
	put_number(&j, "left_out", (double)traces->left_out);
	open_rows(&j);
	for (u32 i = 0; i < traces->count; i++) {
		const struct store_trace *t = &traces->at[i];

		json_write_open(&j, '{');
		put_text(&j, "trace", t->trace);
		put_text(&j, "span", t->span);
		put_number(&j, "spans", t->spans);
		put_number(&j, "samples", (double)t->samples);
		put_number(&j, "value", (double)t->value);
		put_number(&j, "first", (double)t->first_ns / 1e9);
		put_number(&j, "last", (double)t->last_ns / 1e9);
		put_text(&j, "service", t->service);
		put_text(&j, "process", t->process);
		put_text(&j, "host", t->host);
		json_write_close(&j, '}');
	}
	return close_rows(&j);
}

/* ---- Arrivals ----------------------------------------------------------------------------- */

static void put_arrival(struct json_write *j, const struct arrival *a)
{
	static const char *const kinds[] = {
		[ARRIVAL_REQUEST] = "request", [ARRIVAL_WINDOW] = "window", [ARRIVAL_LOG] = "log"
	};
	static const char *const levels[LOG_LEVELS] = { "debug", "info", "warn", "error" };

	json_write_open(j, '{');
	put_number(j, "number", (double)a->number);
	put_number(j, "time", (double)a->time_ns / 1e9);
	put_text(j, "kind", kinds[a->kind]);
	put_text(j, "level", levels[a->level]);
	put_text(j, "component", a->component);
	put_text(j, "protocol", a->protocol);
	put_text(j, "peer", a->peer);
	put_text(j, "agent", a->agent);
	put_number(j, "bytes", (double)a->bytes);
	put_number(j, "samples", (double)a->samples);
	put_number(j, "resources", a->resources);
	put_text(j, "text", a->text);
	json_write_close(j, '}');
}

int arrivals_json(const struct arrival *arrivals, u32 count, u64 last, struct buf *out)
{
	struct json_write j = { .b = out };

	json_write_open(&j, '{');
	put_number(&j, "last", (double)(count ? arrivals[count - 1].number : last));
	open_rows(&j);
	for (u32 i = 0; i < count; i++)
		put_arrival(&j, &arrivals[i]);
	return close_rows(&j);
}

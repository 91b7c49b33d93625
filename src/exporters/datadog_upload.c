// SPDX-License-Identifier: Apache-2.0
#include "exporters/datadog_upload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "kinds/kind.h"
#include "profile/profile.h"
#include "wire/pprof/pprof.h"

#define ATTACHMENT "profile.pprof"
#define EVENT_BYTES_MAX (256u << 10)
#define PPROF_BYTES_MAX ((size_t)256 << 20)	/* before it is compressed */

#define ROOT_SPAN "datadog.local_root_span_id"	/* as Datadog's tracing libraries publish it */

static const struct pprof_name labels[] = {
	{ "thread.id", "thread id" },
	{ "thread.name", "thread name" },
	{ "process.pid", "process_id" },
	{ "process.executable.name", "process_name" },
	{ "container.id", "container_id" },
	{ "container.name", "container_name" },
	{ "k8s.container.name", "container_name" },
	{ "k8s.pod.name", "pod_name" },
	{ ROOT_SPAN, "local root span id" },
	{ "process.context.label.local root span id", "local root span id" },
	{ "http.route", "trace endpoint" },
	{ "process.context.label.trace endpoint", "trace endpoint" },
	{ NULL, NULL },
};

static const char *type_name(struct str type)
{
	const struct kind *kind = kind_of(type, STR(""));

	if (!kind)
		return NULL;
	return str_is(type, kind->sample.type) ? kind->datadog : kind->datadog_period;
}

static const struct pprof_dialect dialect = {
	.labels = labels,
	.text_only = true,
	.id_attribute = ROOT_SPAN,
	.span_label = "span id",
	.type_name = type_name,
	.default_type = "cpu-time",
};

void datadog_boundary(char ret_boundary[DATADOG_BOUNDARY_BYTES])
{
	u64 random[2] = { monotonic_ns(), clock_ns(CLOCK_REALTIME) };

	(void)!getrandom(random, sizeof(random), GRND_NONBLOCK);	/* else the clocks must do */
	(void)snprintf(ret_boundary, DATADOG_BOUNDARY_BYTES, "wick%016llx%016llx", (unsigned long long)random[0],
		       (unsigned long long)random[1]);
}

/* ---- The event ----------------------------------------------------------------------------- */

struct span {
	u64 start_ns, end_ns;
};

static void note_set(const struct profile_set *set, struct span *span)
{
	u64 end;

	if (!set->time_unix_ns)
		return;
	if (__builtin_add_overflow(set->time_unix_ns, set->duration_ns, &end))
		end = set->time_unix_ns;
	if (!span->start_ns || set->time_unix_ns < span->start_ns)
		span->start_ns = set->time_unix_ns;
	if (end > span->end_ns)
		span->end_ns = end;
}

static struct span span_of(const struct profile *p, u64 now_unix_ns)
{
	struct span span = { 0 };

	for (u32 r = 0; r < p->resources.count; r++)
		for (u32 s = 0; s < p->resources.at[r].scope_count; s++)
			for (u32 i = 0; i < p->resources.at[r].scopes[s].set_count; i++)
				note_set(&p->resources.at[r].scopes[s].sets[i], &span);
	return span.start_ns ? span : (struct span){ now_unix_ns, now_unix_ns };
}

static void put_time(struct json_write *j, const char *key, u64 unix_ns)
{
	time_t seconds = (time_t)(unix_ns / SECOND_NS);
	char text[64];
	struct tm tm;
	size_t len;

	(void)gmtime_r(&seconds, &tm);
	len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + len, sizeof(text) - len, ".%09lluZ", (unsigned long long)(unix_ns % SECOND_NS));
	json_write_key(j, key);
	json_write_text(j, text);
}

static void put_event(struct buf *out, const struct profile *profile, const struct datadog_upload *upload)
{
	struct span span = span_of(profile, upload->now_unix_ns);
	struct json_write j = { .b = out };

	json_write_open(&j, '{');
	json_write_key(&j, "attachments");
	json_write_open(&j, '[');
	json_write_text(&j, ATTACHMENT);
	json_write_close(&j, ']');
	json_write_key(&j, "tags_profiler");
	json_write_text(&j, upload->tags);
	put_time(&j, "start", span.start_ns);
	put_time(&j, "end", span.end_ns);
	json_write_key(&j, "family");
	json_write_text(&j, "ebpf");
	json_write_key(&j, "version");
	json_write_text(&j, "4");
	json_write_key(&j, "info");
	json_write_open(&j, '{');
	json_write_key(&j, "profiler");
	json_write_open(&j, '{');
	json_write_key(&j, "name");
	json_write_text(&j, "wick");
	json_write_key(&j, "version");
	json_write_text(&j, WICK_VERSION);
	json_write_close(&j, '}');
	json_write_close(&j, '}');
	json_write_close(&j, '}');
}

/* ---- The parts ----------------------------------------------------------------------------- */

static void open_part(struct buf *body, const char *boundary, const char *name, const char *file, const char *type)
{
	buf_addf(body, "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n"
		       "Content-Type: %s\r\n\r\n", boundary, name, file, type);
}

int datadog_upload_write(const struct profile *profile, const struct datadog_upload *upload, struct buf *body)
{
	_cleanup_(buf_done) struct buf pprof, event;
	int r;

	buf_init(&event, EVENT_BYTES_MAX);
	buf_init(&pprof, PPROF_BYTES_MAX);
	put_event(&event, profile, upload);
	r = buf_err(&event);
	if (r == 0)
		r = pprof_encode_as(profile, &dialect, &pprof);
	if (r < 0)
		return r;
	open_part(body, upload->boundary, "event", "event.json", "application/json");
	buf_add(body, event.data, event.len);
	buf_addf(body, "\r\n");
	open_part(body, upload->boundary, ATTACHMENT, ATTACHMENT, "application/octet-stream");
	if (upload->compression == COMPRESSION_NONE)
		buf_add(body, pprof.data, pprof.len);
	else
		r = compression_pack(upload->compression, pprof.data, pprof.len, body);
	buf_addf(body, "\r\n--%s--\r\n", upload->boundary);
	return r < 0 ? r : buf_err(body);
}

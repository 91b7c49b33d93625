// SPDX-License-Identifier: Apache-2.0
/* pprof as a file format, and what both directions share. */
#include "wire/pprof/pprof.h"

#include <string.h>

#include "wire/format.h"
#include "wire/pb.h"

const struct pprof_name pprof_names[] = {
	{ "process.pid", "pid" },
	{ "process.executable.name", "executable" },
	{ "cpu.logical_number", "cpu" },
	{ NULL, NULL },
};

const char *const pprof_flag_names[PPROF_MAPPING_FLAGS] = {
	"pprof.mapping.has_functions",
	"pprof.mapping.has_filenames",
	"pprof.mapping.has_line_numbers",
	"pprof.mapping.has_inline_frames",
};

bool pprof_is_resource(const char *attribute, size_t len)
{
	static const char *const prefixes[] = { "process.", "container.", "service.", "host.", "k8s.", "os.",
						"cloud.", "deployment.", "telemetry.", NULL };
	static const char context[] = "process.context.";	/* labels of a goroutine or thread */

	if (len >= sizeof(context) - 1 && !memcmp(attribute, context, sizeof(context) - 1))
		return false;
	for (size_t i = 0; prefixes[i]; i++)
		if (len > strlen(prefixes[i]) && !memcmp(attribute, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Messages and strings have the first numbers and 11, numbers the rest; comments (13) may be packed. */
static bool pprof_may_have(const struct pb_field *f)
{
	if (f->number <= 6 || f->number == 11)
		return f->wire == PB_LEN;
	return f->number <= 15 && (f->wire == PB_VARINT || (f->number == 13 && f->wire == PB_LEN));
}

/* See otlp_sniff(). Text of some letters could be fields of numbers, but not of messages. */
static bool pprof_sniff(const void *at, size_t bytes)
{
	struct pb r = pb_from(at, bytes), inner;
	struct pb_field f, g;
	bool any = false;

	while (pb_next(&r, &f)) {
		if (!pprof_may_have(&f))
			return false;
		inner = f.body;
		if (f.number == 1)
			while (pb_next(&inner, &g))
				if (g.wire != PB_VARINT)
					return false;
		any |= f.number <= 6;
	}
	return any;
}

const struct format_ops format_pprof = {
	.name = "pprof",
	.help = "Google's pprof, gzipped",
	.content_type = "application/octet-stream",
	.is_binary = true,
	.is_gzipped = true,
	.suffixes = (const char *const[]){ ".pb", ".pprof", NULL },
	.sniff = pprof_sniff,
	.decode = pprof_decode,
	.encode = pprof_encode,
};

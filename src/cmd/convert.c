// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/cleanup.h"
#include "cmd/command.h"
#include "cmd/files.h"
#include "profile/profile.h"
#include "wire/format.h"

struct convert_values {
	const char *from, *format;
};

static const struct option_entry convert_options[] = {
	{ "format", 'f', OPTION_TEXT, offsetof(struct convert_values, format), "FORMAT", NULL, 0, 0, NULL,
	  "write this format; without it the name of OUT decides" },
	{ "from", 0, OPTION_TEXT, offsetof(struct convert_values, from), "FORMAT", NULL, 0, 0, NULL,
	  "read this format, whatever the file looks like" },
	{ 0 },
};

static int convert_run(const void *values, int count, char **operands)
{
	const struct convert_values *v = values;
	const struct format_ops *format = files_output(&command_convert, operands[1], v->format, NULL);
	_cleanup_(profile_freep) struct profile *profile = NULL;
	int r;

	if (!format)
		return 1;
	r = files_read(&command_convert, operands[0], v->from, &profile);
	if (r)
		return r;
	return files_write(&command_convert, operands[1], format, profile);
}

const struct command command_convert = {
	.name = "convert",
	.help = "turn a profile into another format",
	.operands = "IN OUT",
	.operands_min = 2,
	.operands_max = 2,
	.about = "Reads a profile in any format and writes it in another. The contents of IN and the name of\n"
		 "OUT decide which: .otlp is OTLP protobuf, .json OTLP JSON, .pb.gz pprof, .folded one line for\n"
		 "each stack, .data perf.data. Written only: .svg and .html, which are flame graphs,\n"
		 ".speedscope.json, .firefox.json, .perfetto-trace; .pgo for go build -pgo, .afdo for clang\n"
		 "-fprofile-sample-use.\n"
		 "A further .gz or .zst packs it. A name of - is standard input or output.\n",
	.examples = "  wick convert out.pb.gz out.svg\n"
		    "  wick convert perf.data out.pb.gz\n"
		    "  perf script | stackcollapse-perf.pl | wick convert --from=folded - out.otlp\n"
		    "  wick convert out.otlp - --format=folded | sort -rnk2\n",
	.options = { .entries = convert_options },
	.values_bytes = sizeof(struct convert_values),
	.run = convert_run,
};

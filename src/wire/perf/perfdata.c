// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfdata.h"

#include "wire/format.h"
#include "wire/perf/perfdata_encode.h"
#include "wire/perf/perfread.h"

/* Without names, and without what stacks need to be unwound: commands read it with both (cmd/perf_file.h). */
static int perfdata_decode(const void *at, size_t bytes, struct profile **ret_profile)
{
	struct perfread_options options = { 0 };
	struct perfread_about about;

	return perfread(at, bytes, &options, &about, ret_profile);
}

const struct format_ops format_perfdata = {
	.name = "perfdata",
	.help = "perf.data, as perf record, perf report, perf script and their likes have it",
	.content_type = "application/octet-stream",
	.suffixes = (const char *const[]){ ".data", NULL },
	.is_binary = true,
	.sniff = perfread_is_perfdata,
	.decode = perfdata_decode,
	.encode = perfdata_encode,
};

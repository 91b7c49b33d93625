// SPDX-License-Identifier: Apache-2.0
#include "wire/perfdata.h"

#include "wire/format.h"
#include "wire/perfdata_encode.h"

const struct format_ops format_perfdata = {
	.name = "perfdata",
	.help = "perf.data, for perf report, perf script, perf annotate and their likes",
	.content_type = "application/octet-stream",
	.suffixes = (const char *const[]){ ".data", NULL },
	.is_binary = true,
	.encode = perfdata_encode,
};

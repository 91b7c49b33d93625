// SPDX-License-Identifier: Apache-2.0
#include "naming/debuginfod_options.h"

#include "base/buf.h"

const struct config_field debuginfod_fields[] = {
	{ "urls", CONFIG_TEXTS, FIELD(struct debuginfod_options, urls), .commas = true,
	  .help = "servers that are asked for debug files by build id; none: nobody is asked" },
	{ "cache_directory", CONFIG_TEXT, FIELD(struct debuginfod_options, cache_directory),
	  .help = "where what they sent is kept" },
	{ 0 },
};

int debuginfod_options_urls(const struct debuginfod_options *options, struct buf *out)
{
	buf_addf(out, "%s", "");
	for (u32 i = 0; i < options->urls.count; i++)
		buf_addf(out, "%s%s", i ? " " : "", options->urls.at[i]);
	return buf_err(out);
}

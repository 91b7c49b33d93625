// SPDX-License-Identifier: Apache-2.0
#include "exporters/late_names.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "exe/reader.h"
#include "naming/binary_finder.h"
#include "ottl/value.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "pipeline/ticker.h"
#include "proc/binary.h"
#include "store/late.h"
#include "store/uploads.h"
#include "symbol/symbolizer.h"

#define LINES_US 5000000	/* of the reader, for the names of source files */

/* What it takes to look into files; made when there is something to look for. */
struct tools {
	struct reader *reader;
	struct symbolizer *symbolizer;
	struct binary_finder *finder;
	u64 used_ns;
	u64 uploads;		/* of the store when they were made */
};

struct late_names {
	const struct component_setup *setup;
	const struct late_names_options *options;
	struct store *store;
	struct buf urls;
	struct finder_options finder_options;
	char uploads[4096];
	struct tools tools;

	struct ticker *ticker;
	atomic_bool ends;
	struct metric *named, *unnamed, *found, *missed;
};

/* ---- Tools ------------------------------------------------------------------------------- */

static void tools_done(struct tools *tools)
{
	symbolizer_free(tools->symbolizer);
	binary_finder_free(tools->finder);
	reader_free(tools->reader);
	*tools = (struct tools){ 0 };
}

static int get_tools(struct late_names *names)
{
	struct symbolizer_options options = { .inlines = true, .debuginfod_urls = names->urls.data,
					      .cache_path = names->options->debuginfod.cache_directory,
					      .lines_us = LINES_US };
	struct tools *tools = &names->tools;
	int r = 0;

	/* What the finder found, or did not find, may be out of date. */
	if (tools->uploads != store_uploads(names->store))
		tools_done(tools);
	tools->used_ns = monotonic_ns();
	if (tools->finder)
		return 0;
	tools->uploads = store_uploads(names->store);
	r = reader_start(0, &tools->reader);
	if (r == 0)
		r = symbolizer_new(&options, tools->reader, &tools->symbolizer);
	if (r == 0)
		r = binary_finder_new(&names->finder_options, tools->reader, &tools->finder);
	if (r < 0)
		tools_done(tools);
	return r;
}

/* ---- One executable ------------------------------------------------------------------------- */

/* An id of 16 bytes may be OpenTelemetry's hash of a file. */
static struct binary *find_binary(struct late_names *names, const struct store_unnamed *unnamed)
{
	struct finder_want want = { .name = { unnamed->path, (u32)strlen(unnamed->path) } };
	struct binary *binary;
	struct str id = { unnamed->build_id, (u32)strlen(unnamed->build_id) };

	if (!id.len || id.len > 2 * sizeof(want.build_id) || !hex_decode(id, (char *)want.build_id))
		return NULL;
	want.build_id_bytes = id.len / 2;
	binary = binary_finder_get(names->tools.finder, &want);
	if (binary || want.build_id_bytes != sizeof(want.htlhash))
		return binary;
	memcpy(want.htlhash, want.build_id, sizeof(want.htlhash));
	want.build_id_bytes = 0;
	want.has_htlhash = true;
	return binary_finder_get(names->tools.finder, &want);
}

/* What debuginfod sent has no directory in its path. */
static enum name_source source_of(const struct late_names *names, const struct binary *binary)
{
	size_t len = strlen(names->uploads);

	if (binary->path[0] != '/')
		return NAME_DEBUGINFOD;
	return len && !strncmp(binary->path, names->uploads, len) ? NAME_UPLOADED : NAME_LOCAL;
}

static int look_up(struct late_names *names, const struct store_unnamed *unnamed)
{
	struct binary *binary;
	int r = get_tools(names);

	if (r < 0)
		return r;
	binary_finder_begin(names->tools.finder);
	binary = find_binary(names, unnamed);
	metric_add(binary ? names->found : names->missed, 1);
	if (binary)
		r = late_name(names->store, names->tools.symbolizer, binary, unnamed, source_of(names, binary));
	if (r < 0)
		return r;
	metric_add(names->named, (u64)r);
	metric_add(names->unnamed, unnamed->count - (u64)r);
	return 0;
}

/* ---- A turn --------------------------------------------------------------------------------- */

static void take_turn(void *arg)
{
	struct late_names *names = arg;

	for (u32 i = 0; i < LATE_NAMES_EXES && !atomic_load(&names->ends); i++) {
		struct store_unnamed unnamed;
		int r = store_next_unnamed(names->store, monotonic_ns(), LATE_NAMES_RETRY_NS, &unnamed);

		if (r > 0) {
			r = look_up(names, &unnamed);
			store_unnamed_done(&unnamed);
			if (r == 0)
				continue;
		}
		if (r < 0)
			log_warn(names->setup->id, "names cannot be looked up: %s", strerror(-r));
		break;
	}
	if (names->tools.finder && monotonic_ns() - names->tools.used_ns > LATE_NAMES_IDLE_NS)
		tools_done(&names->tools);
}

/* ---- Life ------------------------------------------------------------------------------------------- */

static const char *const roots[] = { "/" };
static const char *const directories[] = { "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/usr/local",
					   "/opt" };
static const char *const debug_directories[] = { "/usr/lib/debug/.build-id" };

static void late_names_free(struct late_names *names)
{
	tools_done(&names->tools);
	buf_done(&names->urls);
	free(names);
}

static struct metric *counter(const struct component_setup *setup, const char *name, const char *help)
{
	const struct metric_label label = { "exporter", setup->id };

	return metrics_get(service_metrics(setup->service), METRIC_COUNTER, name, help, &label, 1);
}

static void make_counters(struct late_names *names)
{
	const struct component_setup *setup = names->setup;

	names->named = counter(setup, "wick_exporter_store_late_named", "Addresses that got a name late");
	names->unnamed = counter(setup, "wick_exporter_store_late_unnamed",
				 "Addresses that were looked for and got none");
	names->found = counter(setup, "wick_exporter_store_late_found_files", "Files that were found by build id");
	names->missed = counter(setup, "wick_exporter_store_late_missed_files", "Files that are nowhere");
}

/* Where the environment names servers and the configuration does not, as for the frames of this machine. */
static int set_urls(struct late_names *names)
{
	const char *standard = getenv("DEBUGINFOD_URLS");
	int r = debuginfod_options_urls(&names->options->debuginfod, &names->urls);

	if (r == 0 && !names->urls.len && standard)
		buf_addf(&names->urls, "%s", standard);
	names->finder_options.debuginfod_urls = names->urls.data;
	return buf_err(&names->urls);
}

static struct late_names *late_names_new(const struct component_setup *setup, const struct late_names_options *options,
					 struct store *store)
{
	struct late_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->setup = setup;
	names->options = options;
	names->store = store;
	buf_init(&names->urls, 65536);
	names->finder_options = (struct finder_options){
		.roots = { 1, roots },
		.directories = { sizeof(directories) / sizeof(directories[0]), directories },
		.debug_directories = { 1, debug_directories },
		.files_by_id = store_directory(store) ? uploads_path(store_directory(store), names->uploads) : NULL,
		.debuginfod_urls = "",
		.cache_path = options->debuginfod.cache_directory,
	};
	make_counters(names);
	return names;
}

int late_names_start(const struct component_setup *setup, const struct late_names_options *options, struct store *store,
		     struct late_names **ret_names, struct buf *why)
{
	struct late_names *names;
	int r;

	if (!options->enabled)
		return 0;
	names = late_names_new(setup, options, store);
	r = names ? set_urls(names) : -ENOMEM;
	if (r == 0)
		r = ticker_start(&(struct ticker_options){ .name = "wick: late", .delay_ns = options->interval_ns,
							    .interval_ns = options->interval_ns, .tick = take_turn,
							    .arg = names },
				  &names->ticker);
	if (r < 0) {
		buf_addf(why, "names cannot be looked up: %s", strerror(-r));
		if (names)
			late_names_free(names);
		return r;
	}
	*ret_names = names;
	return 0;
}

void late_names_once(const struct component_setup *setup, struct store *store)
{
	static const struct late_names_options options = LATE_NAMES_DEFAULTS;
	struct late_names *names = late_names_new(setup, &options, store);

	if (!names)
		return;
	take_turn(names);
	late_names_free(names);
}

void late_names_stop(struct late_names *names)
{
	if (!names)
		return;
	atomic_store(&names->ends, true);
	ticker_stop(names->ticker);
	late_names_free(names);
}

const struct config_field late_names_fields[] = {
	{ "enabled", CONFIG_BOOL, FIELD(struct late_names_options, enabled), .help = "look for them" },
	{ "interval", CONFIG_DURATION, FIELD(struct late_names_options, interval_ns), .min = 1e8, .max = 1e15,
	  .help = "how often" },
	{ "debuginfod", CONFIG_SECTION, FIELD(struct late_names_options, debuginfod), .fields = debuginfod_fields,
	  .help = "debug files over HTTP; without urls those of DEBUGINFOD_URLS are asked, if that is set" },
	{ 0 },
};

// SPDX-License-Identifier: Apache-2.0
#include "cmd/perf_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cmd/perf_names.h"
#include "cmd/perf_unwind.h"
#include "exe/reader.h"
#include "naming/binary_finder.h"
#include "profile/profile.h"
#include "symbol/symbolizer.h"
#include "wire/perf/perfread.h"

#define LINES_US 20000000
#define PATH_BYTES 4096

static const char *const roots[] = { "/" };

/* What names and callers come from. */
struct helpers {
	struct reader *reader;
	struct symbolizer *symbolizer;
	struct binary_finder *finder;
	struct finder_options finder_options;
	struct perf_unwind *unwind;
	char own_ids[PATH_BYTES], cache[PATH_BYTES];
	const char *debug_directories[2];
};

static void helpers_done(struct helpers *h)
{
	perf_unwind_free(h->unwind);
	symbolizer_free(h->symbolizer);
	binary_finder_free(h->finder);
	reader_free(h->reader);
}

/* perf's own cache of files is below ~/.debug. */
static void find_directories(struct helpers *h)
{
	const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME");

	h->debug_directories[0] = "/usr/lib/debug/.build-id";
	h->finder_options.debug_directories = (struct config_texts){ 1, h->debug_directories };
	if (home && snprintf(h->own_ids, sizeof(h->own_ids), "%s/.debug/.build-id", home) < PATH_BYTES) {
		h->debug_directories[1] = h->own_ids;
		h->finder_options.debug_directories.count = 2;
	}
	if (cache || home)
		snprintf(h->cache, sizeof(h->cache), "%s%s/wick/debuginfod", cache ? cache : home,
			 cache ? "" : "/.cache");
}

static int helpers_start(struct helpers *h)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct symbolizer_options names = { .inlines = true, .debuginfod_urls = urls, .lines_us = LINES_US };
	int r;

	find_directories(h);
	names.cache_path = h->cache[0] ? h->cache : NULL;
	h->finder_options.roots = (struct config_texts){ 1, roots };
	h->finder_options.keeps_programs = true;
	h->finder_options.debuginfod_urls = urls ? urls : "";
	h->finder_options.cache_path = names.cache_path;
	r = reader_start(0, &h->reader);
	if (r == 0)
		r = symbolizer_new(&names, h->reader, &h->symbolizer);
	if (r == 0)
		r = binary_finder_new(&h->finder_options, h->reader, &h->finder);
	h->unwind = r == 0 ? perf_unwind_new(h->reader) : NULL;
	return r == 0 && !h->unwind ? -ENOMEM : r;
}

/* ---- What is missing ------------------------------------------------------- */

static void note_losses(const struct perfread_about *a, struct buf *notes)
{
	static const struct {
		size_t at;
		const char *text;
	} counts[] = {
		{ offsetof(struct perfread_about, lost), "samples or events were lost: perf could not keep up" },
		{ offsetof(struct perfread_about, not_unwound),
		  "copied stacks could not be unwound: only their innermost frame is shown" },
		{ offsetof(struct perfread_about, not_understood), "samples make no sense and were left out" },
		{ offsetof(struct perfread_about, deferred), "stacks lack their user part: it was put elsewhere" },
		{ offsetof(struct perfread_about, mappings_left_out), "mappings were left out: there are too many" },
		{ offsetof(struct perfread_about, trace_bytes), "bytes of hardware traces were left out" },
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		u64 count = *(const u64 *)((const char *)a + counts[i].at);

		if (count)
			buf_addf(notes, "%llu %s\n", (unsigned long long)count, counts[i].text);
	}
	if (a->is_cut)
		buf_addf(notes, "the file is not whole: this is what could be read\n");
	if (a->times_left_out)
		buf_addf(notes, "too many samples to keep the time of each: the profile has sums only\n");
}

static void note_names(const struct perfread_about *a, const struct perf_names_stats *s, struct buf *notes)
{
	if (s->is_other_kernel && *a->release)
		buf_addf(notes, "kernel functions have no names: the file is of another kernel, %s, than the one that "
			 "runs here\n", a->release);
	else if (s->is_other_kernel)
		buf_addf(notes, "kernel functions have no names: the file does not say of which kernel it is\n");
	else if (*s->kernel_problem)
		buf_addf(notes, "%s\n", s->kernel_problem);
}

/* ---- All ------------------------------------------------------------------- */

int perf_file_read(const struct buf *bytes, u64 written_unix_ns, struct buf *notes, struct profile **ret_profile)
{
	struct perfread_options options = { .written_unix_ns = written_unix_ns, .unwind = perf_unwind_stack,
					    .arch = PERF_UNWIND_ARCH };
	_cleanup_(profile_freep) struct profile *profile = NULL;
	_cleanup_(helpers_done) struct helpers helpers = { 0 };
	struct perf_names_stats names = { .kernel_problem = "" };
	struct perfread_about about = { 0 };
	int r = helpers_start(&helpers);

	options.arg = helpers.unwind;
	if (r == 0)
		r = perfread(bytes->data, bytes->len, &options, &about, &profile);
	if (r == 0)
		r = perf_names_add(profile, &about, helpers.finder, helpers.symbolizer, &names);
	if (r < 0)
		return r;
	note_losses(&about, notes);
	note_names(&about, &names, notes);
	*ret_profile = TAKE(profile);
	return 0;
}

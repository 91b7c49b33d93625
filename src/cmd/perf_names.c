// SPDX-License-Identifier: Apache-2.0
#include "cmd/perf_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "lang/jit/code_table.h"
#include "lang/jit/perf_map.h"
#include "naming/frame_names.h"
#include "ottl/value.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "symbol/kallsyms.h"
#include "symbol/kernel_id.h"
#include "symbol/symbolizer.h"
#include "wire/perf/perfread.h"

#define FRAMES_MAX 131072u	/* that the symbolizer takes at once */
#define PERF_MAP_BYTES_MAX ((size_t)256 << 20)
#define KERNEL_MAPPING "[kernel.kallsyms]"

static bool has_type(const struct profile *p, const struct profile_location *l, struct str type)
{
	return str_equal(any_text(profile_attribute_find(p, l->attributes, "profile.frame.type")), type);
}

static bool is_unnamed_kernel(const struct profile *p, const struct profile_location *l)
{
	return !l->line_count && has_type(p, l, STR("kernel"));
}

/* ---- The kernel ------------------------------------------------------------ */

/* Where the running kernel begins. 0: the list is not for us. */
static u64 kernel_start(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512];
	u64 start = 0;

	while (file && !start && fgets(line, sizeof(line), file)) {
		struct kallsyms_line symbol;

		line[strcspn(line, "\n")] = '\0';
		if (kallsyms_parse(line, &symbol) && !strcmp(symbol.name, "_text"))
			start = symbol.va;
	}
	if (file)
		fclose(file);
	return start;
}

static bool is_here(const struct perfread_about *about)
{
	struct utsname uts;

	return uname(&uts) == 0 && !strcmp(about->host, uts.nodename);
}

/* A file that is cut does not say where it is from: it is most likely looked at where it was made, as perf takes it. */
bool perf_names_may_be_here(const struct perfread_about *about)
{
	return !*about->host || is_here(about);
}

/* By build id; without one, the same release on the same machine. */
static bool is_running_kernel(const struct profile *p, const struct profile_mapping *m,
			      const struct perfread_about *about)
{
	struct str hex = any_text(profile_attribute_find(p, m->attributes, "process.executable.build_id.gnu"));
	u8 here[BUILD_ID_MAX], there[BUILD_ID_MAX];
	int bytes = kernel_build_id("/sys", "vmlinux", here);
	struct utsname uts;

	if (hex.len && bytes > 0)
		return hex.len == 2 * (u32)bytes && hex_decode(hex, (char *)there) &&
		       !memcmp(here, there, (size_t)bytes);
	return is_here(about) && uname(&uts) == 0 && !strcmp(about->release, uts.release);
}

static const struct profile_mapping *find_kernel(const struct profile *p)
{
	for (u32 i = 1; i < p->mappings.count; i++)
		if (str_equal(p->strings.at[p->mappings.at[i].filename], STR(KERNEL_MAPPING)))
			return &p->mappings.at[i];
	return NULL;
}

/* Where an address of the recorded kernel is in the running one; 0: not known. */
struct kernel_place {
	u64 start_va, limit_va, shift;
};

static u64 place_of(const struct kernel_place *place, u64 va)
{
	if (!place->shift)
		return va;
	/* Modules may lie anywhere after a new start. */
	return va >= place->start_va && va < place->limit_va ? va + place->shift : 0;
}

static int name_kernel(struct profile *p, struct symbolizer *symbolizer, const struct kernel_place *place, u32 first)
{
	u32 left = p->locations.count - first, limit = first + (left < FRAMES_MAX ? left : FRAMES_MAX);
	int r;

	for (u32 i = first; i < limit; i++)
		if (is_unnamed_kernel(p, &p->locations.at[i]) && place_of(place, p->locations.at[i].address))
			symbolizer_want_kernel(symbolizer, place_of(place, p->locations.at[i].address));
	r = symbolizer_run(symbolizer);
	for (u32 i = first; i < limit && r == 0 && !profile_err(p); i++) {
		u64 va = place_of(place, p->locations.at[i].address);
		const struct symbol_name *name = NULL;

		if (va && is_unnamed_kernel(p, &p->locations.at[i]))
			name = symbolizer_find_kernel(symbolizer, va);
		if (name)
			(void)frame_names_set(p, i, name);	/* or it stays an address */
	}
	return r;
}

static int add_kernel(struct profile *p, const struct perfread_about *about, struct symbolizer *symbolizer,
		      struct perf_names_stats *stats)
{
	const struct profile_mapping *m = find_kernel(p);
	struct kernel_place place = { 0 };
	u64 start_va;
	bool needs_names = false;
	int r = 0;

	for (u32 i = 1; i < p->locations.count && !needs_names; i++)
		needs_names = is_unnamed_kernel(p, &p->locations.at[i]);
	if (!needs_names)
		return 0;
	stats->is_other_kernel = !is_running_kernel(p, m ? m : &p->mappings.at[0], about);
	if (stats->is_other_kernel)
		return 0;
	start_va = kernel_start();
	if (m && start_va)
		place = (struct kernel_place){ m->start_va, m->limit_va, start_va - m->start_va };
	for (u32 first = 1; first < p->locations.count && r == 0; first += FRAMES_MAX)
		r = name_kernel(p, symbolizer, &place, first);
	stats->kernel_problem = symbolizer_kernel_problem(symbolizer);
	return r;
}

/* ---- Generated code -------------------------------------------------------- */

/* Anybody can put a file there: only a plain one counts. */
static int read_perf_map(const char *path, struct buf *out)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	r = io_read_whole(fd, out);
	/* The part that fits has names, too. */
	return r == -E2BIG ? 0 : r;
}

static void name_from_table(struct profile *p, u32 filename, struct code_table *table)
{
	u32 count = p->locations.count;

	for (u32 i = 1; i < count && !profile_err(p); i++) {
		const struct profile_location *l = &p->locations.at[i];
		const struct code_piece *piece =
			l->mapping && p->mappings.at[l->mapping].filename == filename && !l->line_count ?
				code_table_find(table, l->address) : NULL;
		struct profile_line line = { 0 };

		if (!piece)
			continue;
		line.function = profile_add_function(p, &(struct profile_function){
			.name = profile_add_cstring(p, code_table_text(table, piece->name)) });
		profile_set_lines(p, i, &line, 1);
	}
}

static int add_perf_map(struct profile *p, u32 filename)
{
	struct str name = p->strings.at[filename];
	struct code_table table = { 0 };
	_cleanup_(buf_done) struct buf text;
	char path[64];
	unsigned int pid;
	int end = 0;

	buf_init(&text, PERF_MAP_BYTES_MAX);
	if (!name.len || name.len >= sizeof(path))
		return 0;
	snprintf(path, sizeof(path), "%.*s", (int)name.len, name.at);
	if (sscanf(path, "/tmp/perf-%u.map%n", &pid, &end) != 1 || !end || path[end])
		return 0;
	if (read_perf_map(path, &text) < 0 || !text.len)
		return 0;
	(void)perf_map_parse(&table, text.data, text.len);	/* its last line may not be whole */
	name_from_table(p, filename, &table);
	code_table_done(&table);
	return profile_err(p);
}

/* Each file once, however many mappings a profile has of it. */
static int add_perf_maps(struct profile *p)
{
	_cleanup_(freep) bool *seen = calloc(p->strings.count, sizeof(*seen));
	int r = seen ? 0 : -ENOMEM;

	for (u32 i = 1; i < p->mappings.count && r == 0; i++) {
		u32 filename = p->mappings.at[i].filename;

		if (!seen[filename])
			r = add_perf_map(p, filename);
		seen[filename] = true;
	}
	return r;
}

/* ---- All ------------------------------------------------------------------- */

static int add_native(struct profile *p, bool trusts_paths, struct binary_finder *finder, struct symbolizer *symbolizer)
{
	struct frame_names_options options = { .max = FRAMES_MAX, .trusts_paths = trusts_paths };
	struct frame_names_stats stats = { 0 };
	int r = 0;

	for (u32 first = 1; first < p->locations.count && r == 0; first += FRAMES_MAX) {
		options.first = first;
		options.limit = first + FRAMES_MAX;
		r = frame_names_add(p, finder, symbolizer, &options, &stats);
	}
	return r;
}

int perf_names_add(struct profile *profile, const struct perfread_about *about, struct binary_finder *finder,
		   struct symbolizer *symbolizer, struct perf_names_stats *ret_stats)
{
	struct perf_names_stats stats = { .kernel_problem = "" };
	int r = add_native(profile, perf_names_may_be_here(about), finder, symbolizer);

	if (r == 0)
		r = add_kernel(profile, about, symbolizer, &stats);
	if (r == 0 && perf_names_may_be_here(about))
		r = add_perf_maps(profile);
	if (r < 0)
		return r;
	*ret_stats = stats;
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfdata_features.h"

#include <linux/perf_event.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/interner.h"
#include "base/str.h"
#include "profile/any.h"

#define FEATURES_BYTES_MAX ((size_t)256 << 20)
#define TEXT_MULTIPLE 64u
#define KERNEL_MAP "[kernel"

static void put_u32(struct buf *out, u32 value)
{
	buf_add(out, &value, sizeof(value));
}

static void put_u64(struct buf *out, u64 value)
{
	buf_add(out, &value, sizeof(value));
}

static void put_zeros(struct buf *out, size_t bytes)
{
	static const char zeros[TEXT_MULTIPLE];

	buf_add(out, zeros, bytes);
}

static void put_text(struct buf *out, struct str text)
{
	u32 bytes = (text.len / TEXT_MULTIPLE + 1) * TEXT_MULTIPLE;

	put_u32(out, bytes);
	if (text.len)
		buf_add(out, text.at, text.len);
	put_zeros(out, bytes - text.len);
}

static struct str text_of(const char *text)
{
	return text ? (struct str){ text, (u32)strlen(text) } : (struct str){ 0 };
}

/* ---- The machine ----------------------------------------------------------------------- */

/* What the first resource that has the attribute says. */
static struct str resource_text(const struct perfdata_facts *f, const char *key)
{
	for (u32 i = 0; i < f->profile->resources.count; i++) {
		const struct profile_resource *r = &f->profile->resources.at[i];
		struct str text = any_text(keyvalue_find(r->attributes, r->attribute_count, key));

		if (text.len)
			return text;
	}
	return (struct str){ 0 };
}

static void put_known(struct buf *out, struct str text)
{
	if (text.len)
		put_text(out, text);
}

static void put_hostname(const struct perfdata_facts *f, struct buf *out)
{
	struct str name = resource_text(f, "host.name");

	put_known(out, name.len || !f->host ? name : text_of(f->host->name));
}

static void put_osrelease(const struct perfdata_facts *f, struct buf *out)
{
	put_known(out, f->host ? text_of(f->host->release) : (struct str){ 0 });
}

static void put_version(const struct perfdata_facts *f, struct buf *out)
{
	put_text(out, STR("wick " WICK_VERSION));
}

static void put_arch(const struct perfdata_facts *f, struct buf *out)
{
	struct str arch = resource_text(f, "host.arch");

	if (str_equal(arch, STR("amd64")))
		arch = STR("x86_64");
	else if (str_equal(arch, STR("arm64")))
		arch = STR("aarch64");
	put_known(out, arch.len || !f->host ? arch : text_of(f->host->machine));
}

static void put_nrcpus(const struct perfdata_facts *f, struct buf *out)
{
	u32 present = f->host ? f->host->cpus_present : 0, online = f->host ? f->host->cpus_online : 0;

	/* perf refuses to look at CPUs past them. */
	if (present < f->cpu_count)
		present = f->cpu_count;
	if (!present)
		return;
	put_u32(out, present);
	put_u32(out, online ? online : present);
}

static void put_cmdline(const struct perfdata_facts *f, struct buf *out)
{
	u32 count = 0;

	while (f->host && f->host->command && f->host->command[count])
		count++;
	if (!count)
		return;
	put_u32(out, count);
	for (u32 i = 0; i < count; i++)
		put_text(out, text_of(f->host->command[i]));
}

/* ---- The file -------------------------------------------------------------------------- */

static void put_build_id(const struct perfdata_facts *f, u32 mapping, struct interner *seen, struct buf *out)
{
	const struct perfdata_map *map = &f->maps->at[mapping];
	struct str name = f->profile->strings.at[f->profile->mappings.at[mapping].filename];
	bool is_kernel = str_starts(name, KERNEL_MAP), is_new;
	u32 name_bytes = (name.len / TEXT_MULTIPLE + 1) * TEXT_MULTIPLE;
	struct perfdata_build_id entry = {
		.misc = PERFDATA_MISC_BUILD_ID_SIZE | (is_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER),
		.bytes = (u16)(sizeof(entry) + name_bytes),
		.pid = -1,
		.id_bytes = map->build_id_bytes,
	};

	if (!map->is_used || !map->build_id_bytes || !name.len || name_bytes > PERFDATA_RECORD_MAX - sizeof(entry))
		return;
	memcpy(entry.id, map->build_id, map->build_id_bytes);
	/* Segments of one file are mappings of their own. */
	if (interner_add(seen, name.at, name.len, &is_new) == INTERNER_NONE || !is_new)
		return;
	buf_add(out, &entry, sizeof(entry));
	buf_add(out, name.at, name.len);
	put_zeros(out, name_bytes - name.len);
}

static void put_build_ids(const struct perfdata_facts *f, struct buf *out)
{
	struct interner seen;
	struct arena arena;

	arena_init(&arena, FEATURES_BYTES_MAX);
	interner_init(&seen, &arena, PROFILE_TABLE_MAX);
	for (u32 i = 1; i < f->profile->mappings.count; i++)
		put_build_id(f, i, &seen, out);
	interner_done(&seen);
	arena_done(&arena);
}

static void put_event_desc(const struct perfdata_facts *f, struct buf *out)
{
	put_u32(out, f->event_count);
	put_u32(out, PERFDATA_ATTR_BYTES);
	for (u32 i = 0; i < f->event_count; i++) {
		buf_add(out, f->events[i].attr, PERFDATA_ATTR_BYTES);
		put_u32(out, 1);
		put_text(out, text_of(f->events[i].name));
		put_u64(out, f->events[i].id);
	}
}

static void put_sample_time(const struct perfdata_facts *f, struct buf *out)
{
	if (!f->last_ns)
		return;
	put_u64(out, f->first_ns);
	put_u64(out, f->last_ns);
}

/* Times are those of the wall clock. */
static void put_clock_data(const struct perfdata_facts *f, struct buf *out)
{
	struct perfdata_clock_data clock = { .version = 1, .clock = CLOCK_REALTIME, .wall_ns = f->first_ns,
					     .clock_ns = f->first_ns };

	if (f->last_ns)
		buf_add(out, &clock, sizeof(clock));
}

/* ---- All of them ------------------------------------------------------------------------ */

/* In ascending order; one that puts nothing is not there. */
static const struct {
	enum perfdata_feature feature;
	void (*put)(const struct perfdata_facts *facts, struct buf *out);
} features[] = {
	{ PERFDATA_BUILD_ID, put_build_ids },
	{ PERFDATA_HOSTNAME, put_hostname },
	{ PERFDATA_OSRELEASE, put_osrelease },
	{ PERFDATA_VERSION, put_version },
	{ PERFDATA_ARCH, put_arch },
	{ PERFDATA_NRCPUS, put_nrcpus },
	{ PERFDATA_CMDLINE, put_cmdline },
	{ PERFDATA_EVENT_DESC, put_event_desc },
	{ PERFDATA_SAMPLE_TIME, put_sample_time },
	{ PERFDATA_CLOCK_DATA, put_clock_data },
};
#define FEATURE_COUNT (sizeof(features) / sizeof(features[0]))

void perfdata_features_put(const struct perfdata_facts *facts, struct buf *out, u64 ret_bits[4])
{
	struct perfdata_section sections[FEATURE_COUNT];
	_cleanup_(buf_done) struct buf contents;
	u32 count = 0;

	buf_init(&contents, FEATURES_BYTES_MAX);
	memset(ret_bits, 0, 4 * sizeof(*ret_bits));
	for (u32 i = 0; i < FEATURE_COUNT; i++) {
		size_t start = contents.len;

		features[i].put(facts, &contents);
		if (contents.len == start)
			continue;
		sections[count++] = (struct perfdata_section){ start, contents.len - start };
		ret_bits[features[i].feature / 64] |= 1ull << features[i].feature % 64;
	}
	for (u32 i = 0; i < count; i++) {
		sections[i].offset += facts->before + out->len + (count - i) * sizeof(sections[0]);
		buf_add(out, &sections[i], sizeof(sections[i]));
	}
	buf_add(out, contents.data, contents.len);
	if (buf_err(&contents) && !out->err)
		out->err = buf_err(&contents);
}

// SPDX-License-Identifier: Apache-2.0
/* perf.data as a file: whole and cut, packed, of other machines; its clocks. */
#include "wire/perf/perfread_file.h"

#include <errno.h>
#include <time.h>
#include <zstd.h>

#include "forge_perf.h"
#include "wire/format.h"

/* ---- Files ----------------------------------------------------------------- */

static void put_feature_text(struct buf *b, const char *text)
{
	put(b, 64, 4);
	buf_add(b, text, strlen(text));
	for (size_t i = strlen(text); i < 64; i++)
		put(b, 0, 1);
}

/* A file as perf writes it at its end: one event, one mapping, one sample, a host's name and a build id. */
static struct buf new_whole(u32 attr_bytes)
{
	struct buf b = new_buf(), records = new_buf(), host = new_buf(), ids = new_buf();
	u64 data = 104 + attr_bytes + 16 + 8, sections;

	add_comm(&records, 10, 10, "prog", false, 0);
	add_mmap(&records, 10, 0x400000, 0x2000, 0, PROGRAM, 0);
	add_sample(&records, 10, 100, CHAIN(PERF_CONTEXT_USER, 0x400010));
	put_feature_text(&host, "lab");
	put_header(&ids, 0, PERFDATA_MISC_BUILD_ID_SIZE, 28 + 16);
	put(&ids, ~0ull, 4);
	for (u64 i = 1; i <= 20; i++)
		put(&ids, i, 1);
	put(&ids, 20, 4);
	put_text(&ids, PROGRAM);
	put(&b, PERFDATA_MAGIC, 8);
	put(&b, 104, 8);
	put(&b, attr_bytes + 16, 8);
	put(&b, 104, 8);
	put(&b, attr_bytes + 16, 8);
	put(&b, data, 8);
	put(&b, records.len, 8);
	put(&b, 0, 8);
	put(&b, 0, 8);
	put(&b, 1 << PERFDATA_BUILD_ID | 1 << PERFDATA_HOSTNAME, 8);
	for (int i = 0; i < 3; i++)
		put(&b, 0, 8);
	put_attr(&b, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, USUAL, SAMPLE_ID_ALL);
	for (u32 i = 128; i < attr_bytes; i++)
		put(&b, 0, 1);
	put(&b, data - 8, 8);
	put(&b, 8, 8);
	put(&b, CPU_CLOCK_ID, 8);
	buf_add(&b, records.data, records.len);
	sections = b.len + 32;
	put(&b, sections, 8);
	put(&b, ids.len, 8);
	put(&b, sections + ids.len, 8);
	put(&b, host.len, 8);
	buf_add(&b, ids.data, ids.len);
	buf_add(&b, host.data, host.len);
	buf_done(&records);
	buf_done(&host);
	buf_done(&ids);
	return b;
}

TEST(perfread_reads_attributes_of_older_and_newer_perfs)
{
	for (u32 bytes = 128; bytes <= 144; bytes += 8) {
		struct buf b = new_whole(bytes);
		struct profile *p = read_file(&b);
		const struct profile_location *l = frame_of(p, &set_of(p, 0, 0)->samples[0], 0);

		STREQ(about.host, "lab");
		OK(!about.is_cut);
		OK(str_equal(any_text(profile_attribute_find(p, p->mappings.at[l->mapping].attributes,
							     "process.executable.build_id.gnu")),
			     STR("0102030405060708090a0b0c0d0e0f1011121314")));
		profile_free(p);
	}
}

TEST(perfread_takes_what_a_cut_file_has)
{
	struct buf whole = new_whole(128);

	for (size_t bytes = 0; bytes < whole.len; bytes++) {
		char *copy = malloc(bytes ? bytes : 1);
		struct profile *p = NULL;
		int r;

		memcpy(copy, whole.data, bytes);
		r = perfread(copy, bytes, &(struct perfread_options){ 0 }, &about, &p);
		EQ(r, bytes < 16 ? -EBADMSG : 0);
		OK(r < 0 || profile_check(p) == 0);
		OK(r < 0 || about.is_cut);
		profile_free(p);
		free(copy);
	}
	buf_done(&whole);
}

TEST(perfread_reads_on_where_perf_was_killed)
{
	struct buf b = new_whole(128);
	struct profile *p;
	u64 none = 0;

	memcpy(b.data + 48, &none, sizeof(none));
	p = read_file(&b);
	EQ(about.samples, 1);
	OK(about.is_cut);
	profile_free(p);
}

TEST(perfread_refuses_other_orders_of_bytes)
{
	struct profile *p = NULL;
	char swapped[104] = "2ELIFREP", old[104] = "PERFFILE", else_[104] = "PERFILE3";

	EQ(perfread(swapped, sizeof(swapped), &(struct perfread_options){ 0 }, &about, &p), -EPROTONOSUPPORT);
	EQ(perfread(old, sizeof(old), &(struct perfread_options){ 0 }, &about, &p), -EPROTONOSUPPORT);
	EQ(perfread(else_, sizeof(else_), &(struct perfread_options){ 0 }, &about, &p), -EBADMSG);
}

TEST(perfread_unpacks_records_that_go_on_in_the_next)
{
	struct buf b = new_pipe(), records = new_buf();
	ZSTD_CStream *zstd = ZSTD_createCStream();
	struct profile *p;
	char packed[4096];

	add_comm(&records, 10, 10, "packed", false, 0);
	add_sample(&records, 10, 100, CHAIN(PERF_CONTEXT_USER, 0x400010));
	for (size_t at = 0; at < records.len; at += 20) {
		size_t left = records.len - at;
		ZSTD_inBuffer in = { records.data + at, left < 20 ? left : 20, 0 };
		ZSTD_outBuffer out = { packed, sizeof(packed), 0 };

		ZSTD_compressStream(zstd, &out, &in);
		ZSTD_flushStream(zstd, &out);
		put_header(&b, PERFDATA_RECORD_COMPRESSED, 0, out.pos);
		buf_add(&b, packed, out.pos);
	}
	ZSTD_freeCStream(zstd);
	buf_done(&records);
	p = read_file(&b);
	EQ(about.samples, 1);
	OK(!about.is_cut);
	STREQ(name_of(p, 0), "packed");
	profile_free(p);
}

TEST(perfread_counts_what_perf_lost_and_passes_over_traces)
{
	struct buf b = new_pipe(), body = new_buf(), aux = new_buf();
	struct profile *p;

	put(&body, CPU_CLOCK_ID, 8);
	put(&body, 41, 8);
	put_trailer(&body, 10, 50);
	add_record(&b, PERF_RECORD_LOST, 0, &body);
	put(&aux, 24, 8);
	for (int i = 0; i < 4; i++)
		put(&aux, 0, 8);
	add_record(&b, PERFDATA_RECORD_AUXTRACE, 0, &aux);
	for (int i = 0; i < 3; i++)
		put(&b, 0x0008000000000009, 8);
	add_sample(&b, 10, 100, CHAIN(PERF_CONTEXT_USER, 0x400010));
	p = read_file(&b);
	EQ(about.lost, 41);
	EQ(about.trace_bytes, 24);
	EQ(about.samples, 1);
	EQ(about.not_understood, 0);
	profile_free(p);
}

/* ---- Clocks ---------------------------------------------------------------- */

TEST(perfread_dates_samples_by_the_clock_that_the_file_tells_of)
{
	struct buf b = new_pipe(), body = new_buf();
	struct profile *p;

	put(&body, PERFDATA_CLOCK_DATA, 8);
	put(&body, 1, 4);
	put(&body, CLOCK_MONOTONIC, 4);
	put(&body, 1000000, 8);
	put(&body, 50, 8);
	add_record(&b, PERFDATA_RECORD_FEATURE, 0, &body);
	add_sample(&b, 10, 100, CHAIN(PERF_CONTEXT_USER, 0x400010));
	p = read_with(&b, &(struct perfread_options){ .written_unix_ns = 77 });
	OK(about.has_wall_clock);
	EQ(set_of(p, 0, 0)->samples[0].times_unix_ns[0], 1000050);
	profile_free(p);
}

TEST(perfread_dates_samples_by_the_file_if_it_tells_of_none)
{
	struct buf b = new_pipe();
	struct profile *p;

	add_sample(&b, 10, 100, CHAIN(PERF_CONTEXT_USER, 0x400010));
	add_sample(&b, 10, 300, CHAIN(PERF_CONTEXT_USER, 0x400010));
	p = read_with(&b, &(struct perfread_options){ .written_unix_ns = 1000000 });
	OK(!about.has_wall_clock);
	EQ(set_of(p, 0, 0)->samples[0].times_unix_ns[0], 999800);
	EQ(set_of(p, 0, 0)->time_unix_ns, 999800);
	profile_free(p);
}

/* ---- Memory ---------------------------------------------------------------- */

TEST(perfread_survives_lack_of_memory)
{
	struct buf b = new_whole(128);
	struct profile *p = NULL;
	int r = -ENOMEM;

	for (long i = 0; r < 0; i++) {
		test_alloc_fail(i);
		r = perfread(b.data, b.len, &(struct perfread_options){ 0 }, &about, &p);
		(void)test_alloc_reset();
		OK(r == 0 || r == -ENOMEM);
	}
	EQ(about.samples, 1);
	profile_free(p);
	buf_done(&b);
}

TEST(formats_know_perf_data_by_its_first_bytes)
{
	struct buf b = new_whole(128);

	STREQ(format_by_content(b.data, b.len)->name, "perfdata");
	STREQ(format_by_path("perf.data")->name, "perfdata");
	buf_done(&b);
}

// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfdata_encode.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#include "base/cursor.h"
#include "base/hex.h"
#include "exe/elf.h"
#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/views/folded.h"
#include "wire/format.h"
#include "wire/perf/perfdata.h"
#include "wire/perf/perfdata_maps.h"
#include "wire/pprof/pprof.h"

#define BYTES_MAX ((size_t)64 << 20)
#define SYMBOLS_MAX 4096
#define SYMBOLS_START 0xffffe00000000000ull

/* ---- Reading it back: a line of text for each record ------------------------------------- */

struct listing {
	struct buf text;
	const char *symbols[SYMBOLS_MAX];
	bool has_cpu;
	u32 longest;
};

static void list_frame(struct listing *l, u64 context, u64 address)
{
	u64 number = (address - SYMBOLS_START) / 16;

	if (context == (u64)PERF_CONTEXT_USER) {
		buf_addf(&l->text, " 0x%llx", (unsigned long long)address);
		return;
	}
	OK(number < SYMBOLS_MAX && l->symbols[number]);
	buf_addf(&l->text, " %s", l->symbols[number]);
}

static void list_sample(struct listing *l, struct cursor c, u16 misc)
{
	u64 id = cursor_uint(&c, 8), ip = cursor_uint(&c, 8), pid = cursor_uint(&c, 4), tid = cursor_uint(&c, 4);
	u64 time_ns = cursor_uint(&c, 8), cpu = l->has_cpu ? cursor_uint(&c, 8) : 0, period = cursor_uint(&c, 8);
	u64 count = cursor_uint(&c, 8), context = 0, seen = 0;

	buf_addf(&l->text, "sample %llu %llu/%llu cpu %d at %llu weighs %llu:", (unsigned long long)id,
		 (unsigned long long)pid, (unsigned long long)tid, (int)cpu, (unsigned long long)time_ns,
		 (unsigned long long)period);
	for (u64 i = 0; i < count; i++) {
		u64 entry = cursor_uint(&c, 8);

		if (entry >= (u64)-4095) {
			OK(entry != context);
			context = entry;
			continue;
		}
		/* Unless something is inlined there. */
		if (!seen++ && context == (u64)PERF_CONTEXT_USER)
			EQ(ip, entry);
		list_frame(l, context, entry);
	}
	OK(misc == (ip < 1ull << 63 ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL));
	EQ(c.bad, false);
	EQ(cursor_left(&c), 0);
	buf_addf(&l->text, "\n");
}

static void list_map(struct listing *l, struct cursor c)
{
	u64 pid = cursor_uint(&c, 4), tid = cursor_uint(&c, 4), start = cursor_uint(&c, 8), bytes = cursor_uint(&c, 8);
	u64 offset = cursor_uint(&c, 8), id_bytes = cursor_uint(&c, 4);
	const u8 *id = cursor_skip(&c, PERFDATA_BUILD_ID_MAX);

	EQ(tid, pid);
	(void)cursor_skip(&c, 8);
	buf_addf(&l->text, "map %llu 0x%llx +0x%llx @0x%llx id %02x.. of %llu %s\n", (unsigned long long)pid,
		 (unsigned long long)start, (unsigned long long)bytes, (unsigned long long)offset, id[0],
		 (unsigned long long)id_bytes, cursor_string(&c));
	EQ(c.bad, false);
}

static void list_symbol(struct listing *l, struct cursor c)
{
	u64 number = (cursor_uint(&c, 8) - SYMBOLS_START) / 16;

	EQ(cursor_uint(&c, 4), 16);
	(void)cursor_skip(&c, 4);
	OK(number < SYMBOLS_MAX && !l->symbols[number]);
	l->symbols[number] = cursor_string(&c);
	buf_addf(&l->text, "symbol %.60s\n", l->symbols[number]);
}

static void list_comm(struct listing *l, struct cursor c)
{
	u64 pid = cursor_uint(&c, 4), tid = cursor_uint(&c, 4), time_ns;
	const char *name = cursor_string(&c);

	c.at = c.end - (l->has_cpu ? 24 : 16);
	time_ns = cursor_uint(&c, 8);
	buf_addf(&l->text, "comm %llu/%llu %s at %llu\n", (unsigned long long)pid, (unsigned long long)tid, name,
		 (unsigned long long)time_ns);
}

static void list_record(struct listing *l, const struct perf_event_header *header)
{
	struct cursor body = cursor_of(header + 1, header->size - sizeof(*header));

	EQ(header->size % 8, 0);
	if (header->size > l->longest)
		l->longest = header->size;
	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		list_sample(l, body, header->misc);
		break;
	case PERF_RECORD_MMAP2:
		OK(header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID);
		list_map(l, body);
		break;
	case PERF_RECORD_KSYMBOL:
		list_symbol(l, body);
		break;
	case PERF_RECORD_COMM:
		list_comm(l, body);
		break;
	default:
		EQ(header->type, PERFDATA_RECORD_FINISHED_ROUND);
	}
}

/* Features lie behind the data, one after the other, in ascending order. */
static void check_features(const struct buf *b, const struct perfdata_header *header)
{
	u64 at = header->data.offset + header->data.bytes, next = at;
	u32 count = 0;

	for (u32 i = 0; i < PERFDATA_FEATURES; i++)
		count += header->features[i / 64] >> i % 64 & 1;
	next += count * sizeof(struct perfdata_section);
	for (u32 i = 0; i < count; i++) {
		struct perfdata_section section;

		memcpy(&section, b->data + at + i * sizeof(section), sizeof(section));
		EQ(section.offset, next);
		next += section.bytes;
	}
	EQ(next, b->len);
}

static void listing_done(struct listing *l)
{
	buf_done(&l->text);
}

static void list(const struct buf *b, struct listing *ret_listing)
{
	struct perfdata_header header;
	struct perf_event_attr attr = { 0 };
	u64 at;

	*ret_listing = (struct listing){ 0 };
	buf_init(&ret_listing->text, BYTES_MAX);
	memcpy(&header, b->data, sizeof(header));
	EQ(header.magic, PERFDATA_MAGIC);
	EQ(header.attr_bytes, 144);
	if (header.attrs.bytes)
		memcpy(&attr, b->data + header.attrs.offset, 128);
	ret_listing->has_cpu = attr.sample_type & PERF_SAMPLE_CPU;
	for (at = header.data.offset; at < header.data.offset + header.data.bytes;) {
		const struct perf_event_header *record = (const void *)(b->data + at);

		OK(record->size >= 8 && record->size <= header.data.offset + header.data.bytes - at);
		list_record(ret_listing, record);
		at += record->size;
	}
	EQ(at, header.data.offset + header.data.bytes);
	check_features(b, &header);
	buf_addf(&ret_listing->text, "%s", "");
	EQ(buf_err(&ret_listing->text), 0);
}

static void write_and_list(const struct profile *p, const struct perfdata_options *options, struct listing *ret_listing,
			   struct perfdata_stats *ret_stats)
{
	struct buf *b = test_keep(malloc(sizeof(*b)));

	buf_init(b, BYTES_MAX);
	EQ(perfdata_write(p, options, b, ret_stats), 0);
	test_keep(b->data);
	list(b, ret_listing);
}

/* ---- Making profiles ---------------------------------------------------------------------- */

static struct profile_set *add_set(struct profile *p, struct profile_scope *scope, const char *type, const char *unit)
{
	struct profile_set *set = profile_add_set(p, scope);

	set->sample_type = (struct profile_type){ profile_add_cstring(p, type), profile_add_cstring(p, unit) };
	return set;
}

/* One process, numbered 10, and ticks of 1000 ns. */
static struct profile_set *add_process(struct profile *p)
{
	struct keyvalue attributes[] = {
		{ STR("process.pid"), { .kind = ANY_INT, .integer = 10 } },
		{ STR("process.executable.name"), { .kind = ANY_STRING, .string = STR("sh") } },
	};
	struct profile_set *set =
		add_set(p, profile_add_scope(p, profile_add_resource(p, attributes, 2)), "samples", "count");

	set->period_type = (struct profile_type){ profile_add_cstring(p, "cpu"),
						  profile_add_cstring(p, "nanoseconds") };
	set->period = 1000;
	set->time_unix_ns = 5000;
	return set;
}

/* Of functions, innermost first, ended by NULL. */
static u32 add_location(struct profile *p, u32 mapping, u64 address, const char *const *names)
{
	struct profile_line lines[4] = { 0 };
	u32 count = 0;

	for (; names[count]; count++)
		lines[count].function = profile_add_function(p, &(struct profile_function){
			.name = profile_add_cstring(p, names[count]) });
	return profile_add_location(p, &(struct profile_location){
		.mapping = mapping, .address = address, .line_count = count, .lines = lines });
}
#define NAMES(...) ((const char *const[]){ __VA_ARGS__ __VA_OPT__(,) NULL })

static struct profile_sample *add_sample(struct profile *p, struct profile_set *set, const u32 *locations, u32 count,
					 s64 value)
{
	struct profile_sample *s = profile_add_sample(p, set);

	s->stack = profile_add_stack(p, locations, count);
	s->values = profile_copy(p, &value, sizeof(value));
	s->value_count = 1;
	return s;
}

static void set_thread(struct profile *p, struct profile_sample *s, s64 tid, const char *name, s64 cpu)
{
	u32 attributes[] = { profile_add_attribute_int(p, "thread.id", tid),
			     profile_add_attribute_string(p, "thread.name", name),
			     profile_add_attribute_int(p, "cpu.logical_number", cpu) };

	s->attributes = profile_copy_indices(p, attributes, 3);
}

static void set_times(struct profile *p, struct profile_sample *s, const u64 *times, u32 count)
{
	s->times_unix_ns = profile_copy(p, times, count * sizeof(*times));
	s->time_count = count;
}

/* ---- Tests --------------------------------------------------------------------------------- */

TEST(perfdata_has_a_sample_for_each_time_and_a_symbol_for_each_function)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(listing_done) struct listing l;
	struct profile_set *set = add_process(p);
	u32 stack[] = { add_location(p, 0, 0, NAMES("inlined", "f")), add_location(p, 0, 0, NAMES("main")) };
	struct profile_sample *s = add_sample(p, set, stack, 2, 2);
	struct perfdata_stats stats;

	set_thread(p, s, 11, "worker", 3);
	set_times(p, s, (u64[]){ 7000, 6000 }, 2);
	add_sample(p, set, &stack[1], 1, 5);
	add_sample(p, set, &stack[1], 1, 0);
	write_and_list(p, NULL, &l, &stats);
	STREQ(l.text.data, "symbol inlined\nsymbol f\nsymbol main\n"
			   "comm 10/11 worker at 0\n"
			   "sample 1 10/11 cpu 3 at 7000 weighs 1000: inlined f main\n"
			   "sample 1 10/11 cpu 3 at 6000 weighs 1000: inlined f main\n"
			   "comm 10/10 sh at 0\n"
			   "sample 1 10/10 cpu -1 at 5000 weighs 5000: main\n");
	EQ(stats.samples, 3);
	EQ(stats.weightless, 1);
}

TEST(perfdata_has_an_event_for_each_sample_type)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(listing_done) struct listing l;
	struct profile_set *set = add_process(p);
	u32 location = add_location(p, 0, 0, NAMES("f"));

	add_sample(p, set, &location, 1, 1);
	set = add_set(p, &p->resources.at[0].scopes[0], "cpu", "nanoseconds");	/* says the same */
	add_sample(p, set, &location, 1, 1000);
	set = add_set(p, &p->resources.at[0].scopes[0], "space", "bytes");
	add_sample(p, set, &location, 1, 77);
	write_and_list(p, NULL, &l, NULL);
	STREQ(l.text.data, "symbol f\ncomm 10/10 sh at 0\n"
			   "sample 1 10/10 cpu 0 at 5000 weighs 1000: f\n"
			   "sample 2 10/10 cpu 0 at 0 weighs 77: f\n");
	EQ(l.has_cpu, false);
}

TEST(perfdata_tells_a_name_that_changes_before_each_sample)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(listing_done) struct listing l;
	struct profile_set *set = add_process(p);
	u32 location = add_location(p, 0, 0, NAMES("f"));
	struct profile_sample *s = add_sample(p, set, &location, 1, 2);

	set_thread(p, s, 11, "old", 0);
	set_times(p, s, (u64[]){ 1000, 3000 }, 2);
	s = add_sample(p, set, &location, 1, 1);
	set_thread(p, s, 11, "new", 0);
	set_times(p, s, (u64[]){ 2000 }, 1);
	write_and_list(p, NULL, &l, NULL);
	STREQ(l.text.data, "symbol f\ncomm 10/10 sh at 0\n"
			   "comm 10/11 old at 1000\nsample 1 10/11 cpu 0 at 1000 weighs 1000: f\n"
			   "comm 10/11 old at 3000\nsample 1 10/11 cpu 0 at 3000 weighs 1000: f\n"
			   "comm 10/11 new at 2000\nsample 1 10/11 cpu 0 at 2000 weighs 1000: f\n");
}

TEST(perfdata_cuts_a_stack_that_no_record_has_room_for)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(listing_done) struct listing l;
	struct profile_set *set = add_process(p);
	u32 stack[9000], leaf = add_location(p, 0, 0, NAMES("leaf"));
	struct perfdata_stats stats;

	for (u32 i = 0; i < 9000; i++)
		stack[i] = add_location(p, 0, 0, NAMES("caller"));
	stack[0] = leaf;
	add_sample(p, set, stack, 9000, 1);
	add_sample(p, set, stack, 3, 1);
	write_and_list(p, NULL, &l, &stats);
	OK(l.longest > 65000 && l.longest <= PERFDATA_RECORD_MAX);
	OK(strstr(l.text.data, ": leaf caller caller caller"));
	OK(strstr(l.text.data, " caller [truncated]\n"));
	OK(strstr(l.text.data, ": leaf caller caller\n"));
	EQ(stats.stacks_cut, 1);
}

TEST(perfdata_has_names_of_one_line_and_bounded_length)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(listing_done) struct listing l;
	struct profile_set *set = add_process(p);
	struct perfdata_stats stats;
	char longest[8000];
	u32 stack[2];

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	stack[0] = add_location(p, 0, 0, NAMES("a\nb \xc3\xa9 \xff"));
	stack[1] = add_location(p, 0, 0, NAMES(longest));
	add_sample(p, set, stack, 2, 1);
	write_and_list(p, NULL, &l, &stats);
	OK(strstr(l.text.data, "symbol a?b \xc3\xa9 ?\n"));
	EQ(stats.names_cut, 1);
	OK(l.longest > 4096 && l.longest < 5000);
}

TEST(perfdata_numbers_those_without_a_number)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(listing_done) struct listing l;
	struct profile_set *set =
		add_set(p, profile_add_scope(p, profile_add_resource(p, NULL, 0)), "samples", "count");

	add_sample(p, set, NULL, 0, 4);
	write_and_list(p, NULL, &l, NULL);
	STREQ(l.text.data, "symbol [unknown]\ncomm 2130706432/2130706432 [unknown] at 0\n"
			   "sample 1 2130706432/2130706432 cpu 0 at 0 weighs 4: [unknown]\n");
}

static u32 add_mapping(struct profile *p, const char *path, u64 start, u64 bytes, u64 offset, const char *build_id)
{
	u32 attribute = profile_add_attribute_string(p, PPROF_BUILD_ID_GNU, build_id);

	return profile_add_mapping(p, &(struct profile_mapping){
		.start_va = start, .limit_va = start + bytes, .file_offset = offset,
		.filename = profile_add_cstring(p, path), .attributes = { &attribute, 1 } });
}

TEST(perfdata_leaves_addresses_without_names_to_perf_if_a_build_id_tells_whose)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(listing_done) struct listing l;
	struct profile_set *set = add_process(p);
	u32 known = add_mapping(p, "/no/such/liba.so", 0x1000, 0x2000, 0x1010, "abcd"),
	    other = add_mapping(p, "/no/such/libb.so", 0x1000, 0x2000, 0x1000, "");
	u32 stack[] = { add_location(p, known, 0x1230, NAMES()), add_location(p, known, 0x1240, NAMES("[unknown]")),
			add_location(p, other, 0x1230, NAMES()), add_location(p, known, 0x1230, NAMES("named")),
			add_location(p, known, 0x9999, NAMES()) };

	add_sample(p, set, stack, 5, 1);
	write_and_list(p, NULL, &l, NULL);
	STREQ(l.text.data, "map 10 0x100000000000 +0x3000 @0x1000 id ab.. of 2 /no/such/liba.so\n"
			   "symbol libb.so+0x1230\nsymbol named\nsymbol liba.so+0x9999\ncomm 10/10 sh at 0\n"
			   "sample 1 10/10 cpu 0 at 5000 weighs 1000: "
			   "0x100000000240 0x100000000250 libb.so+0x1230 named liba.so+0x9999\n");
}

/* ---- Files that are here -------------------------------------------------------------------- */

/* This program: where its code is, and its build id. */
struct here {
	char path[PATH_MAX], build_id[2 * PERFDATA_BUILD_ID_MAX + 1];
	u64 start, bytes, offset, address;
};

static bool find_build_id(const struct exe *exe, char *ret_text)
{
	struct exe_notes notes;
	struct exe_section section;
	struct exe_note note;

	if (!exe_section_named(exe, ".note.gnu.build-id", &section))
		return false;
	exe_notes_init(&notes, exe_bytes(exe, section.fo, section.bytes), section.bytes, 4);
	if (!exe_notes_next(&notes, &note) || note.desc_bytes > PERFDATA_BUILD_ID_MAX)
		return false;
	hex_write(note.desc, note.desc_bytes, ret_text);
	return true;
}

static void find_here(struct here *here)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, offset;
	char line[PATH_MAX + 256];
	struct exe *exe;

	*here = (struct here){ .address = (u64)(uintptr_t)find_here };
	OK(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %s", &start, &end, &offset, here->path) == 4 &&
		    here->address >= start && here->address < end)
			break;
	fclose(maps);
	here->start = start;
	here->bytes = end - start;
	here->offset = offset;
	maps = fopen(here->path, "re");
	OK(maps);
	EQ(exe_map(fileno(maps), NULL, &exe), 0);
	if (!find_build_id(exe, here->build_id))
		SKIP("this program has no build id");
	exe_free(exe);
	fclose(maps);
}

TEST(perfdata_leaves_names_to_files_that_are_here)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(listing_done) struct listing l, embedded;
	struct profile_set *set = add_process(p);
	struct here here;
	u32 mapping, other, stack[3];
	char want[2 * PATH_MAX];

	find_here(&here);
	mapping = add_mapping(p, here.path, here.start, here.bytes, here.offset, here.build_id);
	other = add_mapping(p, here.path, here.start, here.bytes, here.offset, "0123");
	stack[0] = add_location(p, mapping, here.address + 4, NAMES("inlined", "find_here"));
	stack[1] = add_location(p, mapping, here.address + 4, NAMES("find_here"));
	stack[2] = add_location(p, other, here.address + 4, NAMES("another_file"));
	add_sample(p, set, stack, 3, 1);
	write_and_list(p, NULL, &l, NULL);
	snprintf(want, sizeof(want), "weighs 1000: inlined 0x%llx 0x%llx another_file\n",
		 (unsigned long long)(0x100000000000 + here.address - here.start),
		 (unsigned long long)(0x100000000000 + here.address - here.start + 4));
	OK(strstr(l.text.data, want));
	write_and_list(p, &(struct perfdata_options){ .embed_names = true }, &embedded, NULL);
	OK(strstr(embedded.text.data, "weighs 1000: inlined find_here find_here another_file\n"));
}

TEST(perfdata_reads_a_file_once_for_all_its_mappings)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct perfdata_place places[2];
	struct perfdata_maps maps;
	struct here here;
	u32 mappings[2], locations[2];

	find_here(&here);
	/* As two processes have it. */
	for (u32 i = 0; i < 2; i++) {
		mappings[i] = add_mapping(p, here.path, here.start + i * here.bytes, here.bytes, here.offset,
					  here.build_id);
		locations[i] = add_location(p, mappings[i], here.address + 4 + i * here.bytes,
					    NAMES("inlined", "find_here"));
	}
	EQ(perfdata_maps_init(&maps, p, false), 0);
	for (u32 i = 0; i < 2; i++)
		OK(perfdata_maps_place(&maps, locations[i], &places[i]));
	OK(places[1].caller > places[0].caller);
	EQ(places[1].address - places[1].caller, 4);
	OK(maps.at[mappings[0]].local.functions);
	OK(!maps.at[mappings[1]].local.functions);
	EQ(maps.functions, maps.at[mappings[0]].local.function_count);
	perfdata_maps_done(&maps);
}

/* ---- Anything -------------------------------------------------------------------------------- */

TEST(perfdata_is_well_formed_whatever_the_profile)
{
	for (unsigned int seed = 0; seed < 40; seed++) {
		_cleanup_(profile_freep) struct profile *p = profile_random(seed, seed % 2);
		_cleanup_(listing_done) struct listing l;
		struct perfdata_stats stats;

		write_and_list(p, NULL, &l, &stats);
	}
}

/* All that perf.data holds comes back: names and kinds of frames, processes, threads, CPUs, times, weights. */
TEST(perfdata_reads_back_what_it_wrote)
{
	const struct format_ops *format = format_by_name("perfdata");
	_cleanup_(profile_freep) struct profile *p = profile_new(), *back = NULL;
	_cleanup_(buf_done) struct buf b, text, text_back;
	struct profile_set *set = add_process(p);
	u32 kernel = profile_add_attribute_string(p, "profile.frame.type", "kernel"), stack[3];
	struct profile_line line = { .function = profile_add_function(p, &(struct profile_function){
		.name = profile_add_cstring(p, "do_syscall_64") }) };
	const struct profile_sample *s;

	stack[0] = profile_add_location(p, &(struct profile_location){ .line_count = 1, .lines = &line,
								       .attributes = { &kernel, 1 } });
	stack[1] = add_location(p, 0, 0, NAMES("inlined", "f"));
	stack[2] = add_location(p, 0, 0, NAMES("<module>"));
	for (u32 i = 1; i <= 3; i++) {
		struct profile_sample *sample = add_sample(p, set, stack + 3 - i, i, 2);

		set_thread(p, sample, 11, "worker", 3);
		set_times(p, sample, (u64[]){ 7000 * i, 6000 * i }, 2);
	}
	buf_init(&b, BYTES_MAX);
	buf_init(&text, BYTES_MAX);
	buf_init(&text_back, BYTES_MAX);
	EQ(perfdata_encode(p, &b), 0);
	EQ(format->decode(b.data, b.len, &back), 0);
	EQ(folded_encode(p, &text), 0);
	EQ(folded_encode(back, &text_back), 0);
	buf_add(&text, "", 1);
	buf_add(&text_back, "", 1);
	STREQ(text_back.data, text.data);
	OK(strstr(text.data, "sh;<module>;f;inlined;do_syscall_64_[k] 2\n"));
	s = &back->resources.at[0].scopes[0].sets[0].samples[0];
	EQ(back->resources.at[0].scopes[0].sets[0].period, 1000);
	EQ(s->time_count, 2);
	EQ(s->times_unix_ns[0] + s->times_unix_ns[1], 13000);
	EQ(profile_attribute_find(back, s->attributes, "cpu.logical_number")->integer, 3);
	EQ(profile_attribute_find(back, s->attributes, "thread.id")->integer, 11);
}

TEST(perfdata_is_the_same_in_a_file)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(buf_done) struct buf b;
	_cleanup_(closep) int fd = memfd_create("perfdata", MFD_CLOEXEC);
	struct profile_set *set = add_process(p);
	u32 stack[1000];
	struct perfdata_stats stats;
	char *bytes;

	for (u32 i = 0; i < 1000; i++)
		stack[i] = add_location(p, 0, 0, NAMES("f"));
	for (u32 i = 0; i < 1000; i++)
		set_times(p, add_sample(p, set, stack, i + 1, 1), (u64[]){ i + 1 }, 1);
	buf_init(&b, BYTES_MAX);
	EQ(perfdata_write(p, NULL, &b, NULL), 0);
	EQ(perfdata_write_file(p, NULL, fd, &stats), 0);
	OK(b.len > (1 << 20));
	EQ(stats.bytes, b.len);
	bytes = test_keep(malloc(b.len));
	EQ(pread(fd, bytes, b.len, 0), b.len);
	EQ(memcmp(bytes, b.data, b.len), 0);
	EQ(perfdata_write_file(p, NULL, open("/dev/full", O_WRONLY | O_CLOEXEC), &stats), -ENOSPC);
}

TEST(perfdata_says_what_is_known_of_the_machine)
{
	static const char *const command[] = { "wick", "--config=x", NULL };
	struct perfdata_host host = { "box", "6.1.0", "x86_64", 8, 4, command };
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(buf_done) struct buf b;
	struct perfdata_header header;
	u32 location = add_location(p, 0, 0, NAMES("f"));

	add_sample(p, add_process(p), &location, 1, 1);
	buf_init(&b, BYTES_MAX);
	EQ(perfdata_write(p, &(struct perfdata_options){ .host = &host }, &b, NULL), 0);
	memcpy(&header, b.data, sizeof(header));
	EQ(header.features[0], 1ull << PERFDATA_HOSTNAME | 1ull << PERFDATA_OSRELEASE | 1ull << PERFDATA_VERSION |
				       1ull << PERFDATA_ARCH | 1ull << PERFDATA_NRCPUS | 1ull << PERFDATA_CMDLINE |
				       1ull << PERFDATA_EVENT_DESC | 1ull << PERFDATA_SAMPLE_TIME |
				       1ull << PERFDATA_CLOCK_DATA);
	OK(memmem(b.data, b.len, "--config=x", 11));
	OK(memmem(b.data, b.len, "box", 4));
}

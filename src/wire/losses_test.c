// SPDX-License-Identifier: Apache-2.0
/*
 * Each line of the loss tables in docs/formats.md, for every format: what is
 * kept changes the file when it changes, what is lost does not.
 */
#include <stdio.h>

#include "profile/profile.h"
#include "test.h"
#include "wire/format.h"

#define BYTES_MAX ((size_t)1 << 20)

/* Of a sample of main, which calls outer, into which inner is inlined; and of an address without a name. */
struct facts {
	u64 time_ns, start_ns, duration_ns, address, nameless_address;
	s64 pid, tid, value, negative_value, other_value, period, line, column, start_line, size;
	const char *process, *host, *thread, *scope, *attribute, *unit, *profile_attribute, *frame_type, *library,
		*nameless_library, *build_id, *file, *inner, *mangled, *lineless, *schema_url;
	u8 trace, profile_id;
	u32 dropped_count;
	bool with_zero, with_bool, with_null;
};

static const struct facts base = {
	.time_ns = 1700000000500000000, .start_ns = 1700000000000000000, .duration_ns = 1000000000, .address = 0x1000,
	.nameless_address = 0x2000, .pid = 100, .tid = 101, .value = 5, .other_value = 7, .period = 1000, .line = 20,
	.column = 3, .start_line = 10, .size = 9, .process = "prog", .host = "box", .thread = "worker",
	.scope = "measurer", .attribute = "red", .unit = "bytes", .profile_attribute = "x", .frame_type = "native",
	.library = "/nowhere/a.so", .nameless_library = "/nowhere/b.so", .build_id = "00ff", .file = "a.c",
	.inner = "inner", .mangled = "_Zouter", .lineless = "memcpy", .schema_url = "https://a", .trace = 1,
	.profile_id = 1, .dropped_count = 1,
};

static u32 string(struct profile *p, const char *text)
{
	return profile_add_cstring(p, text);
}

static u32 add_function(struct profile *p, const struct facts *f, const char *name, const char *mangled, s64 start)
{
	return profile_add_function(p, &(struct profile_function){
		.name = string(p, name), .system_name = string(p, mangled), .filename = string(p, f->file),
		.start_line = start });
}

static u32 add_stack(struct profile *p, const struct facts *f)
{
	u32 type = profile_add_attribute_string(p, "profile.frame.type", f->frame_type);
	u32 id = profile_add_attribute_string(p, "process.executable.build_id.gnu", f->build_id);
	u32 library = profile_add_mapping(p, &(struct profile_mapping){
		.limit_va = 0x10000, .filename = string(p, f->library), .attributes = { &id, 1 } });
	u32 other = profile_add_mapping(p, &(struct profile_mapping){
		.limit_va = 0x10000, .filename = string(p, f->nameless_library) });
	struct profile_line inlined[2] = {
		{ .function = add_function(p, f, f->inner, f->inner, 2), .line = 4 },
		{ .function = add_function(p, f, "outer", f->mangled, f->start_line), .line = f->line,
		  .column = f->column },
	};
	struct profile_line main_ = { .function = add_function(p, f, "main", "main", 30), .line = 34 };
	u32 stack[4] = {
		profile_add_location(p, &(struct profile_location){ .mapping = library, .address = f->address,
			.lines = inlined, .line_count = 2, .attributes = { &type, 1 } }),
		profile_add_location(p, &(struct profile_location){ .mapping = other,
			.address = f->nameless_address }),
		profile_add_location(p, &(struct profile_location){ .mapping = library, .address = 0x3000,
			.lines = &main_, .line_count = 1 }),
	};

	return profile_add_stack(p, stack, 3 + f->with_null);
}

static struct profile_sample *add_sample(struct profile *p, struct profile_set *set, u32 stack, u64 time, s64 value)
{
	struct profile_sample *s = profile_add_sample(p, set);

	s->stack = stack;
	s->value_count = s->time_count = 1;
	s->values = profile_copy(p, &value, sizeof(value));
	s->times_unix_ns = profile_copy(p, &time, sizeof(time));
	return s;
}

static u32 add_named(struct profile *p, const char *name)
{
	struct profile_line line = { .function = profile_add_function(p, &(struct profile_function){
		.name = string(p, name) }) };
	u32 location = profile_add_location(p, &(struct profile_location){ .lines = &line, .line_count = 1 });

	return profile_add_stack(p, &location, 1);
}

static struct indices sample_attributes(struct profile *p, const struct facts *f)
{
	struct profile_attribute size = { .key = string(p, "size"), .unit = string(p, f->unit),
					  .value = { .kind = ANY_INT, .integer = f->size } };
	struct profile_attribute flag = { .key = string(p, "flag"),
					  .value = { .kind = ANY_BOOL, .boolean = f->with_bool } };
	u32 list[] = { profile_add_attribute_int(p, "thread.id", f->tid),
		       profile_add_attribute_string(p, "thread.name", f->thread),
		       profile_add_attribute_string(p, "colour", f->attribute), profile_add_attribute(p, &size),
		       profile_add_attribute(p, &flag) };

	return profile_copy_indices(p, list, sizeof(list) / sizeof(*list));
}

static void fill_scope(struct profile *p, const struct facts *f, struct profile_scope *scope)
{
	struct profile_set *set = profile_add_set(p, scope), *other = profile_add_set(p, scope);
	u32 stack = add_stack(p, f), attribute = profile_add_attribute_string(p, "other", f->profile_attribute);
	struct indices attributes = sample_attributes(p, f);
	struct profile_sample *s;

	set = &scope->sets[0];
	set->sample_type = (struct profile_type){ string(p, "samples"), string(p, "count") };
	set->period_type = (struct profile_type){ string(p, "cpu"), string(p, "nanoseconds") };
	set->period = f->period;
	set->time_unix_ns = f->start_ns;
	set->duration_ns = f->duration_ns;
	set->has_profile_id = true;
	set->profile_id[0] = f->profile_id;
	set->dropped_attributes_count = f->dropped_count;
	set->attributes = profile_copy_indices(p, &attribute, 1);
	s = add_sample(p, set, stack, f->time_ns, f->value);
	s->attributes = attributes;
	s->link = profile_add_link(p, &(struct profile_link){ .trace_id = { f->trace } });
	add_sample(p, set, add_named(p, f->lineless), base.time_ns + 1, 1)->attributes = attributes;
	if (f->with_zero || f->negative_value)
		add_sample(p, set, add_named(p, "nothing"), base.time_ns + 2, f->negative_value)->attributes =
			attributes;
	other->sample_type = (struct profile_type){ string(p, "space"), string(p, "bytes") };
	add_sample(p, other, stack, base.time_ns, f->other_value);
}

/* What files list whether it is used or not: strings, attributes, functions. */
static void fill_tables(struct profile *p, const struct facts *f)
{
	const char *const texts[] = { f->library, f->nameless_library, f->file, f->inner, f->mangled, f->unit };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		string(p, texts[i]);
	sample_attributes(p, f);
	profile_add_attribute_string(p, "profile.frame.type", f->frame_type);
	profile_add_attribute_string(p, "other", f->profile_attribute);
	add_named(p, "nothing");
}

/* Tables have what is in other, too, so that a difference is one of what was sampled. */
static struct profile *make(const struct facts *f, const struct facts *other)
{
	struct profile *p = profile_new();
	struct keyvalue kv[] = {
		{ STR("process.executable.name"), { .kind = ANY_STRING,
						    .string = { f->process, (u32)strlen(f->process) } } },
		{ STR("process.pid"), { .kind = ANY_INT, .integer = f->pid } },
		{ STR("host.name"), { .kind = ANY_STRING, .string = { f->host, (u32)strlen(f->host) } } },
	};
	struct profile_resource *resource = profile_add_resource(p, kv, 3);
	struct profile_scope *scope = profile_add_scope(p, resource);

	fill_tables(p, &base);
	fill_tables(p, other);
	resource->schema_url = profile_copy_str(p, f->schema_url, strlen(f->schema_url));
	scope->name = profile_copy_str(p, f->scope, strlen(f->scope));
	fill_scope(p, f, scope);
	EQ(profile_err(p), 0);
	EQ(profile_check(p), 0);
	return p;
}

/* ---- The tables --------------------------------------------------------------- */

#define OTLP " otlp json "
#define PPROF OTLP "pprof "
#define NAMES "folded speedscope svg html firefox perfetto perfdata "
#define PLACES PPROF "firefox perfetto pgo "

/* The base with one thing changed. */
#define CHANGED(...) ({ struct facts changed = base; changed.__VA_ARGS__; changed; })

struct line {
	const char *what, *kept_by;
	struct facts facts;
};

static void check(const struct line *line)
{
	for (const struct format_ops *const *format = formats; *format; format++) {
		_cleanup_(profile_freep) struct profile *before = make(&base, &line->facts),
							*after = make(&line->facts, &line->facts);
		_cleanup_(buf_done) struct buf a, b;
		char name[32];
		bool kept, changed;

		buf_init(&a, BYTES_MAX);
		buf_init(&b, BYTES_MAX);
		EQ((*format)->encode(before, &a), 0);
		EQ((*format)->encode(after, &b), 0);
		snprintf(name, sizeof(name), " %s ", (*format)->name);
		kept = strstr(line->kept_by, name);
		changed = a.len != b.len || memcmp(a.data, b.data, a.len);
		if (kept != changed)
			FAIL("%s: docs/formats.md says that %s %s it", line->what, (*format)->name,
			     kept ? "keeps" : "loses");
	}
}

TEST(losses_are_those_of_the_tables)
{
	const struct line lines[] = {
		{ "time of each sample", OTLP "firefox perfetto perfdata ", CHANGED(time_ns = 1700000000600000000) },
		{ "name of the process", PPROF NAMES, CHANGED(process = "other") },
		{ "id of the process", PPROF "firefox perfetto perfdata ", CHANGED(pid = 999) },
		{ "host", PPROF "perfdata ", CHANGED(host = "other") },
		{ "threads: id", PPROF "firefox perfetto perfdata ", CHANGED(tid = 102) },
		{ "threads: name", PPROF "firefox perfetto perfdata ", CHANGED(thread = "other") },
		{ "scope", OTLP, CHANGED(scope = "other") },
		{ "several sample types", PPROF "speedscope perfdata ", CHANGED(other_value = 8) },
		{ "period", PPROF "speedscope svg html firefox perfetto pgo perfdata ", CHANGED(period = 2000) },
		{ "start", PPROF "pgo ", CHANGED(start_ns = 1699999999000000000) },
		{ "duration", PPROF "pgo ", CHANGED(duration_ns = 1500000000) },
		{ "attributes of samples", PPROF, CHANGED(attribute = "blue") },
		{ "... true/false", PPROF, CHANGED(with_bool = true) },
		{ "... with an empty text", PPROF, CHANGED(attribute = "") },
		{ "... units", PPROF, CHANGED(unit = "seconds") },
		{ "attributes of profiles", OTLP, CHANGED(profile_attribute = "y") },
		{ "types of frames", OTLP "svg html firefox ", CHANGED(frame_type = "go") },
		{ "types of frames: the kernel", OTLP "folded svg html firefox perfdata ",
		  CHANGED(frame_type = "kernel") },
		{ "attributes of mappings: build id", PLACES "perfdata ", CHANGED(build_id = "11ee") },
		{ "links to spans", PPROF, CHANGED(trace = 2) },
		{ "profile id", OTLP, CHANGED(profile_id = 2) },
		{ "schema urls", OTLP, CHANGED(schema_url = "https://b") },
		{ "counts of dropped attributes", OTLP, CHANGED(dropped_count = 2) },
		{ "weights", PPROF NAMES "pgo llvm-pgo ", CHANGED(value = 6) },
		{ "weights of zero", PPROF "folded ", CHANGED(with_zero = true) },
		{ "weights below zero", PPROF "folded firefox ", CHANGED(negative_value = -4) },
		{ "addresses", PLACES, CHANGED(address = 0x1010) },
		{ "addresses of frames without a name", PLACES NAMES, CHANGED(nameless_address = 0x2010) },
		{ "mappings", PLACES "html perfdata ", CHANGED(library = "/nowhere/c.so") },
		{ "mappings of frames without a name", PLACES NAMES, CHANGED(nameless_library = "/nowhere/c.so") },
		{ "source files", PLACES "speedscope svg html ", CHANGED(file = "b.c") },
		{ "lines", PLACES "llvm-pgo ", CHANGED(line = 21) },
		{ "columns", PPROF "pgo ", CHANGED(column = 4) },
		{ "lines where functions start", PPROF "speedscope svg html firefox pgo llvm-pgo ",
		  CHANGED(start_line = 11) },
		{ "inlined functions", PLACES NAMES "llvm-pgo ", CHANGED(inner = "mixed") },
		{ "mangled names", PPROF "pgo llvm-pgo ", CHANGED(mangled = "_Zother") },
		{ "functions without lines", PLACES NAMES, CHANGED(lineless = "memset") },
		{ "null locations in stacks", OTLP NAMES, CHANGED(with_null = true) },
	};

	check(&(struct line){ "nothing", "", base });
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		check(&lines[i]);
}

/* The columns of a table's head, without marks. */
static bool has_column(const char *document, const char *name)
{
	for (const char *head = strstr(document, "\n| | "); head; head = strstr(head + 1, "\n| | ")) {
		char line[256], *at = line;

		snprintf(line, sizeof(line), "%.*s", (int)strcspn(head + 4, "\n"), head + 4);
		for (char *column = strsep(&at, "|,"); column; column = strsep(&at, "|,")) {
			size_t len = strlen(name);

			column += strspn(column, " ");
			if (!strncmp(column, name, len) && column[len + strspn(column + len, " ")] == '\0')
				return true;
		}
	}
	return false;
}

TEST(losses_of_every_format_are_documented)
{
	FILE *file = fopen("docs/formats.md", "re");
	static char document[1 << 18];
	char row[64];

	if (!file)
		SKIP("docs/formats.md is not here: run from the top folder");
	document[fread(document, 1, sizeof(document) - 1, file)] = '\0';
	fclose(file);
	for (const struct format_ops *const *format = formats; *format; format++) {
		snprintf(row, sizeof(row), "\n| `%s` |", (*format)->name);
		if (!strstr(document, row) || !has_column(document, (*format)->name))
			FAIL("docs/formats.md does not say what %s is and loses", (*format)->name);
	}
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Our codecs on a file, measured as bench/formats/peer/main.go measures others':
 *
 *	codec make FILE.otlp STACKS		data that looks like a machine's
 *	codec decode|encode FORMAT FILE		prints nanoseconds of CPU and bytes of a round, and peak memory in KiB
 *
 * Peak memory is what the process had at most while it worked beyond what it had before.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "profile/profile.h"
#include "wire/format.h"

#define BYTES_MAX ((size_t)4 << 30)
#define ROUNDS_NS 1500000000ull
#define PROCESSES 60
#define FUNCTIONS 25000
#define DEPTH_MAX 60

/* ---- Data ---------------------------------------------------------------------------- */

static u64 state = 42;

static u32 roll(u32 limit)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (u32)(state >> 33) % limit;
}

static u32 make_location(struct profile *p, u32 number)
{
	char name[128], file[64], library[64];
	struct profile_line line = { .line = 10 + number % 900 };
	u32 mapping;

	snprintf(name, sizeof(name), "acme::module_%u::Handler<std::basic_string<char>>::process_%u", number % 97,
		 number);
	snprintf(file, sizeof(file), "/src/acme/module_%u.cc", number % 997);
	snprintf(library, sizeof(library), "/usr/lib/x86_64-linux-gnu/libmodule%u.so.1", number % 97);
	mapping = profile_add_mapping(p, &(struct profile_mapping){
		.start_va = 0x1000, .limit_va = 0x1000000, .filename = profile_add_cstring(p, library) });
	line.function = profile_add_function(p, &(struct profile_function){
		.name = profile_add_cstring(p, name), .filename = profile_add_cstring(p, file), .start_line = 5 });
	return profile_add_location(p, &(struct profile_location){
		.mapping = mapping, .address = 0x1000 + number * 64ull, .lines = &line, .line_count = 1 });
}

/* Stacks share their outer parts, as those of a program do. */
static void make_samples(struct profile *p, struct profile_set *set, u32 process, u32 stacks, const u32 *locations)
{
	u32 path[DEPTH_MAX], stack[DEPTH_MAX], depth = 10;

	for (u32 i = 0; i < DEPTH_MAX; i++)
		path[i] = locations[roll(FUNCTIONS)];
	for (u32 i = 0; i < stacks; i++) {
		struct profile_sample *s = profile_add_sample(p, set);
		u32 attributes[] = { profile_add_attribute_int(p, "thread.id", process * 100 + roll(8)),
				     profile_add_attribute_int(p, "cpu.logical_number", roll(64)) };
		u64 times[4];

		depth = 5 + (depth + roll(9)) % (DEPTH_MAX - 5);
		for (u32 k = depth > 6 ? depth - 6 : 0; k < depth; k++)
			path[k] = locations[roll(FUNCTIONS)];
		for (u32 k = 0; k < depth; k++)
			stack[k] = path[depth - 1 - k];
		s->stack = profile_add_stack(p, stack, depth);
		s->attributes = profile_copy_indices(p, attributes, 2);
		s->time_count = 1 + roll(4);
		for (u32 k = 0; k < s->time_count; k++)
			times[k] = set->time_unix_ns + roll(1000000000);
		s->times_unix_ns = profile_copy(p, times, s->time_count * sizeof(*times));
	}
}

static int make(const char *path, u32 stacks)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(freep) u32 *locations = calloc(FUNCTIONS, sizeof(*locations));

	for (u32 i = 0; i < FUNCTIONS; i++)
		locations[i] = make_location(p, i);
	for (u32 i = 0; i < PROCESSES; i++) {
		struct keyvalue kv[] = { { STR("process.pid"), { .kind = ANY_INT, .integer = 1000 + i } },
					 { STR("process.executable.name"),
					   { .kind = ANY_STRING, .string = STR("acme") } } };
		struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, kv, 2)));

		set->sample_type = (struct profile_type){ profile_add_cstring(p, "samples"),
							  profile_add_cstring(p, "count") };
		set->period_type = (struct profile_type){ profile_add_cstring(p, "cpu"),
							  profile_add_cstring(p, "nanoseconds") };
		set->period = 50000000;
		set->time_unix_ns = 1700000000000000000;
		set->duration_ns = 1000000000;
		make_samples(p, set, i, stacks / PROCESSES, locations);
	}
	return profile_err(p) < 0 ? profile_err(p) : format_write_file(path, format_by_name("otlp"), p);
}

/* ---- Measuring ------------------------------------------------------------------------ */

static u64 cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

/* A line of /proc/self/status in KiB. */
static long memory(const char *key)
{
	_cleanup_(freep) char *line = NULL;
	size_t cap = 0;
	long kib = -1;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && kib < 0 && getline(&line, &cap, file) > 0)
		if (!strncmp(line, key, strlen(key)))
			kib = strtol(line + strlen(key), NULL, 10);
	if (file)
		fclose(file);
	return kib;
}

/* The peak is counted from here on. */
static long forget_peak(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "we");

	malloc_trim(0);
	if (file) {
		fputs("5", file);
		fclose(file);
	}
	return memory("VmRSS:");
}

static int read_file(const char *path, struct buf *out)
{
	FILE *file = fopen(path, "re");
	size_t n;

	if (!file)
		return -errno;
	while (buf_reserve(out, 1 << 20) == 0 && (n = fread(out->data + out->len, 1, 1 << 20, file)) > 0)
		out->len += n;
	fclose(file);
	return buf_err(out);
}

static int round_of(const struct format_ops *format, bool decodes, const struct buf *bytes, const struct profile *p,
		    size_t *ret_bytes)
{
	_cleanup_(profile_freep) struct profile *decoded = NULL;
	_cleanup_(buf_done) struct buf out;
	int r;

	buf_init(&out, BYTES_MAX);
	r = decodes ? format->decode(bytes->data, bytes->len, &decoded) : format->encode(p, &out);
	*ret_bytes = decodes ? bytes->len : out.len;
	return r;
}

static int measure(const char *what, const struct format_ops *format, const char *path)
{
	bool decodes = !strcmp(what, "decode");
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(buf_done) struct buf bytes;
	u64 start, rounds = 0, spent = 0;
	size_t passed = 0;
	long before;
	int r;

	buf_init(&bytes, BYTES_MAX);
	r = read_file(path, &bytes);
	if (r == 0 && !decodes) {
		r = format->decode(bytes.data, bytes.len, &p);
		buf_done(&bytes);
		buf_init(&bytes, BYTES_MAX);
	}
	before = forget_peak();
	start = cpu_ns();
	for (; r == 0 && spent < ROUNDS_NS; rounds++) {
		r = round_of(format, decodes, &bytes, p, &passed);
		spent = cpu_ns() - start;
	}
	if (r == 0)
		printf("%llu %zu %ld\n", spent / rounds, passed, memory("VmHWM:") - before);
	return r;
}

int main(int argc, char **argv)
{
	const struct format_ops *format = argc == 4 && strcmp(argv[1], "make") ? format_by_name(argv[2]) : NULL;
	int r;

	if (argc != 4 || (!format && strcmp(argv[1], "make"))) {
		fprintf(stderr, "usage: codec make FILE STACKS | codec decode|encode FORMAT FILE\n");
		return 1;
	}
	r = format ? measure(argv[1], format, argv[3]) : make(argv[2], (u32)strtoul(argv[3], NULL, 10));
	if (r < 0)
		fprintf(stderr, "codec: %s\n", strerror(-r));
	return r < 0;
}

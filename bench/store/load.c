// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "profile/profile.h"
#include "profile/table.h"

#define PROGRAMS 60
#define SUCCESSORS_MAX 16
#define DEPTH_MAX 120
#define THREADS 8 /* of a process */
#define SITES 8	  /* addresses of a function at which samples are taken */
#define STEPS_MAX (256u << 20)
#define CHURN 0.01 /* of the processes are new every minute */
#define DAY_NS (86400 * SECOND_NS)

static const char *const words[] = {
	"get",	   "set",      "parse",	 "encode", "decode",  "read",	  "write",    "flush",	"commit", "lock",
	"alloc",   "map",      "reduce", "filter", "handle",  "serve",	  "dispatch", "poll",	"wake",	  "schedule",
	"compute", "merge",    "split",	 "hash",   "lookup",  "insert",	  "remove",   "update", "render", "layout",
	"compile", "optimize", "link",	 "load",   "store",   "send",	  "accept",   "close",	"queue",  "tree",
	"graph",   "index",    "query",	 "scan",   "join",    "group",	  "sort",     "limit",	"cache",  "evict",
	"refresh", "validate", "verify", "sign",   "encrypt", "compress", "inflate",  "copy",	"rotate", "iterate",
};
#define WORDS (sizeof(words) / sizeof(words[0]))

/* The languages. In names %1$u tells functions of the same words apart. */
enum { PYTHON, JVM, GO, NATIVE, NODE, RUBY, KERNEL, LANGUAGES };
static const struct {
	const char *type, *name, *file, *exe;
	u32 functions;
} languages[LANGUAGES] = {
	{ "cpython", "%2$s_%3$s_%1$u", "/usr/lib/python3/dist-packages/%s/%s.py", "/usr/bin/python3.11", 6000 },
	{ "jvm", "com.acme.%2$s.%3$s%4$s%1$u.%5$s(java.lang.String, java.util.Map)", "%s.java",
	  "/usr/lib/jvm/lib/server/libjvm.so", 12000 },
	{ "go", "github.com/acme/%2$s/pkg/%3$s.(*%4$s).%5$s%1$u", "/src/%s/%s.go", "/usr/bin/server", 8000 },
	{ "native", "acme::%2$s::%3$s<std::basic_string<char>, unsigned long>::%4$s_%5$s_%1$u", "/src/%s/%s.cc",
	  "/usr/lib/libacme.so.1", 10000 },
	{ "v8js", "%2$s%3$s%1$u", "/app/node_modules/%s/lib/%s.js", "/usr/bin/node", 5000 },
	{ "ruby", "%2$s::%3$s#%4$s_%1$u", "/gems/%s.rb", "/usr/lib/libruby.so.3.1", 3000 },
	{ "kernel", "do_%2$s_%3$s_%1$u", "", "vmlinux", 4000 },
};

struct function {
	u32 language;
	struct str name, file;
	u32 successors[SUCCESSORS_MAX], successor_count;
};

/* Stacks are the ways up from a node. */
struct step {
	u32 parent, function;
};

struct program {
	u32 language;
	char name[32], path[64];
	u32 *stacks, stack_count, stack_cap; /* steps */
};

struct process {
	u32 program, pid;
	u32 resource; /* in the window, + 1 */
};

struct load {
	struct load_options options;
	u64 random, now_ns, samples, frames;
	u32 next_pid;
	double owed; /* part of a sample that windows before left */
	struct function *functions;
	u32 first_function[LANGUAGES + 1];
	struct table steps; /* the trie of all stacks; 0 is the root */
	struct program programs[PROGRAMS];
	struct process *processes;

	/* What the window has already: its number of a function's line and place, and of a stack by its leaf and place.
	 */
	u32 *function_numbers, *location_numbers;
	struct table stacks;
};

/* ---- Chance ---------------------------------------------------------------------------- */

static u64 random_bits(struct load *load)
{
	load->random ^= load->random << 13;
	load->random ^= load->random >> 7;
	load->random ^= load->random << 17;
	return load->random * 0x2545f4914f6cdd1d;
}

/* From 0 on, below 1. */
static double chance(struct load *load)
{
	return (double)(random_bits(load) >> 11) * 0x1p-53;
}

static u32 below(struct load *load, u32 limit)
{
	return (u32)((random_bits(load) >> 32) * limit >> 32);
}

/* Zipf with exponent 1: the rank, 0 for the most frequent of count. */
static u32 zipf(struct load *load, u32 count)
{
	u32 rank = (u32)exp(chance(load) * log((double)count + 1)) - 1;

	return rank < count ? rank : count - 1;
}

/* Distance from the mean of a normal distribution, in deviations. */
static double deviation(struct load *load)
{
	return sqrt(-2 * log(1 - chance(load))) * fabs(cos(2 * M_PI * chance(load)));
}

/* ---- Programs ----------------------------------------------------------------------------- */

/* A text that was made by asprintf(). */
static struct str made_text(int len, char *text)
{
	return len < 0 ? (struct str){ 0 } : (struct str){ text, (u32)len };
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
static void make_function(struct load *load, u32 language, u32 number, struct function *f)
{
	const char *w[4];
	char *text;
	int len;

	for (u32 i = 0; i < 4; i++)
		w[i] = words[below(load, WORDS)];
	f->language = language;
	len = asprintf(&text, languages[language].name, number, w[0], w[1], w[2], w[3]);
	f->name = made_text(len, text);
	len = asprintf(&text, languages[language].file, w[0], w[1]);
	f->file = made_text(len, text);
}
#pragma GCC diagnostic pop

static int make_functions(struct load *load)
{
	u32 count = 0;

	for (u32 l = 0; l < LANGUAGES; l++) {
		load->first_function[l] = count;
		count += languages[l].functions;
	}
	load->first_function[LANGUAGES] = count;
	load->functions = calloc(count, sizeof(*load->functions));
	if (!load->functions)
		return -1;
	for (u32 l = 0; l < LANGUAGES; l++)
		for (u32 i = 0; i < languages[l].functions; i++)
			make_function(load, l, i, &load->functions[load->first_function[l] + i]);
	return 0;
}

static u32 any_function(struct load *load, u32 language, u32 count)
{
	return load->first_function[language] +
	       below(load, count < languages[language].functions ? count : languages[language].functions);
}

/* A function calls a few others, the first of them mostly: so stacks share their beginnings. */
static u32 callee(struct load *load, u32 caller)
{
	struct function *f = &load->functions[caller];
	u32 i = 0;

	if (!f->successor_count) {
		f->successor_count = chance(load) < 0.35 ? 2 + (u32)(deviation(load) * 3) : 1;
		if (f->successor_count > SUCCESSORS_MAX)
			f->successor_count = SUCCESSORS_MAX;
		for (u32 s = 0; s < f->successor_count; s++)
			f->successors[s] = any_function(load, f->language, UINT32_MAX);
	}
	while (i + 1 < f->successor_count && chance(load) < 0.22)
		i++;
	return f->successors[i];
}

static u32 make_stack(struct load *load, u32 program)
{
	u32 language = load->programs[program].language, depth = 8 + (u32)(deviation(load) * 22),
	    kernel_from = UINT32_MAX;
	u32 function = load->first_function[language] + program, node = 0;

	depth = depth < DEPTH_MAX ? depth : DEPTH_MAX;
	if (chance(load) < 0.25)
		kernel_from = depth > 10 ? depth - 3 - below(load, 8) : depth - 2;
	for (u32 d = 0; d < depth; d++) {
		if (d == kernel_from)
			function = any_function(load, KERNEL, 40);
		else if (d > 2 && d < kernel_from && language != NATIVE && chance(load) < 0.01)
			function = any_function(load, NATIVE, 500);
		else if (d > 0)
			function = callee(load, function);
		node = (u32)table_add(&load->steps, &(struct step){ node, function });
	}
	return node;
}

static u64 step_hash(const void *row, u64 seed)
{
	const struct step *s = row;

	return hash_mix(seed, (u64)s->parent << 32 | s->function);
}

static bool step_equal(const void *a, const void *b)
{
	return !memcmp(a, b, sizeof(struct step));
}

static const struct table_type step_type = { sizeof(struct step), step_hash, step_equal, NULL };

static int make_programs(struct load *load)
{
	for (u32 i = 0; i < PROGRAMS; i++) {
		struct program *p = &load->programs[i];

		p->language = below(load, KERNEL);
		(void)snprintf(p->name, sizeof(p->name), "%s-service-%02u", languages[p->language].type, i);
		(void)snprintf(p->path, sizeof(p->path), "/opt/acme/bin/%s", p->name);
	}
	for (u32 made = 0; made < load->options.stacks;) {
		u32 program = (u32)(deviation(load) * PROGRAMS / 3) % PROGRAMS, before = load->steps.count;
		u32 stack = make_stack(load, program);
		struct program *p = &load->programs[program];

		/* One that ends where another passed through is left out: few, and it keeps them distinct. */
		if (load->steps.count == before)
			continue;
		if (array_reserve(&p->stacks, &p->stack_cap, p->stack_count + 1, sizeof(*p->stacks)) < 0)
			return -1;
		p->stacks[p->stack_count++] = stack;
		made++;
	}
	return 0;
}

static void start_process(struct load *load, struct process *process)
{
	do
		process->program = below(load, PROGRAMS);
	while (!load->programs[process->program].stack_count);
	process->pid = load->next_pid++;
}

struct load *load_new(const struct load_options *options)
{
	_cleanup_(load_freep) struct load *load = calloc(1, sizeof(*load));

	if (!load)
		return NULL;
	load->options = *options;
	load->random = 0x9e3779b97f4a7c15;
	load->now_ns = options->start_ns;
	load->next_pid = 1000;
	table_init(&load->steps, &step_type, NULL, 0, STEPS_MAX);
	table_init(&load->stacks, &step_type, NULL, 0, STEPS_MAX);
	if (table_add(&load->steps, &(struct step){ 0 }) < 0 || make_functions(load) < 0 || make_programs(load) < 0)
		return NULL;
	load->processes = calloc(options->processes, sizeof(*load->processes));
	load->function_numbers = calloc(load->first_function[LANGUAGES], sizeof(u32));
	load->location_numbers = calloc(load->first_function[LANGUAGES], SITES * sizeof(u32));
	if (!load->processes || !load->function_numbers || !load->location_numbers)
		return NULL;
	for (u32 i = 0; i < options->processes; i++)
		start_process(load, &load->processes[i]);
	return TAKE(load);
}

void load_free(struct load *load)
{
	if (!load)
		return;
	for (u32 i = 0; load->functions && i < load->first_function[LANGUAGES]; i++) {
		free((char *)load->functions[i].name.at);
		free((char *)load->functions[i].file.at);
	}
	for (u32 i = 0; i < PROGRAMS; i++)
		free(load->programs[i].stacks);
	table_done(&load->steps);
	table_done(&load->stacks);
	free(load->functions);
	free(load->processes);
	free(load->function_numbers);
	free(load->location_numbers);
	free(load);
}

/* ---- Windows -------------------------------------------------------------------------------- */

/* A window while it is made: what each of its profiles and frames has in common. */
struct making {
	struct load *load;
	struct profile *profile;
	u32 mappings[LANGUAGES], types[LANGUAGES];
	struct profile_type sample_type, period_type;
};

static void forget_window(struct load *load)
{
	u32 count = load->first_function[LANGUAGES];

	memset(load->function_numbers, 0, count * sizeof(u32));
	memset(load->location_numbers, 0, (size_t)count * SITES * sizeof(u32));
	table_done(&load->stacks);
	table_init(&load->stacks, &step_type, NULL, 0, STEPS_MAX);
	/* As in a profile, the first stack is the empty one. */
	(void)table_add(&load->stacks, &(struct step){ 0 });
	for (u32 i = 0; i < load->options.processes; i++)
		load->processes[i].resource = 0;
}

static void begin_window(struct making *m, struct load *load, struct profile *profile)
{
	*m = (struct making){ .load = load, .profile = profile };
	for (u32 l = 0; l < LANGUAGES; l++) {
		struct profile_mapping mapping = { .limit_va = (u64)1 << 40 };
		char build_id[41];
		u32 attribute;

		(void)snprintf(build_id, sizeof(build_id), "%040u", 12345 + l);
		attribute = profile_add_attribute_string(profile, "process.executable.build_id.gnu", build_id);
		mapping.attributes = profile_copy_indices(profile, &attribute, 1);
		mapping.filename = profile_add_cstring(profile, languages[l].exe);
		m->mappings[l] = profile_add_mapping(profile, &mapping);
		m->types[l] = profile_add_attribute_string(profile, "profile.frame.type", languages[l].type);
	}
	m->sample_type =
		(struct profile_type){ profile_add_cstring(profile, "samples"), profile_add_cstring(profile, "count") };
	m->period_type = (struct profile_type){ profile_add_cstring(profile, "cpu"),
						profile_add_cstring(profile, "nanoseconds") };
}

static u32 function_number(struct making *m, u32 function)
{
	struct function *f = &m->load->functions[function];
	u32 *number = &m->load->function_numbers[function];

	if (!*number)
		*number = profile_append_function(
			m->profile, &(struct profile_function){
					    .name = profile_append_string(m->profile, f->name),
					    .filename = f->file.len ? profile_append_string(m->profile, f->file) : 0,
					    .start_line = 10 + function % 997 });
	return *number;
}

static u32 location_number(struct making *m, u32 function, u32 site)
{
	u32 *number = &m->load->location_numbers[function * SITES + site],
	    language = m->load->functions[function].language;
	struct profile_line line = { .line = 12 + function % 997 + site * 3 };
	struct profile_location location = { .mapping = m->mappings[language],
					     .address = 0x1000 + (u64)function * 4096 + site * 24,
					     .line_count = 1 };

	if (*number)
		return *number;
	line.function = function_number(m, function);
	location.lines = profile_copy(m->profile, &line, sizeof(line));
	location.attributes = profile_copy_indices(m->profile, &m->types[language], 1);
	*number = profile_append_location(m->profile, &location);
	return *number;
}

/* The window's number of a stack that ends at a place of its innermost function. */
static u32 stack_number(struct making *m, u32 leaf, u32 site)
{
	struct load *load = m->load;
	const struct step *steps = load->steps.rows;
	u32 locations[DEPTH_MAX], depth = 0, count = load->stacks.count;
	u32 number = (u32)table_add(&load->stacks, &(struct step){ leaf, site });

	if (load->stacks.count == count)
		return number;
	for (u32 n = leaf; n; n = steps[n].parent) {
		locations[depth++] = location_number(m, steps[n].function, site);
		/* A caller is always at the place of its call. */
		site = steps[n].function % SITES;
	}
	return profile_append_stack(m->profile, profile_copy_indices(m->profile, locations, depth));
}

static struct profile_set *set_of(struct making *m, struct process *process)
{
	const struct program *program = &m->load->programs[process->program];
	struct keyvalue attributes[] = {
		{ STR("host.name"), { .kind = ANY_STRING, .string = STR("big.example.com") } },
		{ STR("process.pid"), { .kind = ANY_INT, .integer = process->pid } },
		{ STR("process.executable.name"),
		  { .kind = ANY_STRING, .string = { program->name, (u32)strlen(program->name) } } },
		{ STR("process.executable.path"),
		  { .kind = ANY_STRING, .string = { program->path, (u32)strlen(program->path) } } },
		{ STR("service.name"),
		  { .kind = ANY_STRING, .string = { program->name, (u32)strlen(program->name) } } },
	};
	struct profile_resource *resource;
	struct profile_set *set;

	if (process->resource)
		return &m->profile->resources.at[process->resource - 1].scopes[0].sets[0];
	resource = profile_add_resource(m->profile, attributes, sizeof(attributes) / sizeof(attributes[0]));
	process->resource = m->profile->resources.count;
	set = profile_add_set(m->profile, profile_add_scope(m->profile, resource));
	if (set) {
		set->sample_type = m->sample_type;
		set->period_type = m->period_type;
		set->period = SECOND_NS / m->load->options.hz;
		set->time_unix_ns = m->load->now_ns;
	}
	return set;
}

static void add_sample(struct making *m, u64 time_ns)
{
	struct load *load = m->load;
	struct process *process = &load->processes[zipf(load, load->options.processes)];
	const struct program *program = &load->programs[process->program];
	u32 hour = (u32)(load->now_ns / (3600 * SECOND_NS) % 24);
	u32 rank = (zipf(load, program->stack_count) + hour * program->stack_count / 24) % program->stack_count;
	u32 thread = zipf(load, THREADS), attributes[4], count = 3;
	struct profile_set *set = set_of(m, process);
	struct profile_sample *sample = set ? profile_add_sample(m->profile, set) : NULL;
	char name[32];

	if (!sample)
		return;
	(void)snprintf(name, sizeof(name), "worker-%u", thread);
	attributes[0] = profile_add_attribute_int(m->profile, "thread.id", process->pid * 16 + thread);
	attributes[1] = profile_add_attribute_string(m->profile, "thread.name", name);
	attributes[2] = profile_add_attribute_int(m->profile, "cpu.logical_number", below(load, load->options.cores));
	sample->stack = stack_number(m, program->stacks[rank], zipf(load, SITES));
	if (load->options.tenants) {
		(void)snprintf(name, sizeof(name), "tenant-%u", zipf(load, load->options.tenants));
		attributes[count++] = profile_add_attribute_string(m->profile, "tenant", name);
	}
	sample->attributes = profile_copy_indices(m->profile, attributes, count);
	sample->times_unix_ns = profile_copy(m->profile, &time_ns, sizeof(time_ns));
	sample->time_count = 1;
	load->frames += m->profile->stacks.at[sample->stack].count;
}

/* How many of the CPUs are busy: least at night. */
static double busy_share(const struct load *load)
{
	double day = (double)(load->now_ns % DAY_NS) / DAY_NS;

	return load->options.by_day ? 0.55 - 0.45 * cos(2 * M_PI * day) : 1;
}

static void replace_processes(struct load *load, u64 window_ns)
{
	double expected = load->options.processes * CHURN * (double)window_ns / (60 * (double)SECOND_NS);

	for (; chance(load) < expected; expected -= 1)
		start_process(load, &load->processes[below(load, load->options.processes)]);
}

struct profile *load_window(struct load *load, u64 window_ns)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	double wanted =
		load->options.cores * load->options.hz * (double)window_ns / SECOND_NS * busy_share(load) + load->owed;
	u64 samples = (u64)wanted;
	struct making m;

	if (!profile)
		return NULL;
	load->owed = wanted - (double)samples;
	forget_window(load);
	replace_processes(load, window_ns);
	begin_window(&m, load, profile);
	for (u64 i = 0; i < samples; i++)
		add_sample(&m, load->now_ns + random_bits(load) % window_ns);
	load->now_ns += window_ns;
	load->samples += samples;
	return profile_err(profile) < 0 ? NULL : TAKE(profile);
}

u64 load_time_ns(const struct load *load)
{
	return load->now_ns;
}

u64 load_samples(const struct load *load)
{
	return load->samples;
}

u64 load_frames(const struct load *load)
{
	return load->frames;
}

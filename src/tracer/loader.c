// SPDX-License-Identifier: Apache-2.0
#include "tracer/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/thread.h"
#include "bpf/tracer.skel.h"
#include "lang/lang.h"
#include "proc/pid_namespace.h"
#include "tracer/cgroup.h"
#include "tracer/kernel_check.h"
#include "tracer/packed_object.h"
#include "tracer/probe_hooks.h"
#include "tracer/tables.h"
#include "tracer/tracer.h"

#define POSSIBLE "/sys/devices/system/cpu/possible"
#define CPUS_PER_RING 32
#define RING_BYTES_MIN (1u << 20)
#define RING_BYTES_MAX (16u << 20)
#define RING_BYTES_PER_TICK 4096		/* a second's fit, while the tracer opens a program's files */
#define VERDICTS_COUNT 8192
#define TARGETS_COUNT 16384
#define KIND_HOOKS_MAX 8
#define WAIT_WALKS_DEFAULT 100
#define WAIT_SWITCHES_MAX 200000
#define LANES_MAX 20000		/* rounds of threads a second on a CPU that lanes tell of; more are counted */
#define KICK_RING_BYTES (16u << 10)	/* a thousand of them between two looks */
#define ROWS_DEFAULT_BYTES (16u << 20)

struct loaded_kind {
	struct kind_choice choice;
	struct bpf_object *object;
	struct bpf_link *links[KIND_HOOKS_MAX];	/* of a kind whose programs are at hooks of their own */
	u32 link_count;
	struct bpf_link *account;	/* of those: the one that tells of all threads; NULL: none */
	struct probe_hooks *hooks;	/* of a probe; NULL: it is none */
};

/* The program of a language, for each kind. Its thread has all of it until it is done. */
struct lang_program {
	struct loader *loader;
	const struct lang_ops *ops;
	u32 lang;
	struct thread thread;
	atomic_bool is_done;
	int result;
	struct bpf_object *objects[KIND_MAX];
};

struct loader {
	struct tracer_bpf *skel;
	struct loaded_kind kinds[KIND_MAX];
	u32 kind_count;
	struct lang_program langs[LANG_MAX];
	struct switches switches;
	struct tables *tables;
	int ring_fd[RINGS_MAX], kick_fd[RINGS_MAX];
	int cpu_count;
	u32 log_level;
	u64 period_ns;		/* of the clock */
	char event_names[256];
};

static void lang_program_done(struct lang_program *program)
{
	thread_join(&program->thread);
	for (u32 i = 0; i < KIND_MAX; i++)
		bpf_object__close(program->objects[i]);
}

void loader_free(struct loader *l)
{
	if (!l)
		return;
	tables_free(l->tables);
	loader_pause(l, true, NULL);
	for (u32 i = 0; i < RINGS_MAX; i++) {
		closep(&l->ring_fd[i]);
		closep(&l->kick_fd[i]);
	}
	for (u32 i = 0; i < LANG_MAX; i++)
		lang_program_done(&l->langs[i]);
	for (u32 i = 0; i < KIND_MAX; i++) {
		probe_hooks_free(l->kinds[i].hooks);
		bpf_object__close(l->kinds[i].object);
	}
	tracer_bpf__destroy(l->skel);
	free(l);
}

/* With a level for the verifier, its log is among libbpf's messages: all of them are wanted then. */
static int libbpf_aloud(enum libbpf_print_level level, const char *format, va_list args)
{
	return vfprintf(stderr, format, args);
}

/* libbpf's messages go nowhere unless asked for: the error that matters is told in one sentence. */
static int libbpf_quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	if (!getenv("WICK_LIBBPF_DEBUG"))
		return 0;
	return vfprintf(stderr, format, args);
}

/* How many events of a kind that counts them there are in a second nobody knows. */
static u32 ring_bytes_for(const struct loader *l, u32 frequency_hz, u64 cpus)
{
	u64 want = frequency_hz * cpus * RING_BYTES_PER_TICK;
	u32 bytes = RING_BYTES_MIN;

	if (l->switches.lanes_max)
		return RING_BYTES_MAX;
	for (u32 i = 0; i < l->kind_count; i++)
		if (l->kinds[i].choice.events_per_sample)
			return RING_BYTES_MAX;
	while (bytes < want && bytes < RING_BYTES_MAX)
		bytes *= 2;
	return bytes;
}

/* The highest address that user code can have is just above its first stack; above it lies a signature (arm64). */
static u64 user_va_mask(void)
{
#if REG_RA == 30
	int bits = 64 - __builtin_clzll((u64)(uintptr_t)__builtin_frame_address(0));

	return (1ull << bits) - 1;
#else
	return ~0ull;
#endif
}

u64 loader_user_va_mask(const struct loader *l)
{
	return l->switches.user_va_mask;
}

static int loader_set_filter(struct loader *l, const struct tracer_options *options, struct buf *why)
{
	struct cgroup_filter filter;
	int r = bpf_map__set_max_entries(l->skel->maps.verdicts, options->may_choose ? VERDICTS_COUNT : 64);

	if (r < 0)
		return r;
	if (options->pid_count) {
		l->switches.filter_kind = FILTER_PIDS;
		return bpf_map__set_max_entries(l->skel->maps.targets, TARGETS_COUNT);
	}
	if (!options->cgroup_path)
		return 0;
	r = cgroup_find(options->cgroup_path, &filter, why);
	if (r < 0)
		return r;
	l->switches.filter_kind = FILTER_CGROUP;
	l->switches.filter_cgroup = filter.id;
	l->switches.filter_subsystem = filter.subsystem;
	return 0;
}

static int note_cpu(void *arg, u32 cpu)
{
	u32 *count = arg;

	*count = cpu < *count ? *count : cpu + 1;
	return 0;
}

/* How many numbers CPUs may have: more than there are where some are left out. */
static u32 cpu_numbers(int cpu_count)
{
	u32 count = (u32)cpu_count;
	char list[4096];

	if (io_read_text(POSSIBLE, list, sizeof(list)) > 0)
		(void)sampler_parse_cpus(list, note_cpu, &count);
	return count;
}

static void loader_set_switches(struct loader *l, const struct tracer_options *options)
{
	u32 rings;

	l->cpu_count = libbpf_num_possible_cpus();
	rings = (u32)(l->cpu_count + CPUS_PER_RING - 1) / CPUS_PER_RING;
	l->switches = (struct switches){ .ring_count = rings < RINGS_MAX ? rings : RINGS_MAX,
					 .user_va_mask = user_va_mask(), .filter_subsystem = -1, .may_switch = 1,
					 .pid_namespace = pid_namespace() };
	l->switches.kick_count = (u32)l->cpu_count < RINGS_MAX ? (u32)l->cpu_count : RINGS_MAX;
	l->switches.wait_min_ns = options->waits.min_ns;
	l->switches.wait_walks_max = options->waits.walks_max ? options->waits.walks_max : WAIT_WALKS_DEFAULT;
	l->switches.wait_chance = options->waits.chance;
	l->switches.wait_switches_max = WAIT_SWITCHES_MAX;
	for (u32 i = 0; i < options->kinds.count; i++)
		if (options->kinds.at[i].number == KIND_LANES)
			l->switches.lanes_max = LANES_MAX;
	l->switches.has_task_storage = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1;
	l->switches.ring_bytes = ring_bytes_for(l, options->frequency_hz, (u64)l->cpu_count / l->switches.ring_count);
}

static int loader_make_rings(struct loader *l)
{
	for (u32 i = 0; i < l->switches.ring_count; i++) {
		l->ring_fd[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "traces", 0, 0, (u32)l->switches.ring_bytes, NULL);
		if (l->ring_fd[i] < 0 ||
		    bpf_map_update_elem(bpf_map__fd(l->skel->maps.rings), &i, &l->ring_fd[i], BPF_ANY))
			return -errno;
	}
	return 0;
}

/* Of each kind that has such: rings that make interrupts. */
static int loader_make_kicks(struct loader *l, const struct loaded_kind *k)
{
	int map = bpf_object__find_map_fd_by_name(k->object, "kicks");

	for (u32 i = 0; map >= 0 && i < l->switches.kick_count; i++) {
		l->kick_fd[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "kicks", 0, 0, KICK_RING_BYTES, NULL);
		if (l->kick_fd[i] < 0 || bpf_map_update_elem(map, &i, &l->kick_fd[i], BPF_ANY))
			return -errno;
	}
	return 0;
}

static int loader_set_targets(struct loader *l, const struct tracer_options *options)
{
	struct target target = { .follow = options->follow_children };

	for (size_t i = 0; i < options->pid_count; i++) {
		u32 pid = (u32)options->pids[i] | (l->switches.pid_namespace ? TARGET_NUMBERED : 0);

		if (bpf_map_update_elem(bpf_map__fd(l->skel->maps.targets), &pid, &target, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int check_kernel(const struct tracer_options *options, struct buf *why)
{
	struct kernel_names names;

	if (options->no_kernel_version_check || kernel_names_read(&names) < 0)
		return 0;
	if (kernel_check(&names, NULL) != KERNEL_FREEZES)
		return 0;
	buf_addf(why, "%s", kernel_verdict_text(KERNEL_FREEZES));
	return -ENOTSUP;
}

static int loader_set_object(const struct loader *l, struct bpf_object *object, const struct switches *switches)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, SWITCHES_SECTION);
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
		if (l->log_level)
			(void)bpf_program__set_log_level(program, l->log_level);	/* of its own, or none */
	return map ? bpf_map__set_initial_value(map, switches, sizeof(*switches)) : -ENOENT;
}

/* The maps of the same name are one and the same in both, but for one. */
static int share_maps(struct bpf_object *object, const struct bpf_object *owner, const char *but)
{
	struct bpf_map *map, *shared;

	bpf_object__for_each_map(map, object) {
		shared = bpf_object__find_map_by_name(owner, bpf_map__name(map));
		if (!shared || bpf_map__is_internal(map) || (but && !strcmp(bpf_map__name(map), but)))
			continue;
		if (bpf_map__reuse_fd(map, bpf_map__fd(shared)))
			return -errno;
	}
	return 0;
}

static int put_walker(const struct loaded_kind *kind, u32 index, const struct bpf_object *object, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	int map = bpf_object__find_map_fd_by_name(kind->object, "walkers");
	int fd = program ? bpf_program__fd(program) : -1;

	return fd < 0 || bpf_map_update_elem(map, &index, &fd, BPF_ANY) ? -ENOTSUP : 0;
}

/* Where tasks have storage of their own there is no map for what is noted of them, or else no storage. */
static int set_thread_maps(const struct loader *l, struct bpf_object *object)
{
	struct bpf_map *storage = bpf_object__find_map_by_name(object, "storage");
	struct bpf_map *threads = bpf_object__find_map_by_name(object, "threads");

	if (!storage || !threads)
		return 0;
	if (l->switches.has_task_storage)
		return bpf_map__set_max_entries(threads, 1);
	return bpf_map__set_autocreate(storage, false);
}

/* Maps and programs hold what they need of the types: who has few descriptors needs this one for a CPU. */
static void close_types(struct bpf_object *object)
{
	struct btf *btf = bpf_object__btf(object);
	int fd = btf ? btf__fd(btf) : -1;

	if (fd < 0)
		return;
	btf__set_fd(btf, -1);
	close(fd);
}

static int load_object(struct bpf_object *object)
{
	int r = bpf_object__load(object);

	if (r == 0)
		close_types(object);
	return r;
}

static int load_kind(struct loader *l, struct loaded_kind *k)
{
	_cleanup_(freep) void *elf = NULL;
	size_t bytes;
	const void *packed = k->choice.kind->object(&bytes);
	int r = packed_object_unpack(packed, bytes, &elf, &bytes);

	if (r < 0)
		return r;
	l->switches.kind = k->choice.number;
	l->switches.period_ns = k->choice.event->type == PERF_TYPE_SOFTWARE && !k->choice.events_per_sample ?
				l->period_ns : 0;
	bpf_object__close(k->object);
	k->object = bpf_object__open_mem(elf, bytes, NULL);
	if (!k->object)
		return -errno;
	r = loader_set_object(l, k->object, &l->switches);
	if (r == 0)
		r = share_maps(k->object, l->skel->obj, "counters");
	if (r == 0)
		r = bpf_map__set_max_entries(bpf_object__find_map_by_name(k->object, "cpus"),
					     cpu_numbers(l->cpu_count));
	if (r == 0)
		r = set_thread_maps(l, k->object);
	if (r == 0 && k->hooks)
		r = probe_hooks_prepare(k->hooks, k->object);
	if (r == 0)
		r = load_object(k->object);
	return r < 0 ? r : put_walker(k, LANG_NUMBER_NONE, k->object, "finish");
}

/* With tail calls, which old kernels do not take in programs such as ours, or else without. */
static int load_kinds(struct loader *l)
{
	for (u32 i = 0; i < l->kind_count; i++) {
		int r = load_kind(l, &l->kinds[i]);

		if (r < 0 && r != -EPERM && r != -EACCES && l->switches.may_switch) {
			l->switches.may_switch = 0;
			r = load_kind(l, &l->kinds[i]);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int loader_load(struct loader *l, const struct tracer_options *options, struct buf *why)
{
	int r;

	l->skel = tracer_bpf__open();
	if (!l->skel) {
		r = -errno;
		buf_addf(why, "cannot prepare the BPF programs: %s", strerror(-r));
		return r;
	}
	loader_set_switches(l, options);
	r = loader_set_filter(l, options, why);
	if (r < 0)
		return r;
	r = loader_set_object(l, l->skel->obj, &l->switches);
	if (r == 0)
		r = load_object(l->skel->obj);
	if (r == 0)
		r = load_kinds(l);
	if (r == -EPERM || r == -EACCES)
		buf_addf(why, "the kernel does not allow wick to load BPF programs: run it as root (sudo), or see "
			      "`wick doctor` for the capabilities it needs");
	else if (r < 0)
		buf_addf(why, "the kernel does not take wick's BPF programs: %s; `wick doctor` tells what is missing",
			 strerror(-r));
	return r;
}

/* Finds what this machine has of the kinds that were chosen. */
static int loader_choose(struct loader *l, const struct tracer_options *options, struct reader *reader, struct buf *why)
{
	struct kind_choices choices;

	kind_choices_sampled(&options->kinds, &choices);
	for (u32 i = 0; i < choices.count; i++) {
		struct kind_choice *choice = &l->kinds[i].choice;
		size_t len = strlen(l->event_names);
		int r;

		*choice = choices.at[i];
		l->kind_count++;
		if (choice->probe && choice->kind->events->type == KIND_EVENT_HOOKS) {
			r = probe_hooks_new(choice->probe, reader, &l->kinds[i].hooks, why);
			if (r < 0)
				return r;
		}
		r = sampler_probe(choice, &choice->event);
		if (r < 0) {
			buf_addf(why, "perf events cannot be opened (%s: %s): run wick as root (sudo), or see `wick "
				      "doctor`", choice->kind->name, strerror(-r));
			return r;
		}
		if (choice->event->type == KIND_EVENT_HOOKS)
			snprintf(l->event_names + len, sizeof(l->event_names) - len, "%s%s", len ? ", " : "",
				 choice->event->name);
		else if (choice->events_per_sample)
			snprintf(l->event_names + len, sizeof(l->event_names) - len, "%s1 of %llu %s", len ? ", " : "",
				 (unsigned long long)choice->events_per_sample, choice->event->name);
		else
			snprintf(l->event_names + len, sizeof(l->event_names) - len, "%s%u a second by %s",
				 len ? ", " : "", options->frequency_hz, choice->event->name);
	}
	return 0;
}

int loader_open(const struct tracer_options *options, struct reader *reader, struct loader **ret_loader,
		struct buf *why)
{
	_cleanup_(loader_freep) struct loader *l = calloc(1, sizeof(*l));
	size_t rows_bytes = options->rows_max_bytes ? options->rows_max_bytes : ROWS_DEFAULT_BYTES;
	int r;

	if (!l)
		return -ENOMEM;
	memset(l->ring_fd, -1, sizeof(l->ring_fd));
	memset(l->kick_fd, -1, sizeof(l->kick_fd));
	l->log_level = options->verifier_log_level;
	l->period_ns = 1000000000ull / options->frequency_hz;
	libbpf_set_print(l->log_level ? libbpf_aloud : libbpf_quiet);
	r = check_kernel(options, why);
	if (r == 0)
		r = pid_namespace_check_proc(why);
	if (r == 0)
		r = loader_choose(l, options, reader, why);
	if (r < 0)
		return r;
	r = loader_load(l, options, why);
	if (r < 0)
		return r;
	r = loader_make_rings(l);
	for (u32 i = 0; r == 0 && i < l->kind_count; i++)
		r = loader_make_kicks(l, &l->kinds[i]);
	if (r == 0)
		r = loader_set_targets(l, options);
	if (r == 0)
		r = tables_new(l->skel, (u32)rows_bytes, &l->tables);
	if (r < 0) {
		buf_addf(why, "cannot make the BPF maps: %s", strerror(-r));
		return r;
	}
	*ret_loader = TAKE(l);
	return 0;
}

/* A program that another tail-calls is of the same type. What it keeps of objects is the same for all kinds. */
static int load_lang(struct lang_program *program, u32 kind, const void *elf, size_t bytes)
{
	const struct loader *l = program->loader;
	const struct loaded_kind *k = &l->kinds[kind];
	struct bpf_object *object = program->objects[kind] = bpf_object__open_mem(elf, bytes, NULL);
	struct bpf_program *walker, *sample = bpf_object__find_program_by_name(k->object, "sample");
	struct switches switches = l->switches;
	struct bpf_map *kept;
	int r;

	if (!object)
		return -errno;
	walker = bpf_object__find_program_by_name(object, "walk_language");
	if (!walker || !sample)
		return -ENOENT;
	bpf_program__set_type(walker, bpf_program__type(sample));
	bpf_program__set_expected_attach_type(walker, bpf_program__expected_attach_type(sample));
	switches.kind = k->choice.number;
	r = loader_set_object(l, object, &switches);
	if (r == 0)
		r = share_maps(object, k->object, NULL);
	kept = bpf_object__find_map_by_name(object, "kept");
	if (r == 0 && kept && kind > 0)
		r = bpf_map__reuse_fd(kept, bpf_object__find_map_fd_by_name(program->objects[0], "kept"));
	if (r == 0)
		r = load_object(object);
	return r < 0 ? r : put_walker(k, program->lang, object, "walk_language");
}

static void *load_lang_kinds(void *arg)
{
	struct lang_program *program = arg;
	_cleanup_(freep) void *elf = NULL;
	size_t bytes;
	const void *packed = program->ops->object(&bytes);

	program->result = packed_object_unpack(packed, bytes, &elf, &bytes);
	for (u32 i = 0; program->result == 0 && i < program->loader->kind_count; i++)
		program->result = load_lang(program, i, elf, bytes);
	atomic_store(&program->is_done, true);
	return NULL;
}

int loader_load_lang(struct loader *l, u32 lang, const struct lang_ops *ops)
{
	struct lang_program *program = &l->langs[lang];

	if (!l->switches.may_switch)
		return -ENOTSUP;
	if (!program->loader) {
		program->loader = l;
		program->ops = ops;
		program->lang = lang;
		if (thread_start(&program->thread, "wick: programs", load_lang_kinds, program) < 0)
			(void)load_lang_kinds(program);
	}
	return atomic_load(&program->is_done) ? program->result : -EINPROGRESS;
}

int loader_recall(const struct loader *l, const struct kept_key *key, struct kept_objects *ret_kept)
{
	const struct lang_program *program = key->lang < LANG_MAX ? &l->langs[key->lang] : NULL;
	int fd = program && atomic_load(&program->is_done) && program->objects[0] ?
		 bpf_object__find_map_fd_by_name(program->objects[0], "kept") : -1;

	return fd >= 0 && bpf_map_lookup_elem(fd, key, ret_kept) == 0 ? 0 : -ENOENT;
}

int loader_attach(struct loader *l, struct buf *why)
{
	l->skel->links.forked = bpf_program__attach(l->skel->progs.forked);
	if (!l->skel->links.forked)
		return -errno;
	l->skel->links.freed = bpf_program__attach(l->skel->progs.freed);
	if (!l->skel->links.freed)
		return -errno;
	return loader_pause(l, false, why);
}

/* All of a kind's programs but the one that others go on in. */
static int attach_hooks(struct loaded_kind *k)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, k->object) {
		if (!strcmp(bpf_program__name(program), "finish") || k->link_count == KIND_HOOKS_MAX)
			continue;
		k->links[k->link_count] = bpf_program__attach(program);
		if (!k->links[k->link_count])
			return -errno;
		if (!strcmp(bpf_program__name(program), "account"))
			k->account = k->links[k->link_count];
		k->link_count++;
	}
	return 0;
}

int loader_pause(struct loader *l, bool pause, struct buf *why)
{
	int r = 0;

	for (u32 i = 0; r == 0 && i < l->kind_count; i++) {
		struct loaded_kind *k = &l->kinds[i];

		k->account = pause ? NULL : k->account;
		while (pause && k->link_count)
			bpf_link__destroy(k->links[--k->link_count]);
		if (pause && k->hooks)
			probe_hooks_detach(k->hooks);
		else if (k->hooks)
			r = probe_hooks_attach(k->hooks, k->object, why);
		else if (!pause && !k->link_count && k->choice.event->type == KIND_EVENT_HOOKS)
			r = attach_hooks(k);
	}
	return r;
}

int loader_accounts(const struct loader *l)
{
	for (u32 i = 0; i < l->kind_count; i++)
		if (l->kinds[i].account) {
			int fd = bpf_iter_create(bpf_link__fd(l->kinds[i].account));

			return fd < 0 ? -errno : fd;
		}
	return -ENOENT;
}

int loader_obi_threads_fd(const struct loader *l)
{
	return bpf_map__fd(l->skel->maps.obi_threads);
}

struct tables *loader_tables(const struct loader *l)
{
	return l->tables;
}

u32 loader_events(const struct loader *l, struct sampler_event ret_events[KIND_MAX])
{
	u32 count = 0;

	for (u32 i = 0; i < l->kind_count; i++) {
		const struct loaded_kind *k = &l->kinds[i];
		struct bpf_program *sample = bpf_object__find_program_by_name(k->object, "sample");

		if (k->choice.event->type != KIND_EVENT_HOOKS)
			ret_events[count++] = (struct sampler_event){ k->choice.event, k->choice.events_per_sample,
								      bpf_program__fd(sample),
								      k->choice.number == KIND_CPU };
	}
	return count;
}

u32 loader_kind_count(const struct loader *l)
{
	return l->kind_count;
}

const struct kind *loader_kind(const struct loader *l, u32 index)
{
	return l->kinds[index].choice.kind;
}

const char *loader_event_names(const struct loader *l)
{
	return l->event_names;
}

u32 loader_ring_count(const struct loader *l)
{
	return l->switches.ring_count;
}

int loader_ring_fd(const struct loader *l, u32 index)
{
	return l->ring_fd[index];
}

int loader_set_pace(const struct loader *l, const struct pace *pace)
{
	u32 zero = 0;

	return bpf_map_update_elem(bpf_map__fd(l->skel->maps.pace), &zero, pace, BPF_ANY) ? -errno : 0;
}

int loader_kick_fd(const struct loader *l, u32 index)
{
	return index < RINGS_MAX ? l->kick_fd[index] : -1;
}

/* Some, from the first on: each is a system call. */
static void add_counters(const struct loader *l, int map, u32 first, u32 count, u64 values[COUNTER_COUNT])
{
	u64 *of_cpus = calloc((size_t)l->cpu_count, sizeof(*of_cpus));

	for (u32 i = first; of_cpus && i < first + count; i++) {
		if (bpf_map_lookup_elem(map, &i, of_cpus))
			continue;
		for (int cpu = 0; cpu < l->cpu_count; cpu++)
			values[i] += of_cpus[cpu];
	}
	free(of_cpus);
}

/* What CPUs have not given to a sample yet. */
static u64 owed_by_probe(const struct loader *l, const struct loaded_kind *k)
{
	int map = bpf_object__find_map_fd_by_name(k->object, "cpus");
	struct bpf_map *cpus = bpf_object__find_map_by_name(k->object, "cpus");
	size_t bytes = bpf_map__value_size(cpus);
	_cleanup_(freep) char *state = malloc(bytes);
	u64 owed = 0;

	for (u32 cpu = 0; state && cpu < cpu_numbers(l->cpu_count); cpu++) {
		struct probe_turn turn;

		if (bpf_map_lookup_elem(map, &cpu, state))
			continue;
		memcpy(&turn, state + bytes - sizeof(turn), sizeof(turn));
		owed += turn.owed;
	}
	return owed;
}

/* Those of no kind, of tables that are full, are with the first. */
void loader_counters(const struct loader *l, u32 index, u64 ret_values[COUNTER_COUNT])
{
	memset(ret_values, 0, COUNTER_COUNT * sizeof(*ret_values));
	add_counters(l, bpf_object__find_map_fd_by_name(l->kinds[index].object, "counters"), 0, COUNTER_COUNT,
		     ret_values);
	if (l->kinds[index].hooks)
		ret_values[COUNTER_OWED] = owed_by_probe(l, &l->kinds[index]);
	if (index == 0)
		add_counters(l, bpf_map__fd(l->skel->maps.counters), 0, COUNTER_COUNT, ret_values);
}

u64 loader_run_ns(const struct loader *l)
{
	u64 values[COUNTER_COUNT] = { 0 };

	add_counters(l, bpf_map__fd(l->skel->maps.counters), COUNTER_RUN_NS, 1, values);
	for (u32 i = 0; i < l->kind_count; i++)
		add_counters(l, bpf_object__find_map_fd_by_name(l->kinds[i].object, "counters"), COUNTER_RUN_NS, 1,
			     values);
	return values[COUNTER_RUN_NS];
}

// SPDX-License-Identifier: Apache-2.0
#include "tracer/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/buf.h"
#include "bpf/native.skel.h"
#include "lang/lang.h"
#include "tracer/cgroup.h"
#include "tracer/kernel_check.h"
#include "tracer/tables.h"
#include "tracer/tracer.h"

#define POSSIBLE "/sys/devices/system/cpu/possible"
#define RINGS_MAX 64
#define CPUS_PER_RING 32
#define RING_BYTES_MIN (1u << 20)
#define RING_BYTES_MAX (16u << 20)
#define RING_BYTES_PER_TICK 4096		/* a second's fit, while the tracer opens a program's files */
#define TARGETS_COUNT 16384
#define ROWS_DEFAULT_BYTES (16u << 20)

struct loader {
	struct native_bpf *skel;
	struct bpf_object *langs[LANG_MAX];
	struct tables *tables;
	enum sampler_event event;
	int ring_fd[RINGS_MAX];
	u32 ring_count, ring_bytes;
	int cpu_count;
};

void loader_free(struct loader *l)
{
	if (!l)
		return;
	tables_free(l->tables);
	for (u32 i = 0; i < RINGS_MAX; i++)
		closep(&l->ring_fd[i]);
	for (u32 i = 0; i < LANG_MAX; i++)
		bpf_object__close(l->langs[i]);
	native_bpf__destroy(l->skel);
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

static u32 ring_bytes_for(u32 frequency_hz, int cpus)
{
	u64 want = (u64)frequency_hz * (u64)cpus * RING_BYTES_PER_TICK;
	u32 bytes = RING_BYTES_MIN;

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
	return l->skel->rodata->user_va_mask;
}

static int loader_set_filter(struct loader *l, const struct tracer_options *options, struct buf *why)
{
	struct cgroup_filter filter;
	int r;

	if (options->pid_count) {
		l->skel->rodata->filter_kind = FILTER_PIDS;
		return bpf_map__set_max_entries(l->skel->maps.targets, TARGETS_COUNT);
	}
	if (!options->cgroup_path)
		return 0;
	r = cgroup_find(options->cgroup_path, &filter, why);
	if (r < 0)
		return r;
	l->skel->rodata->filter_kind = FILTER_CGROUP;
	l->skel->rodata->filter_cgroup = filter.id;
	l->skel->rodata->filter_subsystem = filter.subsystem;
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
	_cleanup_(closep) int fd = open(POSSIBLE, O_RDONLY | O_CLOEXEC);
	u32 count = (u32)cpu_count;
	char list[4096] = "";

	if (fd >= 0 && read(fd, list, sizeof(list) - 1) > 0)
		(void)sampler_parse_cpus(list, note_cpu, &count);
	return count;
}

static void loader_set_switches(struct loader *l, const struct tracer_options *options)
{
	l->cpu_count = libbpf_num_possible_cpus();
	l->ring_count = (u32)(l->cpu_count + CPUS_PER_RING - 1) / CPUS_PER_RING;
	if (l->ring_count > RINGS_MAX)
		l->ring_count = RINGS_MAX;
	l->ring_bytes = ring_bytes_for(options->frequency_hz, l->cpu_count / (int)l->ring_count);
	l->skel->rodata->ring_count = l->ring_count;
	l->skel->rodata->ring_bytes = l->ring_bytes;
	l->skel->rodata->user_va_mask = user_va_mask();
	if (l->event == SAMPLER_CLOCK)
		l->skel->rodata->period_ns = 1000000000ull / options->frequency_hz;
}

static int loader_make_rings(struct loader *l)
{
	for (u32 i = 0; i < l->ring_count; i++) {
		l->ring_fd[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "traces", 0, 0, l->ring_bytes, NULL);
		if (l->ring_fd[i] < 0 ||
		    bpf_map_update_elem(bpf_map__fd(l->skel->maps.rings), &i, &l->ring_fd[i], BPF_ANY))
			return -errno;
	}
	return 0;
}

static int loader_set_targets(struct loader *l, const struct tracer_options *options)
{
	struct target target = { .follow = options->follow_children };

	for (size_t i = 0; i < options->pid_count; i++) {
		u32 pid = (u32)options->pids[i];

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

static void loader_set_log_level(struct loader *l, u32 level)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, l->skel->obj)
		(void)bpf_program__set_log_level(program, level);	/* programs that are loaded already have none */
}

/* may_switch: with tail calls, which old kernels do not take in programs such as ours. */
static int loader_try(struct loader *l, const struct tracer_options *options, bool may_switch, struct buf *why)
{
	int r;

	native_bpf__destroy(l->skel);
	l->skel = native_bpf__open();
	if (!l->skel) {
		r = -errno;
		buf_addf(why, "cannot prepare the BPF programs: %s", strerror(-r));
		return r;
	}
	loader_set_switches(l, options);
	l->skel->rodata->may_switch = may_switch;
	r = bpf_map__set_max_entries(l->skel->maps.cpus, cpu_numbers(l->cpu_count));
	if (r == 0)
		r = loader_set_filter(l, options, why);
	if (r < 0)
		return r;
	if (options->verifier_log_level)
		loader_set_log_level(l, options->verifier_log_level);
	return native_bpf__load(l->skel);
}

static int loader_set_finish(struct loader *l)
{
	u32 none = LANG_NONE;
	int fd = bpf_program__fd(l->skel->progs.finish);

	return bpf_map_update_elem(bpf_map__fd(l->skel->maps.walkers), &none, &fd, BPF_ANY) ? -errno : 0;
}

static int loader_load(struct loader *l, const struct tracer_options *options, struct buf *why)
{
	int r = loader_try(l, options, true, why);

	if (r < 0 && r != -EPERM && r != -EACCES && !why->len)
		r = loader_try(l, options, false, why);
	if (r < 0 && why->len)
		return r;
	if (r == 0)
		r = loader_set_finish(l);
	if (r == -EPERM || r == -EACCES)
		buf_addf(why, "the kernel does not allow wick to load BPF programs: run it as root (sudo), or see "
			      "`wick doctor` for the capabilities it needs");
	else if (r < 0)
		buf_addf(why, "the kernel does not take wick's BPF programs: %s; `wick doctor` tells what is missing",
			 strerror(-r));
	return r;
}

int loader_open(const struct tracer_options *options, struct loader **ret_loader, struct buf *why)
{
	_cleanup_(loader_freep) struct loader *l = calloc(1, sizeof(*l));
	size_t rows_bytes = options->rows_max_bytes ? options->rows_max_bytes : ROWS_DEFAULT_BYTES;
	int r;

	if (!l)
		return -ENOMEM;
	memset(l->ring_fd, -1, sizeof(l->ring_fd));
	libbpf_set_print(options->verifier_log_level ? libbpf_aloud : libbpf_quiet);
	r = check_kernel(options, why);
	if (r < 0)
		return r;
	r = sampler_probe(options->event);
	if (r < 0) {
		buf_addf(why, "perf events cannot be opened (%s): run wick as root (sudo), or see `wick doctor`",
			 strerror(-r));
		return r;
	}
	l->event = (enum sampler_event)r;
	r = loader_load(l, options, why);
	if (r < 0)
		return r;
	r = loader_make_rings(l);
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

/* The maps of the same name are one and the same in all objects. */
static int share_maps(struct loader *l, struct bpf_object *object)
{
	struct bpf_map *map, *ours;

	bpf_object__for_each_map(map, object) {
		ours = bpf_object__find_map_by_name(l->skel->obj, bpf_map__name(map));
		if (ours && !bpf_map__is_internal(map) && bpf_map__reuse_fd(map, bpf_map__fd(ours)))
			return -errno;
	}
	return 0;
}

int loader_load_lang(struct loader *l, u32 lang, const struct lang_ops *ops)
{
	struct bpf_program *program;
	size_t bytes;
	const void *elf = ops->object(&bytes);
	int fd, r;

	if (!l->skel->rodata->may_switch)
		return -ENOTSUP;
	l->langs[lang] = bpf_object__open_mem(elf, bytes, NULL);
	if (!l->langs[lang])
		return -errno;
	r = share_maps(l, l->langs[lang]);
	if (r == 0)
		r = bpf_object__load(l->langs[lang]);
	if (r < 0)
		return r;
	program = bpf_object__find_program_by_name(l->langs[lang], "walk_language");
	fd = program ? bpf_program__fd(program) : -1;
	return fd < 0 || bpf_map_update_elem(bpf_map__fd(l->skel->maps.walkers), &lang, &fd, BPF_ANY) ? -ENOTSUP : 0;
}

int loader_recall(const struct loader *l, const struct kept_key *key, struct kept_objects *ret_kept)
{
	const struct bpf_object *object = key->lang < LANG_MAX ? l->langs[key->lang] : NULL;
	int fd = object ? bpf_object__find_map_fd_by_name(object, "kept") : -1;

	return fd >= 0 && bpf_map_lookup_elem(fd, key, ret_kept) == 0 ? 0 : -ENOENT;
}

int loader_attach(struct loader *l)
{
	l->skel->links.forked = bpf_program__attach(l->skel->progs.forked);
	if (!l->skel->links.forked)
		return -errno;
	l->skel->links.freed = bpf_program__attach(l->skel->progs.freed);
	return l->skel->links.freed ? 0 : -errno;
}

struct tables *loader_tables(const struct loader *l)
{
	return l->tables;
}

enum sampler_event loader_event(const struct loader *l)
{
	return l->event;
}

int loader_program_fd(const struct loader *l)
{
	return bpf_program__fd(l->skel->progs.sample);
}

u32 loader_ring_count(const struct loader *l)
{
	return l->ring_count;
}

int loader_ring_fd(const struct loader *l, u32 index)
{
	return l->ring_fd[index];
}

void loader_counters(const struct loader *l, u64 ret_values[COUNTER_COUNT])
{
	u64 *of_cpus = calloc((size_t)l->cpu_count, sizeof(*of_cpus));

	memset(ret_values, 0, COUNTER_COUNT * sizeof(*ret_values));
	for (u32 i = 0; of_cpus && i < COUNTER_COUNT; i++) {
		if (bpf_map_lookup_elem(bpf_map__fd(l->skel->maps.counters), &i, of_cpus))
			continue;
		for (int cpu = 0; cpu < l->cpu_count; cpu++)
			ret_values[i] += of_cpus[cpu];
	}
	free(of_cpus);
}

// SPDX-License-Identifier: Apache-2.0
#include "tracer/probe_hooks.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/buf.h"
#include "exe/probe_points.h"
#include "tracer/probe_file.h"
#include "tracer/tracepoint.h"
#include "tracer/usdt_argument.h"

#define LINKS_MAX (2 * PROBE_POINTS_MAX)
_Static_assert(PROBE_POINTS_MAX <= PROBE_PLACES_MAX, "each place has its value");

/* One of the two events. */
struct side {
	const struct probe_point *point;
	struct probe_file file;		/* of user code */
	char *format;			/* of a tracepoint */
};

struct probe_hooks {
	const struct probe *probe;
	struct side start, end;
	struct probe_setup setup;
	struct bpf_link *links[LINKS_MAX];
	u32 link_count;
};

static void side_done(struct side *side)
{
	probe_file_done(&side->file);
	free(side->format);
}

void probe_hooks_free(struct probe_hooks *hooks)
{
	if (!hooks)
		return;
	probe_hooks_detach(hooks);
	side_done(&hooks->start);
	side_done(&hooks->end);
	free(hooks);
}

/* ---- What there is ---- */

static int check_kernel(const struct probe_point *point, struct buf *why)
{
	bool user = probe_is_of_user(point);

	if (point->type == PROBE_TRACEPOINT ||
	    access(user ? "/sys/bus/event_source/devices/uprobe" : "/sys/bus/event_source/devices/kprobe", F_OK) == 0)
		return 0;
	buf_addf(why, "%s cannot be set: this kernel was built without %s", probe_type_text(point->type),
		 user ? "CONFIG_UPROBE_EVENTS" : "CONFIG_KPROBES; look for a tracepoint instead (`wick probes`)");
	return -EOPNOTSUPP;
}

static int side_find(struct side *side, const struct probe_point *point, struct reader *reader, struct buf *why)
{
	int r = check_kernel(point, why);

	side->point = point;
	if (r < 0)
		return r;
	if (probe_is_of_user(point))
		return probe_file_open(point, reader, &side->file, why);
	if (point->type != PROBE_TRACEPOINT)
		return 0;
	r = tracepoint_format(point->target, point->symbol, &side->format);
	if (r < 0)
		tracepoint_tell(point->target, point->symbol, r, why);
	return r;
}

/* ---- Where values are ---- */

static int refuse(struct buf *why, const struct probe_point *point, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	buf_addf(why, "%s:%s%s%s: %s", probe_type_text(point->type), point->target, *point->target ? ":" : "",
		 point->symbol, text);
	return -EINVAL;
}

static int read_field(const struct side *side, const struct probe_operand *operand, struct probe_read *read,
		      struct buf *why)
{
	const char *at = side->format;
	struct tracepoint_field field;
	struct buf known;

	buf_init(&known, 4096);
	while (tracepoint_next_field(&at, &field)) {
		if (strncmp(field.name, "common_", 7))
			buf_addf(&known, "%s %s", known.len ? "," : "", field.name);
		if (strcmp(field.name, operand->field))
			continue;
		buf_done(&known);
		if (!field.is_number || (operand->is_pointer && field.bytes != 8))
			return refuse(why, side->point, "args.%s is not a number", operand->field);
		*read = (struct probe_read){ .from = operand->is_pointer ? PROBE_FROM_MEMORY : PROBE_FROM_CONTEXT,
					     .bytes = (u8)field.bytes, .is_signed = field.is_signed,
					     .base = operand->is_pointer ? field.offset : 0,
					     .offset = operand->is_pointer ? 0 : field.offset };
		return 0;
	}
	(void)refuse(why, side->point, "there is no args.%s; there are%s", operand->field,
		     known.len ? known.data : " none");
	buf_done(&known);
	return -EINVAL;
}

static int read_function(const struct side *side, const struct probe_operand *operand, struct probe_read *read,
			 struct buf *why)
{
	bool in_register = operand->number < REGISTER_ARGUMENTS;

	*read = (struct probe_read){ .from = PROBE_FROM_CONTEXT, .bytes = 8 };
	if (operand->word == PROBE_WORD_RESULT) {
		read->offset = register_of_result();
		return 0;
	}
	if (in_register && operand->is_pointer)
		*read = (struct probe_read){ .from = PROBE_FROM_MEMORY, .bytes = 8,
					     .base = register_of_argument(operand->number) };
	else if (in_register)
		read->offset = register_of_argument(operand->number);
	else if (operand->is_pointer || side->point->type == PROBE_KPROBE)
		return refuse(why, side->point, "arg%u is on the stack: only those before it can be taken so",
			      operand->number);
	else
		*read = (struct probe_read){ .from = PROBE_FROM_MEMORY, .bytes = 8, .base = register_of_stack(),
					     .offset = STACK_ARGUMENTS_AT +
						       8 * (operand->number - REGISTER_ARGUMENTS) };
	return 0;
}

static int read_marker(const struct side *side, const struct probe_operand *operand, u32 place,
		       struct probe_read *ret_read, struct buf *why)
{
	const char *arguments = side->file.points->at[place].arguments;
	int r = usdt_argument(arguments, operand->number, ret_read);

	if (r == 0 && operand->is_pointer) {
		if (ret_read->from != PROBE_FROM_CONTEXT)
			r = -EOPNOTSUPP;
		*ret_read = (struct probe_read){ .from = PROBE_FROM_MEMORY, .bytes = 8, .base = (u32)ret_read->offset };
	}
	if (r < 0)
		return refuse(why, side->point, "arg%u %s; the marker has \"%.100s\"", operand->number, r == -ENOENT ?
			      "is not there" : "is where wick cannot read it", arguments);
	return 0;
}

/* The same at all places of a marker, or -EXDEV. */
static int read_markers(const struct side *side, const struct probe_operand *operand, struct probe_read *read,
			struct buf *why)
{
	int r = read_marker(side, operand, 0, read, why);

	for (u32 i = 1; r == 0 && i < side->file.points->count; i++) {
		struct probe_read other;

		r = read_marker(side, operand, i, &other, why);
		if (r == 0 && memcmp(&other, read, sizeof(other)))
			return -EXDEV;
	}
	return r;
}

static int read_of(const struct side *side, const struct probe_operand *operand, struct probe_read *read,
		   struct buf *why)
{
	if (operand->word == PROBE_WORD_NONE || operand->word == PROBE_WORD_COUNT)
		return 0;
	if (operand->word == PROBE_WORD_THREAD || operand->word == PROBE_WORD_TIME) {
		read->from = operand->word == PROBE_WORD_THREAD ? PROBE_FROM_THREAD : PROBE_FROM_TIME;
		return 0;
	}
	if (operand->word == PROBE_WORD_FIELD)
		return read_field(side, operand, read, why);
	if (side->point->type == PROBE_USDT)
		return read_markers(side, operand, read, why);
	return read_function(side, operand, read, why);
}

static u32 hook_of(const struct probe_point *point)
{
	if (point->type == PROBE_TRACEPOINT)
		return PROBE_HOOK_FIELDS;
	if (point->type == PROBE_URETPROBE)
		return PROBE_HOOK_RETURN;
	return probe_is_of_user(point) ? PROBE_HOOK_USER : PROBE_HOOK_KERNEL;
}

static int side_setup(const struct side *side, const struct probe_operand *value, struct probe_side *ret_side,
		      struct buf *why)
{
	const struct probe_point *point = side->point;
	struct probe_side to = { .hook = hook_of(point), .test = point->test, .against = point->against };
	int r = read_of(side, &point->tested, &to.tested, why);

	for (u32 i = 0; r == 0 && i < PROBE_KEYS_MAX; i++)
		r = read_of(side, &point->key[i], &to.key[i], why);
	if (r == -EXDEV)
		return refuse(why, point, "tests and keys are not at the same place in all of its %u places",
			      side->file.points->count);
	if (r == 0 && value)
		r = read_of(side, value, &to.value, why);
	if (r == 0 || r == -EXDEV)
		*ret_side = to;
	return r;
}

/* Places that have their value in different registers are told apart by what they are attached with. */
static int setup_places(struct probe_hooks *hooks, struct buf *why)
{
	const struct side *side = &hooks->start;
	int r = 0;

	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie, NULL) != 1)
		return refuse(why, side->point, "arg%u is at different places in the code, which needs Linux 5.15",
			      hooks->probe->value.number);
	for (u32 i = 0; r == 0 && i < side->file.points->count; i++)
		r = read_marker(side, &hooks->probe->value, i, &hooks->setup.place_value[i], why);
	hooks->setup.place_count = side->file.points->count;
	hooks->setup.start.value.from = PROBE_FROM_NUMBER;	/* there is one */
	return r;
}

static int setup(struct probe_hooks *hooks, struct buf *why)
{
	const struct probe_operand *value = &hooks->probe->value;
	bool at_end = hooks->probe->has_end && (value->of_end || value->word == PROBE_WORD_TIME);
	int r = side_setup(&hooks->start, at_end ? NULL : value, &hooks->setup.start, why);

	if (r == -EXDEV && !hooks->probe->has_end)
		r = setup_places(hooks, why);
	if (r == 0 && hooks->probe->has_end)
		r = side_setup(&hooks->end, at_end ? value : NULL, &hooks->setup.end, why);
	if (r == -EXDEV)
		return refuse(why, hooks->start.point, "the value is not at the same place in all of its places");
	hooks->setup.walks_max = hooks->probe->rate;
	return r;
}

int probe_hooks_new(const struct probe *probe, struct reader *reader, struct probe_hooks **ret_hooks, struct buf *why)
{
	_cleanup_(probe_hooks_freep) struct probe_hooks *hooks = calloc(1, sizeof(*hooks));
	int r;

	if (!hooks)
		return -ENOMEM;
	hooks->probe = probe;
	hooks->start.file = hooks->end.file = PROBE_FILE_EMPTY;
	r = side_find(&hooks->start, &probe->start, reader, why);
	if (r == 0 && probe->has_end)
		r = side_find(&hooks->end, &probe->end, reader, why);
	if (r == 0)
		r = setup(hooks, why);
	if (r < 0)
		return r;
	*ret_hooks = TAKE(hooks);
	return 0;
}

/* ---- The object ---- */

static void set_type(struct bpf_object *object, const char *name, const struct probe_point *point)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	bpf_program__set_type(program, point->type == PROBE_TRACEPOINT ? BPF_PROG_TYPE_TRACEPOINT :
						BPF_PROG_TYPE_KPROBE);
	bpf_program__set_expected_attach_type(program, 0);
}

int probe_hooks_prepare(const struct probe_hooks *hooks, struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, PROBE_SECTION);

	if (!map)
		return -ENOENT;
	set_type(object, "sample", &hooks->probe->start);
	set_type(object, "finish", &hooks->probe->start);
	if (hooks->probe->has_end)
		set_type(object, "ended", &hooks->probe->end);
	else
		bpf_program__set_autoload(bpf_object__find_program_by_name(object, "ended"), false);
	if (!hooks->probe->has_end)
		(void)bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "pairs"), 1);
	return bpf_map__set_initial_value(map, &hooks->setup, sizeof(hooks->setup));
}

static struct bpf_link *attach_place(const struct side *side, u32 place, struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options);
	char path[32];

	options.retprobe = side->point->type == PROBE_URETPROBE;
	options.ref_ctr_offset = side->file.points->at[place].semaphore_fo;
	if (place)
		options.bpf_cookie = place;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", side->file.fd);
	return bpf_program__attach_uprobe_opts(program, -1, path, side->file.points->at[place].fo, &options);
}

/* By the number in its format: libbpf would look for that where tracefs is mounted for all. */
static struct bpf_link *attach_tracepoint(const struct side *side, struct bpf_program *program)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	struct bpf_link *link;
	u64 id;
	int fd, r = tracepoint_id(side->format, &id);

	if (r < 0) {
		errno = -r;
		return NULL;
	}
	attr.config = id;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return NULL;
	link = bpf_program__attach_perf_event(program, fd);	/* which owns it from then on */
	if (!link)
		(void)close(fd);
	return link;
}

static struct bpf_link *attach_one(const struct side *side, u32 place, struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_kprobe_opts, options);

	if (probe_is_of_user(side->point))
		return attach_place(side, place, program);
	if (side->point->type == PROBE_TRACEPOINT)
		return attach_tracepoint(side, program);
	options.retprobe = side->point->type == PROBE_KRETPROBE;
	options.offset = side->point->offset;
	return bpf_program__attach_kprobe_opts(program, side->point->symbol, &options);
}

static int tell(const struct probe_point *point, int error, struct buf *why)
{
	if (error == -EPERM || error == -EACCES)
		(void)refuse(why, point, "the kernel does not allow it%s", probe_is_of_user(point) ?
			     " without CAP_SYS_ADMIN: run wick as root (sudo); a service that has got its first probe "
			     "by a reload is to be started again" : ": run wick as root (sudo)");
	else if (error == -ENOENT && (point->type == PROBE_KPROBE || point->type == PROBE_KRETPROBE))
		(void)refuse(why, point, "the kernel has no such function, or it cannot be probed");
	else
		(void)refuse(why, point, "the kernel does not take it: %s", strerror(-error));
	return error;
}

static int attach_side(struct probe_hooks *hooks, const struct side *side, struct bpf_program *program,
		       struct buf *why)
{
	u32 count = probe_is_of_user(side->point) ? side->file.points->count : 1;

	for (u32 i = 0; i < count && hooks->link_count < LINKS_MAX; i++) {
		struct bpf_link *link = attach_one(side, i, program);

		if (!link)
			return tell(side->point, -errno, why);
		hooks->links[hooks->link_count++] = link;
	}
	return 0;
}

/* Ends first: no start is noted that they would not see. */
int probe_hooks_attach(struct probe_hooks *hooks, struct bpf_object *object, struct buf *why)
{
	int r = 0;

	if (hooks->link_count)
		return 0;
	if (hooks->probe->has_end)
		r = attach_side(hooks, &hooks->end, bpf_object__find_program_by_name(object, "ended"), why);
	if (r == 0)
		r = attach_side(hooks, &hooks->start, bpf_object__find_program_by_name(object, "sample"), why);
	if (r < 0)
		probe_hooks_detach(hooks);
	return r;
}

void probe_hooks_detach(struct probe_hooks *hooks)
{
	while (hooks->link_count)
		bpf_link__destroy(hooks->links[--hooks->link_count]);
}

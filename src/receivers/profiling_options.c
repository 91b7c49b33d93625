// SPDX-License-Identifier: Apache-2.0
#include "receivers/profiling_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "agent/governor.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "lang/lang.h"
#include "proc/environment.h"
#include "proc/memory.h"
#include "receivers/profiling_probes.h"
#include "tracer/sampler.h"

#define ROWS_BYTES (16u << 20)
#define SCALE_MAX 6
#define FIRST_WINDOW_MS 300	/* who starts wick waits for the page */

static const char *const error_modes[] = { "propagate", "ignore", NULL };

/* Languages that have interpreters or runtimes of their own, as the OpenTelemetry profiler names them. */
#define INTERPRETERS(X) X(python) X(perl) X(php) X(hotspot) X(ruby) X(v8) X(dotnet) X(go) X(beam) X(luajit) \
	X(lua)

#define NOT_YET "not supported yet: their code shows as that of the interpreter"
#define AT(member) FIELD(struct profiling_config, member)

#define X(name)                                                                                                 \
	static const struct config_field name##_fields[] = {                                                    \
		{ "disabled", CONFIG_BOOL, .offset = AT(name##_off), .help = "leave its frames native" },       \
		{ "labels", CONFIG_NEEDLESS, .help = "labels of goroutines are always read" },                     \
		{ "symbolization", CONFIG_NEEDLESS, .help = "frames are always named" },                           \
		{ "skip_native_resume", CONFIG_NEEDLESS, .help = "native frames between are always walked" },      \
		{ 0 },                                                                                          \
	};
INTERPRETERS(X)
#undef X

static const struct config_field interpreters_fields[] = {
#define X(name) { #name, CONFIG_SECTION, .any_case = true, .fields = name##_fields, .help = "frames of " #name },
	INTERPRETERS(X)
#undef X
	{ 0 },
};

static const struct config_field governor_fields[] = {
	{ "enabled", CONFIG_BOOL, FIELD(struct profiling_governor, enabled),
	  .help = "past its limit files are read slowly, then inlined functions left out, then stacks cut, then fewer "
		  "samples taken; all is taken up again when there is room" },
	{ "max_cpu", CONFIG_REAL, FIELD(struct profiling_governor, max_cpu), .max = 1e6,
	  .help = "percent of one CPU that all of wick's processes may use, with BPF. 0: what --max-cpu says, else "
		  "1, or 1 for each 16 CPUs" },
	{ "average_over", CONFIG_DURATION, FIELD(struct profiling_governor, average_over_ns), .min = 5e9, .max = 3600e9,
	  .help = "that is an average over so long" },
	{ "senders", CONFIG_BOOL, FIELD(struct profiling_governor, senders),
	  .help = "work for those who send to this wick may take half of that: past it, those who send most are told "
		  "to come later (503). wick without a configuration does so if it listens on this machine only; with "
		  "one it serves all, unless this is true" },
	{ 0 },
};

#define RULE(member, text) { #member, CONFIG_TEXT, .offset = FIELD(struct process_rule, member), .help = text }
#define CONDITIONS                                                                                              \
	RULE(service, "its service.name"),                                                                      \
	RULE(container, "name of its container, or 12 digits and more of the id"),                             \
	RULE(pod, "name of its pod, where the engine of its containers tells, or the uid"),                     \
	RULE(executable, "regular expression: its path"),                                                       \
	RULE(command, "regular expression: its arguments, with blanks between them"),                           \
	RULE(cgroup, "regular expression: a line of /proc/PID/cgroup"),                                         \
	RULE(user, "name or number of the user that it runs as"),                                               \
	{ "pid", CONFIG_INTEGER, .offset = FIELD(struct process_rule, pid), .min = 1, .max = 4194304,           \
	  .help = "its number" }

static const struct config_field condition_fields[] = { CONDITIONS, { 0 } };
static const struct config_field include_fields[] = {
	CONDITIONS,
	{ "rate", CONFIG_REAL, .offset = FIELD(struct process_rule, rate), .min = 0.001, .max = 1,
	  .help = "so much of their samples is taken, rounded to one of N, and each weighs N; 1 if not given" },
	{ 0 },
};
static const struct config_field service_fields[] = {
	RULE(name, "service.name of processes that fit"), RULE(namespace, "service.namespace"),
	RULE(version, "service.version"), RULE(environment, "deployment.environment.name"), CONDITIONS, { 0 },
};

#define LABEL(member, ...) .offset = FIELD(struct thread_label_spec, member), __VA_ARGS__
static const struct config_field thread_label_fields[] = {
	{ "name", CONFIG_TEXT, LABEL(name, .required = true, .help = "the key of the attribute") },
	{ "variable", CONFIG_TEXT,
	  LABEL(variable, .required = true, .help = "the symbol of a thread-local variable, as in nm's list") },
	{ "file", CONFIG_TEXT,
	  LABEL(file, .help = "regular expression: paths of the programs and libraries that it may be in; all if not "
			      "given") },
	{ "type", CONFIG_CHOICE,
	  LABEL(type, .required = true, .choices = thread_label_types,
		.help = "what the variable is; string: an array of characters, pointer: the address of some") },
	{ 0 },
};

#define OPTION(name, type, ...) { #name, CONFIG_##type, .any_case = true, __VA_ARGS__ }
const struct config_field profiling_fields[] = {
	OPTION(kinds, TEXTS, .offset = AT(kinds), .commas = true,
	       .help = "of samples, as wick record -e takes them; cpu if there is none"),
	OPTION(samples_per_second, INTEGER, .offset = AT(samples_per_second), .min = 1, .max = 10000,
	       .help = "on each CPU"),
	OPTION(reporter_interval, DURATION, .offset = AT(reporter_interval_ns), .min = 1e8, .max = 3600e9,
	       .help = "how often a profile is sent"),
	OPTION(reporter_jitter, REAL, .offset = AT(reporter_jitter), .min = 0, .max = 1,
	       .help = "each interval is longer or shorter by up to this part of it"),
	OPTION(probabilistic_interval, DURATION, .offset = AT(probabilistic_interval_ns), .min = 60e9, .max = 300e9,
	       .help = "for each such interval a draw decides whether it is sampled"),
	OPTION(probabilistic_threshold, INTEGER, .offset = AT(probabilistic_threshold), .min = 1, .max = 100,
	       .help = "so many intervals of 100 are sampled"),
	OPTION(tracers, TEXT, .offset = AT(tracers),
	       .help = "older form of interpreters: all, native, or a list of languages with commas"),
	OPTION(interpreters, SECTION, .fields = interpreters_fields,
	       .help = "languages whose own functions are shown: all that are found, unless disabled"),
#define X(name, flag, standard, help_text) OPTION(name, BOOL, .offset = AT(langs.name), .help = help_text),
	LANG_OPTIONS(X)
#undef X
	OPTION(requests, BOOL, .offset = AT(requests),
	       .help = "samples of processes that publish OpenTelemetry's thread context, or have an APM agent of "
		       "Elastic's protocol, get the trace and span that "
		       "the thread worked for"),
	OPTION(thread_labels, SECTIONS, .offset = AT(thread_labels), .fields = thread_label_fields,
	       .element_bytes = sizeof(struct thread_label_spec),
	       .help = "samples get the values of these thread-local variables as attributes; up to 4 "
		       "(docs/requests.md)"),
	OPTION(services, SECTIONS, .offset = AT(services), .fields = service_fields,
	       .element_bytes = sizeof(struct process_rule),
	       .help = "what processes are called, whatever they say: the first rule that fits"),
	OPTION(include, SECTIONS, .offset = AT(include), .fields = include_fields,
	       .element_bytes = sizeof(struct process_rule),
	       .help = "only processes that one of these fits are sampled"),
	OPTION(exclude, SECTIONS, .offset = AT(exclude), .fields = condition_fields,
	       .element_bytes = sizeof(struct process_rule), .help = "... that none of these fits"),
	OPTION(include_env_vars, TEXTS, .offset = AT(include_env_vars), .commas = true,
	       .help = "variables of processes to put into profiles, as process.environment_variable.NAME"),
	OPTION(container_sockets, TEXTS, .offset = AT(container_sockets), .commas = true,
	       .help = "engines that are asked what containers are called: docker:/PATH (Docker, podman) or cri:/PATH "
		       "(containerd, CRI-O); where they usually are if none is given; none: nobody is asked"),
	OPTION(container_labels, TEXTS, .offset = AT(container_labels), .commas = true,
	       .help = "labels of containers to put into profiles, as container.label.KEY"),
	OPTION(filter_min_process_age, DURATION, .offset = AT(filter_min_process_age_ns), .max = 86400e9,
	       .help = "processes younger than that are left out"),
	OPTION(off_cpu_threshold, REAL, .offset = AT(off_cpu_threshold), .min = 0, .max = 1,
	       .help = "part of all waits to sample, whatever their length; 0: by length, if kinds has off_cpu"),
	OPTION(off_cpu_min_duration, DURATION, .offset = AT(off_cpu_min_duration_ns), .max = 3600e9,
	       .help = "waits shorter than that have no stack, but count"),
	OPTION(off_cpu_max_rate, INTEGER, .offset = AT(off_cpu_max_rate), .min = 1, .max = 100000,
	       .help = "stacks of waits, a second on each CPU"),
	OPTION(send_error_frames, BOOL, .offset = AT(send_error_frames),
	       .help = "end stacks that are not whole with a frame that says so"),
	OPTION(send_idle_frames, BOOL, .offset = AT(send_idle_frames), .help = "no effect: idle CPUs are not sampled"),
	OPTION(governor, SECTION, .offset = AT(governor), .fields = governor_fields,
	       .help = "what profiling may cost"),
	OPTION(verbose_mode, BOOL, .offset = AT(verbose_mode), .help = "log what each profile holds"),
	OPTION(map_scale_factor, INTEGER, .offset = AT(map_scale_factor), .max = 8,
	       .help = "each step doubles the memory for unwind tables, 16 MiB at 0, 1 GiB at most"),
	OPTION(bpf_verifier_log_level, INTEGER, .offset = AT(bpf_verifier_log_level), .max = 2,
	       .help = "what the kernel's verifier says goes to standard error"),
	OPTION(no_kernel_version_check, BOOL, .offset = AT(no_kernel_version_check),
	       .help = "run on kernels that reading user memory from BPF can freeze"),
	OPTION(error_mode, CHOICE, .offset = AT(error_mode), .choices = error_modes,
	       .help = "propagate: if sampling cannot start nothing does; ignore: the rest runs"),
	OPTION(pin_cpu_ids, TEXT, .offset = AT(pin_cpu_ids), .help = "sample only these CPUs: 0-3,7"),
	OPTION(obi_process_ctx, BOOL, .offset = AT(obi_process_ctx),
	       .help = "threads that do not say for which request they work are looked up in the map that OBI pins "
		       "(docs/requests.md)"),
	OPTION(bpf_fs_root, TEXT, .offset = AT(bpf_fs_root), .help = "the BPF file system that it is pinned below"),
	OPTION(pid_namespace_translation, BOOL, .offset = AT(pid_namespace_translation),
	       .help = "must be false: pids are those that the host sees"),
	OPTION(probes, NODE, .offset = AT(probes),
	       .help = "events of your own: tracepoint:sched:sched_process_exec, uprobe:FILE:FUNCTION{until=return} "
		       "(docs/probes.md); or {type: kprobe, mode: uprobe, symbol, target}"),
	OPTION(load_probe, NEEDLESS, .help = "programs are loaded when there are probes"),
	OPTION(probe_links, NODE, .offset = AT(probe_links), .help = "older form of probes"),
	OPTION(u_probe_links, NODE, .offset = AT(u_probe_links), .help = "older form of probes"),
	OPTION(monitor_interval, NEEDLESS, .help = "counters are always up to date"),
	OPTION(clock_sync_interval, NEEDLESS, .help = "both clocks are read for each profile"),
	OPTION(frame_cache_size, NEEDLESS, .help = "names that are kept are bounded in bytes"),
	OPTION(max_grpc_retries, NEEDLESS, .help = "exporters have retry_on_failure"),
	OPTION(max_rpc_msg_size, NEEDLESS, .help = "exporters have sending_queue::batch to cut what is too large"),
	{ 0 },
};

const struct profiling_config profiling_defaults = {
	.samples_per_second = 20,
	.requests = true,
	.obi_process_ctx = true,
	.bpf_fs_root = OBI_MAP_ROOT,
	.reporter_interval_ns = 5000000000,
	.reporter_jitter = 0.2,
	.probabilistic_interval_ns = 60000000000,
	.probabilistic_threshold = 100,
	.off_cpu_max_rate = 100,
	.tracers = "",
	.langs = LANG_OPTIONS_STANDARD,
	.pin_cpu_ids = "",
	.send_error_frames = true,
	.governor = { .enabled = true, .average_over_ns = (s64)GOVERNOR_SPAN_NS },
};

/* ---- What goes with what ------------------------------------------------------- */

static bool is_interpreter(const char *at, size_t len)
{
	static const char *const names[] = {
#define X(name) #name,
		INTERPRETERS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (len == strlen(names[i]) && !strncmp(at, names[i], len))
			return true;
	return false;
}

static bool is_tracer(const char *at, size_t len)
{
	static const char *const others[] = { "all", "native", "labels", "node" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (len == strlen(others[i]) && !strncmp(at, others[i], len))
			return true;
	return is_interpreter(at, len);
}

static void check_tracers(const char *list, struct config_place place, const char *path,
			  struct config_errors *errors)
{
	struct buf later;	/* those that are not there */

	buf_init(&later, 1024);
	for (size_t len; (len = lang_next(&list)); list += len) {
		if (!is_tracer(list, len))
			config_error(errors, place, path, "tracers has no %.*s; it has all, native, python, perl, php, "
				     "hotspot, ruby, v8, dotnet, go, beam, luajit, lua", (int)(len < 40 ? len : 40),
				     list);
		else if (is_interpreter(list, len) && !lang_named(list, len))
			buf_addf(&later, "%s%.*s", later.len ? ", " : "", (int)len, list);
	}
	if (later.len)
		config_warning(errors, place, path, "tracers: %s: " NOT_YET, later.data);
	buf_done(&later);
}

u32 profiling_langs_off(const struct profiling_config *config)
{
	u32 off = lang_left_out(config->tracers);

#define X(name) off |= config->name##_off ? 1u << lang_named(#name, strlen(#name)) : 0;
	INTERPRETERS(X)
#undef X
	return off & ~1u;
}

/* Beside what is sampled; whose parts they are, it has them already. */
static int add_waits(struct kind_choices *kinds, struct buf *why)
{
	struct kind_choices sampled;
	int r = kinds->count ? 0 : kind_choices_add(kinds, "cpu", why);

	kind_choices_sampled(kinds, &sampled);
	for (u32 i = 0; i < sampled.count; i++)
		if (sampled.at[i].kind == kind_list[KIND_OFF_CPU])
			return r;
	return r < 0 ? r : kind_choices_add(kinds, "off_cpu", why);
}

int profiling_kinds(const struct profiling_config *config, struct kind_choices *ret_kinds, struct buf *why)
{
	int r = 0;

	*ret_kinds = (struct kind_choices){ 0 };
	for (u32 i = 0; r == 0 && i < config->kinds.count; i++)
		r = kind_choices_add(ret_kinds, config->kinds.at[i], why);
	if (r == 0)
		r = profiling_probes_add(config->probes, ret_kinds, why);
	if (r == 0)
		r = profiling_probes_add(config->probe_links, ret_kinds, why);
	if (r == 0)
		r = profiling_probes_add(config->u_probe_links, ret_kinds, why);
	if (r == 0 && config->off_cpu_threshold > 0)
		r = add_waits(ret_kinds, why);
	return r;
}

static double cpu_max(const struct profiling_governor *governor, double percent)
{
	if (!governor->enabled)
		return 0;
	percent = governor->max_cpu > 0 ? governor->max_cpu : percent;
	return percent > 0 ? percent / 100 : governor_default((u32)get_nprocs());
}

/* What sampling keeps in memory, on a machine or in a control group that is small. */
static void fit_memory(struct agent_options *to)
{
	u64 allowed;

	if (memory_allowed("", &allowed) < 0 || allowed >= MEMORY_SMALL_BYTES)
		return;
	if (to->tracer.rows_max_bytes > allowed / 16)
		to->tracer.rows_max_bytes = (size_t)(allowed / 16);
	to->tracer.waiting_max_bytes = (size_t)(allowed / 32);
	to->symbolizer.memory_max_bytes = (size_t)(allowed / 32);
}

static struct containers_options containers_options(const struct profiling_config *o)
{
	bool is_off = o->container_sockets.count == 1 && !strcmp(o->container_sockets.at[0], "none");

	return (struct containers_options){ o->container_sockets.at, is_off ? 0 : o->container_sockets.count,
					    { o->container_labels.at, o->container_labels.count }, is_off };
}

struct agent_options profiling_agent_options(const struct profiling_config *o, double cpu_percent)
{
	s64 scale = o->map_scale_factor < SCALE_MAX ? o->map_scale_factor : SCALE_MAX;
	struct agent_options to = agent_defaults;

	to.first_ms = FIRST_WINDOW_MS;
	to.tracer.frequency_hz = (u32)o->samples_per_second;
	to.tracer.rows_max_bytes = (size_t)ROWS_BYTES << scale;
	to.tracer.no_kernel_version_check = o->no_kernel_version_check;
	to.tracer.environment = (struct environment_names){ o->include_env_vars.at, o->include_env_vars.count };
	to.tracer.containers = containers_options(o);
	to.tracer.choice = profiling_choice(o);
	to.tracer.may_choose = true;	/* a reload may bring rules */
	to.tracer.process_age_min_ns = (u64)o->filter_min_process_age_ns;
	to.tracer.cpus = *o->pin_cpu_ids ? o->pin_cpu_ids : NULL;
	to.tracer.verifier_log_level = (u32)o->bpf_verifier_log_level;
	to.tracer.langs_off = profiling_langs_off(o);
	to.tracer.waits = (struct wait_options){ (u64)o->off_cpu_min_duration_ns, (u32)o->off_cpu_max_rate,
						 (u32)(o->off_cpu_threshold * 0xffffffffu) };
	to.tracer.lang_wishes = lang_wishes(&o->langs);
	to.tracer.without_requests = !o->requests;
	to.tracer.bpf_root = o->obi_process_ctx ? o->bpf_fs_root : NULL;
	to.tracer.thread_labels = (struct thread_label_specs){ o->thread_labels.at, o->thread_labels.count };
	to.symbolizer.debuginfod_urls = getenv("DEBUGINFOD_URLS");
	to.interval_ms = (u32)(o->reporter_interval_ns / 1000000);
	to.jitter = o->reporter_jitter;
	to.draw_interval_ms = (u32)(o->probabilistic_interval_ns / 1000000);
	to.draw_percent = (u32)o->probabilistic_threshold;
	to.cpu_max = cpu_max(&o->governor, cpu_percent);
	to.cpu_span_ns = (u64)o->governor.average_over_ns;
	fit_memory(&to);
	to.says_host = true;
	to.without_marks = !o->send_error_frames;
	return to;
}

struct process_choice_spec profiling_choice(const struct profiling_config *o)
{
	return (struct process_choice_spec){ { o->services.at, o->services.count }, { o->include.at, o->include.count },
					     { o->exclude.at, o->exclude.count } };
}

bool profiling_is_rule(const char *key)
{
	return !strcmp(key, "services") || !strcmp(key, "include") || !strcmp(key, "exclude");
}

static void check_rules(const struct profiling_config *o, struct config_place place, const char *path,
			struct config_errors *errors)
{
	const struct process_choice_spec spec = profiling_choice(o);
	struct process_choice *choice = NULL;
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 1024);
	if (process_choice_new(&spec, &choice, &why) < 0)
		config_error(errors, place, path, "%s", why.len ? why.data : "out of memory");
	process_choice_free(choice);
}

static void check_thread_labels(const struct profiling_config *o, struct config_place place, const char *path,
				struct config_errors *errors)
{
	const struct thread_label_specs specs = { o->thread_labels.at, o->thread_labels.count };
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 1024);
	if (thread_labels_check(&specs, &why) < 0)
		config_error(errors, place, path, "thread_labels: %s", why.len ? why.data : "out of memory");
}

static void check_containers(const struct profiling_config *o, struct config_place place, const char *path,
			     struct config_errors *errors)
{
	const struct containers_options options = containers_options(o);
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 1024);
	if (containers_check(&options, &why) < 0)
		config_error(errors, place, path, "%s", why.len ? why.data : "out of memory");
}

static void check_kinds(const struct profiling_config *config, struct config_place place, const char *path,
			struct config_errors *errors)
{
	_cleanup_(buf_done) struct buf why;
	struct kind_choices kinds;

	buf_init(&why, 1024);
	if (profiling_kinds(config, &kinds, &why) < 0)
		config_error(errors, place, path, "kinds and probes: %s",
			     buf_err(&why) < 0 ? "out of memory" : why.data);
	kind_choices_done(&kinds);
}

static int count_cpu(void *arg, u32 cpu)
{
	return 0;
}

static void check_env_vars(const struct config_texts *names, struct config_place place, const char *path,
			   struct config_errors *errors)
{
	if (names->count > ENVIRONMENT_NAMES_MAX)
		config_error(errors, place, path, "include_env_vars names %u variables, more than %d", names->count,
			     ENVIRONMENT_NAMES_MAX);
	for (u32 i = 0; i < names->count; i++)
		if (!*names->at[i] || strchr(names->at[i], '=') || strlen(names->at[i]) > 128)
			config_error(errors, place, path, "include_env_vars: \"%.40s\" is not the name of a variable",
				     names->at[i]);
}

void profiling_config_check(const void *options, struct config_place place, const char *path,
			    struct config_errors *errors)
{
	const struct profiling_config *o = options;

	check_kinds(o, place, path, errors);
	check_rules(o, place, path, errors);
	check_thread_labels(o, place, path, errors);
	check_containers(o, place, path, errors);
	check_tracers(o->tracers, place, path, errors);
	check_env_vars(&o->include_env_vars, place, path, errors);
	if (*o->pin_cpu_ids && sampler_parse_cpus(o->pin_cpu_ids, count_cpu, NULL) <= 0)
		config_error(errors, place, path, "pin_cpu_ids: \"%.40s\" is not a list of CPUs; write 0-3,7",
			     o->pin_cpu_ids);
	if (o->send_idle_frames)
		config_warning(errors, place, path, "send_idle_frames has no effect: idle CPUs are not sampled");
	if (o->pid_namespace_translation)
		config_error(errors, place, path, "pid_namespace_translation is not supported: pids are those that "
			     "the host sees; remove it");
}

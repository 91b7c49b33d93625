// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/findings.h"
#include "cmd/live.h"
#include "cmd/probe.h"
#include "cmd/probe_store.h"
#include "profile/profile.h"

#define DOCTOR_OUTPUT_MAX (1u << 20)
#define WINDOW_MS 1000
#define WAIT_MS 100
/* Below these the profile is still right, but something is worth a look. */
#define WHOLE_TEXT_MAX 256
#define ROWS_TOLD 8		/* of cgroups, and of services */
#define SERVICE_NS_MIN 100000000ull
#define WHOLE_PERCENT_GOOD 95.0
#define LOST_PERCENT_GOOD 0.1

struct doctor_values {
	struct live_values live;
	bool json;
	double duration;
	const char *store_path;
};

#define AT(field) offsetof(struct doctor_values, field)
static const struct option_entry doctor_options[] = {
	{ "duration", 'd', OPTION_REAL, AT(duration), "SECONDS", "2", 0, 3600, NULL,
	  "sample for so long, 0 for not at all" },
	{ "store.path", 0, OPTION_TEXT, AT(store_path), "DIRECTORY", "/var/lib/wick", 0, 0, NULL,
	  "the store to look at" },
	{ "json", 0, OPTION_SWITCH, AT(json), NULL, NULL, 0, 0, NULL, "print JSON" },
	LIVE_OPTIONS("99"),
	{ 0 },
};
_Static_assert(AT(live) == 0, "LIVE_OPTIONS() writes there");

struct doctor {
	struct findings findings;
	struct agent_status status;	/* of the sampling, if it could be done */
	bool has_status;
};

/* Takes windows, and throws them away, until the time is over. */
static int sample(struct agent *agent, double seconds)
{
	u64 start = clock_ns(CLOCK_MONOTONIC);
	bool stopped = false;

	for (;;) {
		struct profile *window = NULL;
		int r = agent_next(agent, WAIT_MS, &window);

		profile_free(window);
		if (r < 0)
			return r == -ENODATA ? 0 : r;
		if (!stopped && (double)(clock_ns(CLOCK_MONOTONIC) - start) >= seconds * 1e9) {
			stopped = true;
			agent_stop(agent);
		}
	}
}

static void judge(struct doctor *d, u64 begun_ns)
{
	const struct agent_status *s = &d->status;
	u64 lost = live_lost(s);
	double whole = live_whole_percent(s),
	       lost_percent = 100.0 * (double)lost / (double)(lost + s->samples + !s->samples);
	const struct symbolizer_stats *names = &s->symbols;
	const char *runtime;
	double percent;
	u64 addresses = names->by_symbol + names->by_function_start + names->unnamed;
	bool is_good = whole < 0 || whole >= WHOLE_PERCENT_GOOD;
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, WHOLE_TEXT_MAX);
	live_add_whole(s, &text);
	findings_add(&d->findings, "sampling", FINDING_OK, "", "%llu samples, %s, the first after %.0f ms",
		     (unsigned long long)s->samples, s->event,
		     s->first_sample_ns > begun_ns ? (double)(s->first_sample_ns - begun_ns) / 1e6 : 0);
	findings_add(&d->findings, "stacks", is_good ? FINDING_OK : FINDING_WARN,
		     is_good ? "" : "see the counters below for why the others were cut", "%.*s", (int)text.len,
		     text.data);
	findings_add(&d->findings, "losses", lost_percent <= LOST_PERCENT_GOOD ? FINDING_OK : FINDING_WARN,
		     lost_percent <= LOST_PERCENT_GOOD ? "" : "sample less often (-F)", "%llu samples lost (%.2f %%)",
		     (unsigned long long)lost, lost_percent);
	if (addresses)
		findings_add(&d->findings, "names", FINDING_OK, "",
			     "%.1f %% of %llu addresses have a symbol, %llu the start of their function",
			     100.0 * (double)names->by_symbol / (double)addresses, (unsigned long long)addresses,
			     (unsigned long long)names->by_function_start);
	for (u32 i = 0; live_unread(s, i, &runtime, &percent); i++)
		findings_add(&d->findings, "runtimes", FINDING_WARN, "",
			     "%s: %.1f %% of samples are of processes that run it; its own functions are not read",
			     runtime, percent);
	if (*s->kernel_problem)
		findings_add(&d->findings, "names", FINDING_WARN, "", "%s", s->kernel_problem);
}

static u64 of_row(const struct counter_value *values, u32 count, const char *name, const char *of)
{
	for (u32 i = 0; i < count; i++)
		if (!strcmp(values[i].name, name) && !strcmp(values[i].of, of))
			return values[i].value;
	return 0;
}

/* Of the largest few: sampled time beside the kernel's, and what is whole and named of it. */
static void judge_completeness(struct doctor *d, struct agent *agent)
{
	struct counter_value values[METER_VALUES];
	u32 count = agent_completeness(agent, values), told = 0;

	for (u32 i = 0; i < count && told < ROWS_TOLD; i++) {
		u64 sampled = of_row(values, count, "cgroup_cpu_sampled_ns", values[i].of);

		if (strcmp(values[i].name, "cgroup_cpu_exact_ns") || !values[i].value)
			continue;
		told++;
		findings_add(&d->findings, "complete", FINDING_OK, "",
			     "cgroup %s: %.1f s sampled of %.1f s that the kernel counted (%.0f %%)", values[i].of,
			     (double)sampled / 1e9, (double)values[i].value / 1e9,
			     100.0 * (double)sampled / (double)values[i].value);
	}
	for (u32 i = 0, services = 0; i < count && services < ROWS_TOLD; i++) {
		u64 cut = of_row(values, count, "service_cut_ns", values[i].of), all = cut + values[i].value;
		u64 unnamed = of_row(values, count, "service_unnamed_ns", values[i].of);

		if (strcmp(values[i].name, "service_whole_ns") || all < SERVICE_NS_MIN)
			continue;
		services++;
		findings_add(&d->findings, "complete", FINDING_OK, "",
			     "service %s: %.1f %% of %.1f s has whole stacks, %.1f %% frames without a name",
			     values[i].of, 100.0 * (double)values[i].value / (double)all, (double)all / 1e9,
			     100.0 * (double)unnamed / (double)all);
	}
}

static long milliseconds(struct timeval t)
{
	return t.tv_sec * 1000 + t.tv_usec / 1000;
}

/* Ours and the reader's, which has ended by now. */
static void judge_self(struct findings *findings, double seconds)
{
	struct rusage self, reader;

	if (getrusage(RUSAGE_SELF, &self) < 0 || getrusage(RUSAGE_CHILDREN, &reader) < 0)
		return;
	findings_add(
		findings, "wick", FINDING_OK, "",
		"version %s: memory %ld + %ld KiB at most (agent, reader), CPU %ld + %ld ms in %.1f s, start included",
		WICK_VERSION, self.ru_maxrss, reader.ru_maxrss,
		milliseconds(self.ru_utime) + milliseconds(self.ru_stime),
		milliseconds(reader.ru_utime) + milliseconds(reader.ru_stime), seconds);
}

static void try_sampling(struct doctor *d, const struct doctor_values *v)
{
	struct agent_options options = agent_defaults;
	struct agent *agent = NULL;
	_cleanup_(buf_done) struct buf why;
	u64 begun = clock_ns(CLOCK_MONOTONIC);
	int r;

	buf_init(&why, 4096);
	options.interval_ms = WINDOW_MS;
	r = live_start(&v->live, &options, &agent, &why);
	if (r == 0)
		r = sample(agent, v->duration);
	if (r < 0) {
		findings_add(&d->findings, "sampling", FINDING_BAD, "", "%s", why.len ? why.data : strerror(-r));
	} else {
		agent_status(agent, &d->status);
		d->has_status = true;
		judge(d, begun);
		judge_completeness(d, agent);
	}
	/* What is borrowed from the agent goes with it. */
	d->status.kernel_problem = d->status.event = "";
	agent_free(agent);
	judge_self(&d->findings, (double)(clock_ns(CLOCK_MONOTONIC) - begun) / 1e9);
}

static void print(const struct doctor *d, const struct terminal *terminal, struct buf *out)
{
	findings_print(&d->findings, terminal, out);
	if (!d->has_status)
		return;
	buf_addf(out, "\n%sCounters that are not 0%s\n", terminal_style(terminal, STYLE_BOLD),
		 terminal_style(terminal, STYLE_NONE));
	live_print_counters(&d->status, terminal, out);
}

static void print_json(const struct doctor *d, struct buf *out)
{
	buf_addf(out, "{\"findings\": ");
	findings_json(&d->findings, out);
	if (d->has_status) {
		buf_addf(out, ",\n\"counters\": ");
		live_counters_json(&d->status, out);
	}
	buf_addf(out, "}\n");
}

static int doctor_run(const void *values, int count, char **operands)
{
	const struct doctor_values *v = values;
	_cleanup_(freep) struct doctor *doctor = calloc(1, sizeof(*doctor));
	_cleanup_(buf_done) struct buf out;
	struct terminal terminal;

	buf_init(&out, DOCTOR_OUTPUT_MAX);
	if (!doctor)
		return command_fail(&command_doctor, "out of memory");
	terminal_init(&terminal, STDOUT_FILENO);
	probe_machine(&doctor->findings);
	probe_store(v->store_path, clock_ns(CLOCK_REALTIME), &doctor->findings);
	if (v->duration > 0 && findings_worst(&doctor->findings) != FINDING_BAD)
		try_sampling(doctor, v);
	if (v->json)
		print_json(doctor, &out);
	else
		print(doctor, &terminal, &out);
	if (buf_err(&out) < 0)
		return command_fail(&command_doctor, "out of memory");
	fwrite(out.data, 1, out.len, stdout);
	return findings_worst(&doctor->findings) == FINDING_BAD;
}

const struct command command_doctor = {
	.name = "doctor",
	.help = "say what works on this machine, what does not, and why",
	.operands = "",
	.about = "Looks at the kernel, its BPF features and settings, and at the privileges that wick has, and\n"
		 "says what each missing one costs; then samples for a moment and says how complete that was,\n"
		 "with every counter of what was lost or cut, and what it took. Also says how far back each level\n"
		 "of the store reaches. The exit status is 1 if wick record cannot run here.\n",
	.examples = "  sudo wick doctor\n"
		    "  sudo wick doctor --json | jq '.findings[] | select(.status != \"ok\")'\n",
	.options = { .entries = doctor_options },
	.values_bytes = sizeof(struct doctor_values),
	.run = doctor_run,
};

// SPDX-License-Identifier: Apache-2.0
#include "cmd/live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "cmd/privilege.h"
#include "cmd/terminal.h"
#include "lang/lang.h"
#include "proc/pid_namespace.h"
#include "tracer/kernel_check.h"

int live_check_privileges(struct buf *why)
{
	char missing[128];
	u64 caps = 0;
	int r = privilege_read(&caps);

	if (r < 0)
		buf_addf(why, "cannot read /proc/self/status (%s); mount /proc", strerror(-r));
	else if (*privilege_missing(caps, missing, sizeof(missing)))
		buf_addf(why, "no %s; " PRIVILEGE_ADVICE, missing);
	else
		return 0;
	return -EPERM;
}

/* The tracer refuses kernels that surely freeze; of those that may, the user hears here. */
static void warn_of_kernel(void)
{
	struct kernel_names names;

	if (kernel_names_read(&names) == 0 && kernel_check(&names, NULL) == KERNEL_UNSURE)
		fprintf(stderr, "wick: %s\n", kernel_verdict_text(KERNEL_UNSURE));
}

static void warn_of_privileges(void)
{
	char text[PRIVILEGE_COSTS_BYTES];
	const char *costs = privilege_costs_here(text);

	if (*costs)
		fprintf(stderr, "wick: %s\n", costs);
}

/* As the agent has it; -EINVAL with a sentence in `why` for what cannot be. */
static int apply(const struct live_values *v, struct agent_options *to, struct buf *why)
{
	to->tracer.frequency_hz = (u32)v->frequency;
	to->tracer.pid_count = v->pids.count;
	to->tracer.follow_children = v->children;
	to->tracer.cgroup_path = v->cgroup;
	to->tracer.no_kernel_version_check = !v->version_check;
	to->tracer.langs_off = lang_left_out(v->tracers);
	to->tracer.lang_wishes = lang_wishes(&v->langs);
	to->symbolizer.inlines = v->inlines;
	if (lang_unknown(v->tracers)) {
		buf_addf(why, "--tracers: there is no \"%.40s\"; write all, native, or a list of languages with "
			      "commas, as python,go", lang_unknown(v->tracers));
		return -EINVAL;
	}
	return kind_choices_add(&to->tracer.kinds, v->kinds, why);
}

/* Variables as labels, as the command line says them. */
struct live_labels {
	struct thread_label_word words[THREAD_LABELS_MAX];
	struct thread_label_spec specs[THREAD_LABELS_MAX];
};

static int parse_labels(const struct option_texts *texts, struct live_labels *labels, struct tracer_options *to,
			struct buf *why)
{
	int r = 0;

	buf_addf(why, "--thread-label: ");
	if (texts->count > THREAD_LABELS_MAX) {
		buf_addf(why, "given more than %d times", THREAD_LABELS_MAX);
		return -EINVAL;
	}
	for (u32 i = 0; r == 0 && i < texts->count; i++) {
		r = thread_label_parse(texts->at[i], &labels->words[i], why);
		labels->specs[i] = labels->words[i].spec;
	}
	to->thread_labels = (struct thread_label_specs){ labels->specs, texts->count };
	if (r == 0)
		r = thread_labels_check(&to->thread_labels, why);
	if (r == 0)
		why->len = 0;
	return r;
}

static int check_pids(const struct live_values *values, struct buf *why)
{
	for (u32 i = 0; i < values->pids.count; i++)
		if (kill((pid_t)values->pids.at[i], 0) < 0 && errno == ESRCH) {
			buf_addf(why, "there is no process %u", (unsigned int)values->pids.at[i]);
			return -ESRCH;
		}
	return 0;
}

int live_start(const struct live_values *values, struct agent_options *options, struct agent **ret_agent,
	       struct buf *why)
{
	const struct process_rule rule = { .service = values->service, .container = values->container,
					   .pod = values->pod, .user = values->user };
	pid_t pids[OPTION_NUMBERS_MAX];
	struct live_labels labels = { 0 };
	int r = apply(values, options, why);

	if (r == 0)
		r = parse_labels(&values->thread_labels, &labels, &options->tracer, why);
	if (r == 0)
		r = live_check_privileges(why);
	if (r == 0)
		r = check_pids(values, why);
	if (r < 0) {
		kind_choices_done(&options->tracer.kinds);
		return r;
	}
	for (u32 i = 0; i < values->pids.count; i++)
		pids[i] = (pid_t)values->pids.at[i];
	options->tracer.pids = pids;
	options->tracer.may_choose = values->service || values->container || values->pod || values->user;
	options->tracer.choice.include.at = &rule;
	options->tracer.choice.include.count = options->tracer.may_choose;
	if (values->version_check)
		warn_of_kernel();
	warn_of_privileges();
	if (pid_namespace())
		fprintf(stderr, "wick: " PID_NAMESPACE_PARTIAL "\n");
	r = agent_start(options, ret_agent, why);
	options->tracer.pids = NULL;
	options->tracer.kinds = (struct kind_choices){ 0 };
	options->tracer.choice = (struct process_choice_spec){ 0 };
	options->tracer.thread_labels = (struct thread_label_specs){ 0 };
	return r;
}

static const struct counter_value *find_counter(const struct agent_status *status, const char *name)
{
	for (size_t i = 0; i < status->counter_count; i++) {
		if (!strcmp(status->counters[i].name, name))
			return &status->counters[i];
	}
	return NULL;
}

u64 live_lost(const struct agent_status *status)
{
	static const char prefix[] = "samples_lost";
	u64 lost = 0;

	for (size_t i = 0; i < status->counter_count; i++) {
		if (!strncmp(status->counters[i].name, prefix, sizeof(prefix) - 1))
			lost += status->counters[i].value;
	}
	return lost;
}

double live_whole_percent(const struct agent_status *status)
{
	const struct counter_value *whole = find_counter(status, "stack_complete");
	u64 cut = 0;

	for (size_t i = 0; i < status->counter_count; i++) {
		const struct counter_value *c = &status->counters[i];

		if (c->kind == COUNT_SHORT && !strncmp(c->text, "cut:", 4))
			cut += c->value;
	}
	return whole && whole->value + cut ? 100.0 * (double)whole->value / (double)(whole->value + cut) : -1;
}

void live_add_whole(const struct agent_status *status, struct buf *out)
{
	const struct counter_value *compat = find_counter(status, "process_32bit");
	double percent = live_whole_percent(status);

	if (percent < 0)
		buf_addf(out, "no user stack was sampled");
	else
		buf_addf(out, "%.1f %% of user stacks are whole", percent);
	if (compat && compat->value)
		buf_addf(out, "; %llu of 32-bit programs were not unwound", (unsigned long long)compat->value);
}

bool live_unread(const struct agent_status *status, u32 n, const char **ret_title, double *ret_percent)
{
	for (size_t i = 0; i < status->counter_count; i++) {
		const struct counter_value *c = &status->counters[i];

		if (strcmp(c->name, COUNTER_UNREAD) || n-- > 0)
			continue;
		*ret_title = c->of;
		*ret_percent = 100.0 * (double)c->value / (double)(status->samples + !status->samples);
		return true;
	}
	return false;
}

static const char *counter_name(const struct counter_value *c, char *to, size_t bytes)
{
	snprintf(to, bytes, "%s%s%s", c->of ? c->of : "", c->of ? "." : "", c->name);
	return to;
}

void live_print_counters(const struct agent_status *status, const struct terminal *terminal, struct buf *out)
{
	static const enum terminal_style styles[] = {
		[COUNT_NEUTRAL] = STYLE_NONE, [COUNT_SHORT] = STYLE_YELLOW, [COUNT_LOSS] = STYLE_RED,
	};

	for (size_t i = 0; i < status->counter_count; i++) {
		const struct counter_value *c = &status->counters[i];

		char name[64];

		if (c->value)
			buf_addf(out, "%s%12llu%s  %-28s %s%s%s\n", terminal_style(terminal, styles[c->kind]),
				 (unsigned long long)c->value, terminal_style(terminal, STYLE_NONE),
				 counter_name(c, name, sizeof(name)), terminal_style(terminal, STYLE_DIM), c->text,
				 terminal_style(terminal, STYLE_NONE));
	}
}

void live_counters_json(const struct agent_status *status, struct buf *out)
{
	char name[64];

	buf_addf(out, "{");
	for (size_t i = 0; i < status->counter_count; i++)
		buf_addf(out, "%s\n  \"%s\": %llu", i ? "," : "",
			 counter_name(&status->counters[i], name, sizeof(name)),
			 (unsigned long long)status->counters[i].value);
	buf_addf(out, "\n}");
}

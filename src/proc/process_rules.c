// SPDX-License-Identifier: Apache-2.0
#include "proc/process_rules.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/pattern.h"

#define SHORT_ID 12
#define TEXTS_MAX ((size_t)1 << 20)

struct compiled {
	struct process_rule rule;
	struct pattern *executable, *command, *cgroup;
	u32 uid;
};

struct process_rules {
	struct arena texts;
	struct pattern_scratch scratch;
	u32 count;
	struct compiled at[];
};

static bool is_given(const char *text)
{
	return text && *text;
}

static int compile(const char *text, const char *what, struct pattern **ret_pattern, struct buf *why)
{
	if (!is_given(text))
		return 0;
	buf_addf(why, "%s: ", what);
	if (pattern_new(text, strlen(text), ret_pattern, why) < 0)
		return -EINVAL;
	why->len = 0;
	return 0;
}

static int find_user(const char *text, u32 *ret_uid, struct buf *why)
{
	const struct passwd *user;
	char *end;
	unsigned long number;

	if (!is_given(text))
		return 0;
	number = strtoul(text, &end, 10);
	if (!*end && number < UINT32_MAX) {
		*ret_uid = (u32)number;
		return 0;
	}
	user = getpwnam(text);
	if (!user) {
		buf_addf(why, "there is no user %.80s", text);
		return -EINVAL;
	}
	*ret_uid = user->pw_uid;
	return 0;
}

static bool has_condition(const struct process_rule *rule)
{
#define X(member)				\
	if (is_given(rule->member))		\
		return true;
	PROCESS_RULE_CONDITIONS(X)
#undef X
	return rule->pid;
}

static const char *copy(struct process_rules *rules, const char *text)
{
	return is_given(text) ? arena_strndup(&rules->texts, text, strlen(text)) : "";
}

static int compile_rule(struct process_rules *rules, const struct process_rule *rule, struct compiled *to,
			struct buf *why)
{
	int r = 0;

#define X(member) to->rule.member = copy(rules, rule->member);
	PROCESS_RULE_CONDITIONS(X)
	PROCESS_RULE_NAMES(X)
#undef X
	to->rule.pid = rule->pid;
	to->rule.rate = rule->rate;
	if (arena_err(&rules->texts) < 0)
		return arena_err(&rules->texts);
	if (!has_condition(rule)) {
		buf_addf(why, "a rule says nothing about the processes that it is for");
		return -EINVAL;
	}
	r = compile(rule->executable, "executable", &to->executable, why);
	if (r == 0)
		r = compile(rule->command, "command", &to->command, why);
	if (r == 0)
		r = compile(rule->cgroup, "cgroup", &to->cgroup, why);
	return r < 0 ? r : find_user(rule->user, &to->uid, why);
}

int process_rules_new(const struct process_rule *at, u32 count, struct process_rules **ret_rules, struct buf *why)
{
	_cleanup_(process_rules_freep) struct process_rules *rules = NULL;
	int r = 0;

	if (count > PROCESS_RULES_MAX) {
		buf_addf(why, "there are more than %d rules", PROCESS_RULES_MAX);
		return -EINVAL;
	}
	rules = calloc(1, sizeof(*rules) + count * sizeof(rules->at[0]));
	if (!rules)
		return -ENOMEM;
	arena_init(&rules->texts, TEXTS_MAX);
	for (u32 i = 0; r == 0 && i < count; i++)
		r = compile_rule(rules, &at[i], &rules->at[rules->count++], why);
	if (r < 0)
		return r;
	*ret_rules = TAKE(rules);
	return 0;
}

void process_rules_free(struct process_rules *rules)
{
	if (!rules)
		return;
	for (u32 i = 0; i < rules->count; i++) {
		pattern_free(rules->at[i].executable);
		pattern_free(rules->at[i].command);
		pattern_free(rules->at[i].cgroup);
	}
	pattern_scratch_done(&rules->scratch);
	arena_done(&rules->texts);
	free(rules);
}

/* A name, an id, or enough of one. */
static bool is_container(const char *wanted, const struct process_facts *facts)
{
	size_t len = strlen(wanted);

	if (*facts->container_name && !strcmp(wanted, facts->container_name))
		return true;
	return len >= SHORT_ID && !strncmp(wanted, facts->container_id, len);
}

static bool is_pod(const char *wanted, const struct process_facts *facts)
{
	return !strcmp(wanted, facts->pod_name) || !strcmp(wanted, facts->pod_uid);
}

static bool matches(struct process_rules *rules, const struct pattern *pattern, struct str text)
{
	/* One that takes too long is as good as none. */
	return !pattern || pattern_match(pattern, &rules->scratch, text.at, text.len, 0, NULL) == 1;
}

static bool fits(struct process_rules *rules, const struct compiled *c, const struct process_facts *facts)
{
	if (is_given(c->rule.service) && strcmp(c->rule.service, facts->service))
		return false;
	if (is_given(c->rule.container) && !is_container(c->rule.container, facts))
		return false;
	if (is_given(c->rule.pod) && !is_pod(c->rule.pod, facts))
		return false;
	if (is_given(c->rule.user) && !(facts->has_uid && facts->uid == c->uid))
		return false;
	if (c->rule.pid && c->rule.pid != facts->pid)
		return false;
	return matches(rules, c->executable, str_of(facts->executable)) && matches(rules, c->command, facts->command) &&
	       matches(rules, c->cgroup, str_of(facts->cgroup));
}

const struct process_rule *process_rules_find(struct process_rules *rules, const struct process_facts *facts)
{
	for (u32 i = 0; rules && i < rules->count; i++)
		if (fits(rules, &rules->at[i], facts))
			return &rules->at[i].rule;
	return NULL;
}

u32 process_rule_every(const struct process_rule *rule)
{
	double every = rule && rule->rate > 0 ? 1 / rule->rate : 0;

	if (every < 1.5)
		return 0;
	return every > PROCESS_RULE_EVERY_MAX ? PROCESS_RULE_EVERY_MAX : (u32)(every + 0.5);
}

/* ---- All that is wanted of processes -------------------------------------------------------------------- */

bool process_choice_is_given(const struct process_choice_spec *spec)
{
	return spec->services.count || spec->include.count || spec->exclude.count;
}

static int add_list(const struct process_rule_list *list, struct process_choice *choice, struct process_rules **to,
		    struct buf *why)
{
	for (u32 i = 0; i < list->count; i++)
		choice->needs_user |= is_given(list->at[i].user);
	return list->count ? process_rules_new(list->at, list->count, to, why) : 0;
}

int process_choice_new(const struct process_choice_spec *spec, struct process_choice **ret_choice, struct buf *why)
{
	_cleanup_(process_choice_freep) struct process_choice *choice = calloc(1, sizeof(*choice));
	int r;

	if (!choice)
		return -ENOMEM;
	r = add_list(&spec->services, choice, &choice->services, why);
	if (r == 0)
		r = add_list(&spec->include, choice, &choice->include, why);
	if (r == 0)
		r = add_list(&spec->exclude, choice, &choice->exclude, why);
	if (r < 0)
		return r;
	*ret_choice = TAKE(choice);
	return 0;
}

void process_choice_free(struct process_choice *choice)
{
	if (!choice)
		return;
	process_rules_free(choice->services);
	process_rules_free(choice->include);
	process_rules_free(choice->exclude);
	free(choice);
}

/* ---- As bytes --------------------------------------------------------------------------------------------- */

static void write_list(char letter, const struct process_rule_list *list, struct buf *out)
{
	for (u32 i = 0; i < list->count; i++) {
		buf_add(out, &letter, 1);
#define X(member) buf_addf(out, "%s", list->at[i].member ? list->at[i].member : ""), buf_add(out, "", 1);
		PROCESS_RULE_CONDITIONS(X)
		PROCESS_RULE_NAMES(X)
#undef X
		buf_addf(out, "%lld", (long long)list->at[i].pid);
		buf_add(out, "", 1);
		buf_addf(out, "%u", process_rule_every(&list->at[i]));
		buf_add(out, "", 1);
	}
}

void process_choice_write(const struct process_choice_spec *spec, struct buf *out)
{
	write_list('s', &spec->services, out);
	write_list('i', &spec->include, out);
	write_list('e', &spec->exclude, out);
	buf_add(out, "", 1);	/* the end */
}

/* The next text; NULL if there is none that ends. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at, *nul = *at && *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;

	*at = nul ? nul + 1 : NULL;
	return nul ? text : NULL;
}

static bool read_rule(const char **at, const char *end, struct process_rule *rule)
{
	const char *pid, *every;
	unsigned long number;

#define X(member) rule->member = next_text(at, end);
	PROCESS_RULE_CONDITIONS(X)
	PROCESS_RULE_NAMES(X)
#undef X
	pid = next_text(at, end);
	every = next_text(at, end);
	rule->pid = pid ? strtoll(pid, NULL, 10) : 0;
	number = every ? strtoul(every, NULL, 10) : 0;
	rule->rate = number ? 1.0 / (double)number : 0;
	return every;
}

int process_choice_read(const char *text, size_t bytes, struct process_choice **ret_choice, struct buf *why)
{
	static const char letters[] = "sie";
	_cleanup_(freep) struct process_rule *rules = calloc(3 * PROCESS_RULES_MAX, sizeof(*rules));
	struct process_rule_list lists[3] = { { 0 } };
	const char *at = text, *end = text + bytes;

	if (!rules)
		return -ENOMEM;
	while (at && at < end && *at) {
		const char *letter = strchr(letters, *at++);
		size_t list = letter ? (size_t)(letter - letters) : 0;

		if (!letter || lists[list].count == PROCESS_RULES_MAX ||
		    !read_rule(&at, end, &rules[list * PROCESS_RULES_MAX + lists[list].count]))
			return -EBADMSG;
		lists[list].at = &rules[list * PROCESS_RULES_MAX];
		lists[list].count++;
	}
	if (!at || at >= end)
		return -EBADMSG;
	return process_choice_new(&(struct process_choice_spec){ lists[0], lists[1], lists[2] }, ret_choice, why);
}

// SPDX-License-Identifier: Apache-2.0
#include "proc/process_rules.h"

#include <errno.h>

#include "base/buf.h"
#include "test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct process_facts facts = {
	.service = "shop", .container_id = ID, .container_name = "web1",
	.pod_name = "shop-7d", .pod_uid = "0a1b2c3d-0000-4000-8000-000000000001", .executable = "/usr/bin/python3.11",
	.cgroup = "0::/system.slice/docker-" ID ".scope\n", .command = STR("python3 app.py --port 80"), .pid = 42,
	.uid = 33,
	.has_uid = true,
};

TEST(process_rules_hold_if_all_their_conditions_do)
{
	static const struct {
		struct process_rule rule;
		bool fits;
	} cases[] = {
		{ { .service = "shop" }, true },
		{ { .service = "sho" }, false },
		{ { .container = "web1" }, true },
		{ { .container = "0123456789ab" }, true },
		{ { .container = "0123" }, false },
		{ { .pod = "shop-7d" }, true },
		{ { .pod = "shop" }, false },
		{ { .pod = "0a1b2c3d-0000-4000-8000-000000000001" }, true },
		{ { .executable = "/python[0-9.]*$" }, true },
		{ { .executable = "^python" }, false },
		{ { .command = "app\\.py" }, true },
		{ { .cgroup = "^0::/system.slice/docker-" }, true },
		{ { .user = "33" }, true },
		{ { .user = "root" }, false },
		{ { .pid = 42 }, true },
		{ { .pid = 43 }, false },
		{ { .service = "shop", .pid = 43 }, false },
		{ { .service = "shop", .user = "33", .command = "port" }, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct process_rules *rules;
		struct buf why;

		buf_init(&why, 256);
		EQ(process_rules_new(&cases[i].rule, 1, &rules, &why), 0);
		EQ(process_rules_find(rules, &facts) != NULL, cases[i].fits);
		process_rules_free(rules);
		buf_done(&why);
	}
	OK(!process_rules_find(NULL, &facts));
}

TEST(process_rules_that_mean_nothing_are_refused_with_a_sentence)
{
	static const struct process_rule bad[] = { { .name = "x" }, { .command = "(" }, { .user = "no such user" } };
	struct process_rules *rules;
	struct buf why;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		buf_init(&why, 256);
		EQ(process_rules_new(&bad[i], 1, &rules, &why), -EINVAL);
		OK(why.len);
		buf_done(&why);
	}
}

TEST(process_choices_are_the_same_as_bytes)
{
	static const struct process_rule services[] = { { .name = "a", .command = "x" } };
	static const struct process_rule include[] = { { .service = "shop", .rate = 0.1 }, { .pid = 7 } };
	const struct process_choice_spec spec = { { services, 1 }, { include, 2 }, { NULL, 0 } };
	struct process_choice *choice = NULL;
	struct buf out, why;

	buf_init(&out, 4096);
	buf_init(&why, 256);
	process_choice_write(&spec, &out);
	EQ(process_choice_read(out.data, out.len, &choice, &why), 0);
	OK(choice->services && choice->include && !choice->exclude && !choice->needs_user);
	STREQ(process_rules_find(choice->include, &facts)->service, "shop");
	EQ(process_rule_every(process_rules_find(choice->include, &facts)), 10);
	process_choice_free(choice);
	for (size_t bytes = 0; bytes < out.len; bytes++)
		EQ(process_choice_read(out.data, bytes, &choice, &why), -EBADMSG);
	buf_done(&out);
	buf_done(&why);
}

TEST(process_rules_with_a_rate_take_one_of_so_many)
{
	static const struct {
		double rate;
		u32 every;
	} cases[] = { { 0, 0 }, { 1, 0 }, { 0.9, 0 }, { 0.5, 2 }, { 0.3, 3 }, { 0.1, 10 }, { 0.001, 1000 },
		      { 1e-9, 1000 }, { -1, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		EQ(process_rule_every(&(struct process_rule){ .rate = cases[i].rate }), cases[i].every);
	EQ(process_rule_every(NULL), 0);
}

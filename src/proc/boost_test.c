// SPDX-License-Identifier: Apache-2.0
#include "proc/boost.h"

#include <string.h>

#include "proc/process_rules.h"
#include "test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct process_facts facts = {
	.service = "shop", .container_id = ID, .container_name = "web1", .pod_name = "shop-7d", .pod_uid = "0a1b",
	.executable = "/usr/bin/python3.11", .cgroup = "1:cpu:/x\n0::/system.slice/docker-" ID ".scope\n",
	.command = STR("python3 app.py"), .pid = 42, .uid = 33, .has_uid = true,
};

TEST(boost_fits_if_all_that_is_said_does)
{
	static const struct {
		struct boost boost;
		bool fits;
	} cases[] = {
		{ { .service = "shop" }, true },
		{ { .service = "sho" }, false },
		{ { .service = ".*" }, false },
		{ { .container = "web1" }, true },
		{ { .container = "0123456789ab" }, true },
		{ { .container = "0123456789a" }, false },
		{ { .pod = "shop-7d" }, true },
		{ { .pod = "0a1b" }, true },
		{ { .pod = "shop" }, false },
		{ { .executable = "/usr/bin/python3.11" }, true },
		{ { .executable = "python3.11" }, true },
		{ { .executable = "python" }, false },
		{ { .cgroup = "/x" }, true },
		{ { .cgroup = "/system.slice" }, true },
		{ { .cgroup = "/system.slice/" }, true },
		{ { .cgroup = "/system" }, false },
		{ { .cgroup = "/system.slice/docker-" ID ".scope" }, true },
		{ { .cgroup = "/y" }, false },
		{ { .pid = 42 }, true },
		{ { .pid = 43 }, false },
		{ { .uid = 33, .has_uid = true }, true },
		{ { .uid = 0, .has_uid = true }, false },
		{ { .service = "shop", .pid = 43 }, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		EQ(boost_fits(&cases[i].boost, &facts), cases[i].fits);
}

TEST(boost_of_several_the_fastest_counts)
{
	const struct boost_list list = { 3, { { .hz = 100, .service = "shop" }, { .hz = 300, .pid = 42 },
					      { .hz = 900, .pid = 43 } } };

	EQ(boost_hz(&list, &facts), 300);
	EQ(boost_hz(NULL, &facts), 0);
}

TEST(boost_is_refused_where_it_is_none)
{
	const struct boost good = { .id = 1, .hz = 200, .seconds = 10, .service = "shop" };
	struct boost b = good;

	OK(!boost_problem(&good));
	b.hz = 1000;
	OK(strstr(boost_problem(&b), "rate"));
	b.hz = 0;
	OK(strstr(boost_problem(&b), "rate"));
	b = good;
	b.seconds = 601;
	OK(strstr(boost_problem(&b), "600 seconds"));
	b.seconds = 0;
	OK(strstr(boost_problem(&b), "600 seconds"));
	b = good;
	b.service[0] = '\0';
	OK(strstr(boost_problem(&b), "says nothing"));
	b = good;
	b.pod[0] = '\n';
	OK(strstr(boost_problem(&b), "pod"));
	b = good;
	b.cgroup[0] = '\xff';
	OK(strstr(boost_problem(&b), "cgroup"));
	b = good;
	memset(b.executable, 'x', sizeof(b.executable));
	OK(strstr(boost_problem(&b), "executable"));
	b = good;
	b.id = 0;
	OK(strstr(boost_problem(&b), "number"));
}

TEST(boost_knows_another_of_the_same_processes)
{
	const struct boost a = { .service = "shop", .hz = 100 }, b = { .service = "shop", .hz = 200 },
			   c = { .service = "shop", .pid = 1 }, d = { .service = "shop", .has_uid = true };

	OK(boost_is_same(&a, &b));
	OK(!boost_is_same(&a, &c));
	OK(!boost_is_same(&a, &d));
}

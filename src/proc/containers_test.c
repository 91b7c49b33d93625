// SPDX-License-Identifier: Apache-2.0
#include "proc/containers.h"

#include <errno.h>

#include "base/buf.h"
#include "proc/cgroup.h"
#include "test.h"

TEST(containers_refuse_sockets_and_labels_that_are_none)
{
	static const char *const bad[] = { "/run/docker.sock", "http:/x", "docker:run/x", "cri:", "" };
	static const char *const bad_labels[] = { "", "a=b" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const struct containers_options options = { .sockets = &bad[i], .socket_count = 1 };
		struct containers *containers;
		struct buf why;

		buf_init(&why, 256);
		EQ(containers_new(&options, &containers, &why), -EINVAL);
		OK(why.len);
		buf_done(&why);
	}
	for (size_t i = 0; i < 2; i++) {
		struct buf why;

		buf_init(&why, 256);
		EQ(containers_check(&(struct containers_options){ .labels = { &bad_labels[i], 1 } }, &why), -EINVAL);
		buf_done(&why);
	}
}

TEST(containers_are_asked_for_only_by_an_id_of_an_engine)
{
	static const char *const nowhere[] = { "docker:/nowhere/at-all.sock" };
	struct cgroup_place place = { .runtime = "lxc", .container_id = "abc" };
	struct containers *containers;
	struct container_about about;
	struct buf why;

	buf_init(&why, 256);
	EQ(containers_new(&(struct containers_options){ .sockets = nowhere, .socket_count = 1 }, &containers, &why), 0);
	EQ(containers_find(containers, &place, &about), 0);
	cgroup_parse("0::/lxc.payload.x", &place);
	EQ(containers_find(containers, &place, &about), 0);
	EQ(containers_find(NULL, &place, &about), 0);
	cgroup_parse("0::/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", &place);
	EQ(containers_find(containers, &place, &about), -EAGAIN);
	containers_free(containers);
	EQ(containers_new(&(struct containers_options){ .is_off = true }, &containers, &why), 0);
	OK(!containers);
	buf_done(&why);
}

TEST(containers_survive_lack_of_memory)
{
	static const char *const label[] = { "team" };

	for (long i = 0;; i++) {
		struct containers *containers = NULL;
		struct buf why;
		int r;

		buf_init(&why, 256);
		test_alloc_fail(i);
		r = containers_new(&(struct containers_options){ .labels = { label, 1 } }, &containers, &why);
		test_alloc_reset();
		buf_done(&why);
		containers_free(containers);
		if (r == 0)
			break;
		EQ(r, -ENOMEM);
	}
}

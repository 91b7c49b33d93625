// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_pod.h"

#include <errno.h>

#include "base/arena.h"
#include "proc/container_about.h"
#include "processors/k8s_watch.h"
#include "test.h"

static bool is(struct str s, const char *text)
{
	return str_is(s, text);
}

TEST(k8s_images_have_a_name_a_tag_and_a_digest)
{
	static const struct {
		const char *image, *name, *tag, *digest;
	} cases[] = {
		{ "nginx", "nginx", "", "" },
		{ "nginx:1.27", "nginx", "1.27", "" },
		{ "registry:5000/a/b", "registry:5000/a/b", "", "" },
		{ "registry:5000/a/b:v1@sha256:ab", "registry:5000/a/b", "v1", "sha256:ab" },
		{ "a/b@sha256:ab", "a/b", "", "sha256:ab" },
		{ "", "", "", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct str name, tag, digest;

		container_image_split(str_of(cases[i].image), &name, &tag, &digest);
		OK(is(name, cases[i].name) && is(tag, cases[i].tag) && is(digest, cases[i].digest));
	}
}

TEST(k8s_pods_are_read_whatever_the_order_of_their_parts)
{
	static const char json[] =
		"{\"status\":{\"podIP\":\"10.0.0.1\","
		"\"containerStatuses\":[{\"containerID\":\"cri-o://abc\",\"name\":\"c\","
		"\"lastState\":{\"terminated\":{\"containerID\":\"cri-o://old\"}}}]},\"spec\":{\"hostNetwork\":true,"
		"\"containers\":[{\"image\":\"i:1\",\"name\":\"c\"}],\"initContainers\":[{\"name\":\"d\"}]},"
		"\"metadata\":{\"uid\":\"u\",\"name\":\"p\",\"labels\":{\"a\":\"b\"},\"managedFields\":[{}],"
		"\"ownerReferences\":[{\"kind\":\"X\",\"name\":\"x\"},"
		"{\"kind\":\"Job\",\"name\":\"j\",\"controller\":true}]}}";
	struct k8s_pod pod;
	struct arena arena;

	arena_init(&arena, 1 << 20);
	EQ(k8s_pod_read(json, sizeof(json) - 1, &arena, &pod), 0);
	OK(is(pod.name, "p") && is(pod.ip, "10.0.0.1") && is(pod.owner.name, "j") && pod.host_network);
	EQ(pod.container_count, 2);
	OK(is(pod.containers[0].id, "abc") && is(pod.containers[0].last_id, "old") && is(pod.containers[0].image,
											 "i:1"));
	OK(is(k8s_pairs_find(&pod.labels, STR("a")), "b"));
	EQ(k8s_pod_read("{\"metadata\":{}}", 15, &arena, &pod), -EBADMSG);
	EQ(k8s_pod_read("{\"metadata\":", 12, &arena, &pod), -EBADMSG);
	arena_done(&arena);
}

TEST(k8s_lines_of_a_watch_are_told_apart)
{
	static const struct {
		const char *line;
		int r;
		enum k8s_event event;
		s64 code;
	} cases[] = {
		{ "{\"type\":\"ADDED\",\"object\":{\"a\":1}}", 0, K8S_ADDED, 0 },
		{ "{\"object\":{\"a\":1},\"type\":\"DELETED\"}", 0, K8S_DELETED, 0 },
		{ "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}", 0, K8S_BOOKMARK, 0 },
		{ "{\"type\":\"ERROR\",\"object\":{\"code\":410}}", 0, K8S_ERROR, 410 },
		{ "{\"type\":\"NEW\",\"object\":{}}", 0, K8S_EVENT_UNKNOWN, 0 },
		{ "{\"type\":\"ADDED\",\"object\":7}", -EBADMSG, 0, 0 },
		{ "{\"type\":\"ADDED\"}", -EBADMSG, 0, 0 },
		{ "{\"type\":\"ADDED\",\"object\":{\"na", -EBADMSG, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		enum k8s_event event = K8S_ADDED;
		struct str object;
		s64 code = 0;

		EQ(k8s_watch_line(cases[i].line, strlen(cases[i].line), &event, &object, &code), cases[i].r);
		EQ(event, cases[i].event);
		EQ(code, cases[i].code);
	}
}

// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_labels.h"

#include "base/buf.h"
#include "profile/any.h"
#include "test.h"

#define TEXT(name, text) { STR(name), { .kind = ANY_STRING, .string = STR(text) } }
#define NUMBER(name, number) { STR(name), { .kind = ANY_INT, .integer = (number) } }
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct scene {
	struct arena arena;
	struct pyroscope_labels labels;
};

static void scene_done(struct scene *s)
{
	arena_done(&s->arena);
}

static void make(struct scene *s, const struct keyvalue *at, u32 count, enum pyroscope_service service,
		 bool per_process)
{
	arena_init(&s->arena, 1u << 20);
	pyroscope_labels_of(&(struct profile_resource){ .attributes = at, .attribute_count = count }, service,
			    per_process, &s->arena, &s->labels);
}

/* name=value, one after another. */
static const char *text_of(const struct scene *s)
{
	struct buf out;

	buf_init(&out, 1u << 16);
	for (u32 i = 0; i < s->labels.count; i++) {
		const struct keyvalue *label = &s->labels.at[i];

		buf_addf(&out, "%s%.*s=", i ? " " : "", (int)label->key.len, label->key.at);
		if (label->value.kind == ANY_INT)
			buf_addf(&out, "%lld", label->value.integer);
		else
			buf_addf(&out, "%.*s", (int)label->value.string.len, label->value.string.at);
	}
	buf_add(&out, "", 1);
	return test_keep(out.data);
}

TEST(pyroscope_labels_keep_what_tells_services_apart)
{
	static const struct keyvalue at[] = {
		NUMBER("process.pid", 12), TEXT("process.executable.name", "app"),
		TEXT("process.command_line", "app -x"), TEXT("host.name", "here"), NUMBER("shard", 7),
		TEXT("empty", ""), { STR("wick.self"), { .kind = ANY_BOOL, .boolean = true } },
	};
	_cleanup_(scene_done) struct scene s, p;

	make(&s, at, COUNT(at), PYROSCOPE_SERVICE_UNKNOWN, false);
	STREQ(text_of(&s), "service.name=unknown_service:app process.executable.name=app host.name=here shard=7");
	EQ(s.labels.dropped, 2);
	make(&p, at, COUNT(at), PYROSCOPE_SERVICE_EXECUTABLE, true);
	STREQ(text_of(&p), "service.name=app process.executable.name=app host.name=here shard=7 process.pid=12 "
	      "process.command_line=app -x");
}

TEST(pyroscope_labels_name_a_service_after_its_container)
{
	static const struct keyvalue pod[] = { TEXT("container.id", "0123456789abcdef"), TEXT("k8s.pod.name", "web-1"),
					       TEXT("k8s.deployment.name", "web") };
	static const struct keyvalue named[] = { TEXT("service.name", "shop"), TEXT("k8s.deployment.name", "web") };
	_cleanup_(scene_done) struct scene a, b, c, d;

	make(&a, pod, 3, PYROSCOPE_SERVICE_CONTAINER, false);
	STREQ(text_of(&a), "service.name=web k8s.pod.name=web-1 k8s.deployment.name=web container.id=0123456789abcdef");
	make(&b, pod, 1, PYROSCOPE_SERVICE_CONTAINER, false);
	STREQ(text_of(&b), "service.name=0123456789ab container.id=0123456789abcdef");
	make(&c, named, 2, PYROSCOPE_SERVICE_CONTAINER, false);
	STREQ(text_of(&c), "service.name=shop k8s.deployment.name=web");
	make(&d, NULL, 0, PYROSCOPE_SERVICE_CONTAINER, false);
	STREQ(text_of(&d), "service.name=unknown_service");
}

TEST(pyroscope_labels_have_names_that_are_taken)
{
	static const struct any list[] = { { .kind = ANY_STRING, .string = STR("one") } };
	static const struct keyvalue at[] = {
		TEXT("a/b-c", "1"), TEXT("0x", "2"), TEXT("a_b.c", "3"), TEXT("__name__", "4"),
		TEXT("service_name", "5"), TEXT("", "6"),
		{ STR("list"), { .kind = ANY_ARRAY, .count = 1, .array = list } },
	};
	_cleanup_(scene_done) struct scene s;

	make(&s, at, COUNT(at), PYROSCOPE_SERVICE_UNKNOWN, false);
	STREQ(text_of(&s), "service.name=unknown_service a_b_c=1 _x=2 list=one");
	EQ(s.labels.dropped, 4);
}

TEST(pyroscope_labels_are_few_and_short)
{
	struct keyvalue at[40];
	static char names[40][16], value[3000];
	_cleanup_(scene_done) struct scene s;

	memset(value, 'x', sizeof(value));
	memcpy(value + 2047, "\xc3\xa4", 2);	/* a character of two bytes over the limit */
	for (u32 i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "%s%02u", i < 39 ? "os." : "mine", i);
		at[i] = (struct keyvalue){ { names[i], (u32)strlen(names[i]) },
					   { .kind = ANY_STRING, .string = { value, sizeof(value) } } };
	}
	make(&s, at, 40, PYROSCOPE_SERVICE_UNKNOWN, false);
	EQ(s.labels.count, PYROSCOPE_LABELS_MAX);
	EQ(s.labels.dropped, 41 - PYROSCOPE_LABELS_MAX);
	OK(str_equal(s.labels.at[1].key, STR("mine39")));	/* the last, but it matters most */
	EQ(s.labels.at[1].value.string.len, 2047);
}

TEST(pyroscope_labels_copy_nothing_that_is_too_long)
{
	static char text[1 << 20];
	const struct str large = { text, sizeof(text) };
	const struct keyvalue at[] = {
		{ STR("process.executable.name"), { .kind = ANY_STRING, .string = large } },
		{ large, { .kind = ANY_INT, .integer = 1 } },
	};
	_cleanup_(scene_done) struct scene s;

	memset(text, '-', sizeof(text));	/* no character of a name: it would have to be cleaned */
	make(&s, at, COUNT(at), PYROSCOPE_SERVICE_UNKNOWN, false);
	EQ(s.labels.count, 2);
	EQ(s.labels.dropped, 1);
	EQ(s.labels.at[0].value.string.len, PYROSCOPE_VALUE_BYTES_MAX);
	OK(s.arena.held < sizeof(text));
}

// SPDX-License-Identifier: Apache-2.0
#include "exporters/datadog_owner.h"

#include "test.h"

#define RESOURCE_MAX 4
#define TEXT(s) { .kind = ANY_STRING, .string = { s, sizeof(s) - 1 } }
#define KV(key, value) { { key, sizeof(key) - 1 }, TEXT(value) }

static const struct datadog_names nothing = { "", "", "", "", "", "", "" };

static struct datadog_owner owner(const struct datadog_names *names, const struct keyvalue *attributes, u32 count)
{
	struct profile_resource resource = { .attributes = attributes, .attribute_count = count };
	struct datadog_owner found;

	datadog_owner_of(names, &resource, &found);
	return found;
}

static bool is(struct str s, const char *text)
{
	return s.len == strlen(text) && (!s.len || !memcmp(s.at, text, s.len));
}

TEST(datadog_owner_is_what_the_resource_says)
{
	static const struct datadog_names names = { "svc", "prod", "2", "", "", "", "" };
	static const struct keyvalue said[] = {
		KV("service.name", "shop"), KV("deployment.environment", "test"), KV("container.id", "0123abc"),
		KV("host.name", "other"),
	};
	struct datadog_owner o = owner(&names, said, 4);

	OK(is(o.service, "shop"));
	OK(!o.is_inferred);
	OK(is(o.env, "test"));
	OK(is(o.version, ""));		/* that of svc is not shop's */
	OK(is(o.host, ""));		/* the Agent's */
	OK(is(o.container, "0123abc"));
}

TEST(datadog_owner_is_what_is_configured_rather_than_a_guess)
{
	static const struct datadog_names names = { "svc", "prod", "2", "", "", "", "" };
	static const struct keyvalue guess[] = { KV("service.name", "python3.11"),
						 KV("wick.service.source", "program") };
	static const struct keyvalue said[] = { KV("service.name", "cart"), KV("wick.service.source", "environment") };
	struct datadog_owner o = owner(&names, guess, 2);

	OK(is(o.service, "svc"));
	OK(is(o.version, "2"));
	OK(!o.is_inferred);
	OK(is(owner(&names, said, 2).service, "cart"));
	o = owner(&nothing, guess, 2);
	OK(is(o.service, "python3.11"));
	OK(o.is_inferred);
}

TEST(datadog_owner_is_else_what_is_configured)
{
	static const struct datadog_names names = { "svc", "prod", "2", "", "here", "", "" };
	static const struct keyvalue variables[] = { KV("process.environment_variable.DD_SERVICE", "cart"),
						     KV("process.environment_variable.DD_VERSION", "7") };
	struct datadog_owner o = owner(&names, NULL, 0);

	OK(is(o.service, "svc"));
	OK(is(o.env, "prod"));
	OK(is(o.version, "2"));
	OK(is(o.host, "here"));
	OK(!o.is_inferred);
	o = owner(&names, variables, 2);
	OK(is(o.service, "cart"));
	OK(is(o.version, "7"));
	o = owner(&nothing, NULL, 0);
	OK(is(o.service, DATADOG_SERVICE));
	OK(o.is_inferred);
}

TEST(datadog_owner_has_only_ids_that_a_header_can_carry)
{
	static const struct keyvalue bad[] = { KV("container.id", "a\r\nx: y") };
	static const struct keyvalue zero[] = { KV("container.id", "a\0b") };

	OK(is(owner(&nothing, bad, 1).container, ""));
	OK(is(owner(&nothing, zero, 1).container, ""));
}

TEST(datadog_owner_keys_tell_owners_apart)
{
	static const struct keyvalue pairs[][2] = {
		{ KV("service.name", "a"), KV("service.version", "b") },
		{ KV("service.name", "ab"), KV("service.version", "") },
		{ KV("service.name", "a"), KV("container.id", "b") },
		{ KV("service.name", "a"), KV("deployment.environment.name", "b") },
	};
	struct buf keys[4];

	for (u32 i = 0; i < 4; i++) {
		struct datadog_owner o = owner(&nothing, pairs[i], 2);

		buf_init(&keys[i], 4096);
		datadog_owner_key(&o, &keys[i]);
		for (u32 k = 0; k < i; k++)
			OK(keys[i].len != keys[k].len || memcmp(keys[i].data, keys[k].data, keys[i].len));
	}
	for (u32 i = 0; i < 4; i++)
		buf_done(&keys[i]);
}

TEST(datadog_tags_are_joined_and_clean)
{
	static const struct { const char *list, *want; u32 left_out; } all[] = {
		{ "a:b,c:d", "a:b,c:d", 0 }, { "a:b c:d:e", "a:b,c:d:e", 0 }, { " a:b , team ", "a:b,team", 0 },
		{ ":x,y:,,a:b", "a:b", 2 }, { "a:b\nc,d:\xff", "a:b_c,d:_", 0 }, { "", "", 0 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct buf out;

		buf_init(&out, 4096);
		buf_addf(&out, "%s", "");
		EQ(datadog_tags_add(&out, all[i].list), all[i].left_out);
		buf_add(&out, "", 1);
		STREQ(out.data, all[i].want);
		buf_done(&out);
	}
}

TEST(datadog_tags_say_whose_it_is)
{
	static const struct datadog_names names = { "a,b", "prod", "1.2", "h1", "", "team:x,region:eu:1", "id-1" };
	struct datadog_owner o = owner(&names, NULL, 0);
	char want[512];
	struct buf out;

	buf_init(&out, 65536);
	datadog_owner_tags(&o, &names, &out);
	buf_addf(&out, "%s", "");
	(void)snprintf(want, sizeof(want),
		       "service:a_b,service_inferred:no,env:prod,version:1.2,host:h1,team:x,region:eu:1,runtime:ebpf,"
		       "runtime-id:id-1,profiler_name:wick,profiler_version:%s,cpu_arch:", WICK_VERSION);
	OK(!strncmp(out.data, want, strlen(want)));
	OK(strstr(out.data, ",ddprof.custom_ctx:container_id,"));
	buf_done(&out);
}

TEST(datadog_tags_are_cut_between_characters)
{
	char service[400];
	struct datadog_names names = { service, "", "", "", "", "", "" };
	struct datadog_owner o;
	struct buf out;

	for (size_t i = 0; i < sizeof(service) - 2; i += 2)
		memcpy(service + i, "\xc3\xa4", 2);
	service[398] = '\0';
	o = owner(&names, NULL, 0);
	buf_init(&out, 65536);
	datadog_owner_tags(&o, &names, &out);
	EQ(strcspn(out.data, ","), DATADOG_TAG_BYTES_MAX);
	buf_done(&out);
}

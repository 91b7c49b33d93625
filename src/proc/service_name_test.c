// SPDX-License-Identifier: Apache-2.0
#include "proc/service_name.h"

#include <errno.h>

#include "base/buf.h"
#include "proc/apm_storage.h"
#include "proc/process_context.h"
#include "test.h"

#define CONTEXT "\x0a\x2d\x0a\x16\x0a\x0cservice.name\x12\x06\x0a\x04" "shop" "\x0a\x13\x0a\x0fservice.version\x12\x00"

static const struct cgroup_place nowhere = { .runtime = "" };

static struct service_name find(const char *environment, size_t bytes, const struct cgroup_place *place,
				const char *context, size_t context_bytes)
{
	struct service_facts facts = { context, context_bytes, NULL, environment, bytes, place, "",
				       { "/usr/sbin/nginx", "nginx", 6, "/" } };
	struct service_name service;

	service_name_find(&facts, &service);
	return service;
}
#define FIND(environment) find(environment, sizeof(environment), &nowhere, NULL, 0)

TEST(service_is_what_the_environment_says_in_the_order_of_the_issue)
{
	struct service_name s = FIND("DD_SERVICE=dd\0DD_ENV=prod\0DD_VERSION=7\0OTEL_SERVICE_NAME=otel\0"
				"OTEL_RESOURCE_ATTRIBUTES=service.name=no,service.version=1%2E2,"
				" service.namespace = web ,team=x\0"
				"PYROSCOPE_APPLICATION_NAME=p{a=b}");

	STREQ(s.name, "otel");
	STREQ(s.version, "1.2");
	STREQ(s.namespace, "web");
	STREQ(s.environment, "prod");
	EQ(s.source, SERVICE_FROM_ENVIRONMENT);
	STREQ(FIND("X=1\0DD_SERVICE=dd\0PYROSCOPE_APPLICATION_NAME=p").name, "dd");
	STREQ(FIND("PYROSCOPE_APPLICATION_NAME=p{a=b}").name, "p");
	STREQ(FIND("OTEL_RESOURCE_ATTRIBUTES=service.name=a,deployment.environment=old").environment, "old");
	STREQ(FIND("OTEL_SERVICE_NAME=containerd-shim-0123").name, "nginx");
	STREQ(FIND("OTEL_SERVICE_NAME=").name, "nginx");
	STREQ(FIND("XOTEL_SERVICE_NAME=no\0OTEL_SERVICE_NAMES=no").name, "nginx");
}

TEST(service_is_the_container_then_the_unit_then_the_program)
{
	struct cgroup_place place = { .runtime = "lxc", .container_name = "web1", .unit = "proxy" };
	struct service_name s = find("", 0, &place, NULL, 0);

	STREQ(s.name, "web1");
	EQ(s.source, SERVICE_FROM_CONTAINER);
	place.container_name[0] = '\0';
	s = find("", 0, &place, NULL, 0);
	STREQ(s.name, "proxy");
	EQ(s.source, SERVICE_FROM_UNIT);
	s = find("", 0, &nowhere, NULL, 0);
	STREQ(s.name, "nginx");
	EQ(s.source, SERVICE_FROM_PROGRAM);
	OK(service_name_is_guess("program", 7));
	OK(!service_name_is_guess("environment", 11) && !service_name_is_guess("", 0));
}

TEST(service_is_first_of_all_what_the_process_publishes)
{
	struct service_name s = find("OTEL_SERVICE_NAME=no\0DD_VERSION=3", 33, &nowhere, CONTEXT, sizeof(CONTEXT) - 1);

	STREQ(s.name, "shop");
	STREQ(s.version, "3");
	EQ(s.source, SERVICE_FROM_CONTEXT);
}

TEST(service_is_what_an_apm_agent_says_unless_the_process_publishes_another)
{
	struct apm_storage apm = { "orders", "testing" };
	struct service_facts facts = { NULL, 0, &apm, "OTEL_SERVICE_NAME=no\0DD_ENV=no", 31, &nowhere, "",
				       { "/usr/bin/java", "java", 5, "/" } };
	struct service_name s;

	service_name_find(&facts, &s);
	STREQ(s.name, "orders");
	STREQ(s.environment, "testing");
	EQ(s.source, SERVICE_FROM_APM);
	facts.context = CONTEXT;
	facts.context_bytes = sizeof(CONTEXT) - 1;
	service_name_find(&facts, &s);
	STREQ(s.name, "shop");
	STREQ(s.environment, "testing");
	EQ(s.source, SERVICE_FROM_CONTEXT);
	/* What an agent says that was told no name. */
	facts.context = NULL;
	apm = (struct apm_storage){ "unknown_service:java", "" };
	service_name_find(&facts, &s);
	STREQ(s.name, "no");
	STREQ(s.environment, "no");
	OK(!service_name_is_guess("apm_agent", 9));
}

/* Only the five, and only of the variables that are listed: whatever else there is stays where it is. */
TEST(service_takes_nothing_else_out_of_an_environment)
{
	struct service_name s = FIND("AWS_SECRET_ACCESS_KEY=s3cret\0"
				     "OTEL_RESOURCE_ATTRIBUTES=token=s3cret,service.name=a\0"
				"OTEL_EXPORTER_OTLP_HEADERS=authorization=s3cret\0DD_API_KEY=s3cret");
	struct buf out;

	buf_init(&out, 4096);
	service_name_write(&s, &out);
	EQ(buf_err(&out), 0);
	OK(!memmem(out.data, out.len, "s3cret", 6));
	EQ(out.len, sizeof("service.name=a\0wick.service.source=environment"));
	buf_done(&out);
}

TEST(service_texts_are_cut_and_cleaned)
{
	struct service_name s = FIND("OTEL_SERVICE_NAME=a\nb\xff" "0123456789012345678901234567890123456789"
				"01234567890123456789012345678901234567890123456789012345678901234567890123456789"
				"0123456789");

	EQ(strlen(s.name), SERVICE_TEXT_BYTES);
	OK(!strncmp(s.name, "a?b?0", 5));
}

TEST(process_context_is_found_by_any_of_its_names_unless_it_is_executable)
{
	EQ(process_context_find("7000-8000 r--p 0 00:01 1 /x\n"
				"7f10000-7f11000 rw-p 00000000 00:01 5127   /memfd:OTEL_CTX (deleted)\n"), 0x7f10000);
	EQ(process_context_find("7f10000-7f11000 rw-p 00000000 00:00 0   [anon:OTEL_CTX]\n"), 0x7f10000);
	EQ(process_context_find("7f10000-7f11000 rw-p 00000000 00:00 0   [anon_shmem:OTEL_CTX]"), 0x7f10000);
	EQ(process_context_find("7f10000-7f11000 rwxp 00000000 00:01 5127   /memfd:OTEL_CTX (deleted)\n"), 0);
	EQ(process_context_find("7f10000-7f11000 rw-p 00000000 00:01 5127   /tmp/OTEL_CTX\n"), 0);
	EQ(process_context_find(""), 0);
}

struct memory {
	u8 at[256];
	u64 times[8];	/* what the time is at each look; 0: as it is in memory */
	u32 looks;
};

static int read_memory(void *arg, u64 va, void *to, size_t bytes)
{
	struct memory *m = arg;

	if (va + bytes > sizeof(m->at))
		return -EFAULT;
	memcpy(to, m->at + va, bytes);
	if (va <= 16 && va + bytes >= 24 && m->times[m->looks])
		memcpy((u8 *)to + 16 - va, &m->times[m->looks], 8);
	m->looks++;
	return 0;
}

TEST(process_context_that_changes_is_read_again)
{
	struct memory m = { .at = "OTEL_CTX\x02\0\0\0\x03\0\0\0\x07\0\0\0\0\0\0\0\x40", .times = { 0, 0, 8 } };
	struct process_context_reader reader = { read_memory, &m };
	void *payload;
	u64 time;

	m.at[0x40] = 'a';
	EQ(process_context_read(&reader, 0, &payload, &time), 3);
	EQ(m.looks, 6);
	EQ(time, 7);
	EQ(*(char *)payload, 'a');
	free(payload);
	m.at[8] = 1;	/* a draft */
	EQ(process_context_read(&reader, 0, &payload, &time), -EBADMSG);
	m.at[8] = 2;
	m.at[14] = 1;	/* of 64 KiB and more */
	EQ(process_context_read(&reader, 0, &payload, &time), -EBADMSG);
}

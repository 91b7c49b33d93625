// SPDX-License-Identifier: Apache-2.0
#include "proc/description.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proc/peek.h"
#include "test.h"

#define SECOND_NS 1000000000ull

/* This process, described. */
struct subject {
	struct peek *peek;
	struct description description;
	struct described who;
	u64 now_ns;
};

static void subject_init(struct subject *s)
{
	*s = (struct subject){ .now_ns = 1 };
	EQ(peek_new(SECOND_NS, &s->peek), 0);
	s->who = (struct described){ s->peek, peek_process(1), (u32)gettid(), (u32)getpid(), "/usr/bin/ledger", 0 };
}

static void subject_done(struct subject *s)
{
	description_done(&s->description);
	peek_free(s->peek);
}

static bool update_says(struct subject *s, const char *text)
{
	description_update(&s->description, &s->who, &(struct description_options){ .choice = NULL }, s->now_ns);
	return s->description.text && memmem(s->description.text, s->description.bytes, text, strlen(text) + 1);
}

TEST(description_has_what_an_apm_agent_says_once_it_does)
{
	static const char storage[] = "\1\0\4\0\0\0shop\7\0\0\0testing";
	const char *volatile variable = NULL;
	struct subject s;

	subject_init(&s);
	OK(update_says(&s, "wick.service.source=program"));
	s.who.apm_variable_va = (u64)(uintptr_t)&variable;
	description_expect(&s.description, s.now_ns);
	s.now_ns += SECOND_NS;
	OK(update_says(&s, "wick.service.source=program"));
	variable = storage;
	OK(update_says(&s, "wick.service.source=program"));	/* it is not due yet */
	s.now_ns += 10 * SECOND_NS;
	OK(update_says(&s, "service.name=shop"));
	OK(update_says(&s, "deployment.environment.name=testing"));
	OK(update_says(&s, "wick.service.source=apm_agent"));
	subject_done(&s);
}

/* One that names the service "shop". */
static void *publish_context(void)
{
	static const char payload[] = "\x0a\x18\x0a\x16\x0a\x0cservice.name\x12\x06\x0a\x04" "shop";
	static const u32 head[] = { 2, sizeof(payload) - 1 };
	u64 words[] = { 7, (u64)(uintptr_t)payload };
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	char *at = ftruncate(fd, 4096) ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	OK(at != MAP_FAILED);
	close(fd);
	memcpy(at, "OTEL_CTX", 8);
	memcpy(at + 8, head, sizeof(head));
	memcpy(at + 16, words, sizeof(words));
	return at;
}

TEST(description_keeps_what_the_process_publishes_when_rules_change)
{
	void *context = publish_context();
	struct subject s;

	subject_init(&s);
	OK(update_says(&s, "wick.service.source=program"));
	s.now_ns += SECOND_NS;
	OK(update_says(&s, "service.name=shop"));
	description_forget(&s.description);
	OK(update_says(&s, "service.name=shop"));
	munmap(context, 4096);
	subject_done(&s);
}

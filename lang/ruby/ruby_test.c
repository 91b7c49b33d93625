// SPDX-License-Identifier: Apache-2.0
#include "lang/ruby/ruby.h"

#include <errno.h>

#include "forge_damage.h"
#include "forge_ruby.h"
#include "lang/named.h"
#include "runtime_names.h"
#include "test.h"

extern const struct lang_ops ruby_ops;

static const u32 versions[] = {
	RUBY_VERSION(2, 7), RUBY_VERSION(3, 0), RUBY_VERSION(3, 1), RUBY_VERSION(3, 2), RUBY_VERSION(3, 3),
	RUBY_VERSION(3, 4),
};

#define EACH_VERSION(i) for (u32 i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)

static struct lang_process self(void)
{
	return (struct lang_process){ .pid = (u32)getpid() };
}

static int attach(const struct ruby_facts *facts, struct runtime_slot *ret_slot, void **ret_state)
{
	return runtime_attach(&ruby_ops, facts, sizeof(*facts), 0, ret_slot, ret_state);
}

static const char *name(void *state, u64 method, u64 iseq, u64 instruction)
{
	struct lang_process process = self();
	u64 frame[2];

	ruby_frame_of(method, iseq, instruction, frame);
	return runtime_name(&ruby_ops, &process, state, frame);
}

/* Asks for frames by words that were made before the memory was damaged. */
static void resolve_all(const struct forge_ruby *r, void *state)
{
	const u64 frames[][2] = { { r->bar, r->block }, { r->each, 0 }, { r->own, 0 }, { r->bar, r->eval } };
	struct lang_process process = self();
	struct named names;

	named_init(&names);
	for (u32 i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
		for (u64 cookie = 0; cookie <= RUBY_COOKIE_MASK; cookie++) {
			u64 frame[2] = {
				(u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | (u64)LANG_RUBY << FRAME_LANG_SHIFT |
				frames[i][0] >> 3 << RUBY_COOKIE_BITS | cookie,
				frames[i][1] >> 3 << RUBY_INSTRUCTION_BITS | 40,
			};

			OK(named_find(&names, &ruby_ops, state, &process, frame, 0));
		}
	named_done(&names);
}

TEST(ruby_names_methods_with_their_class_in_every_version)
{
	EACH_VERSION(i) {
		struct forge_ruby r = forge_ruby(versions[i]);
		struct ruby_facts facts = ruby_facts_of(versions[i]);
		struct runtime_slot slot = { 0 };
		void *state = NULL;

		EQ(attach(&facts, &slot, &state), 0);
		STREQ(name(state, r.bar, r.method, 1), "Foo#bar /a/rather/long/path.rb:10");
		STREQ(name(state, r.bar, r.block, 4), "block (2 levels) in Foo#bar /a/rather/long/path.rb:11");
		STREQ(name(state, r.each, 0, RUBY_INSTRUCTION_NONE), "Foo#each :0");
		STREQ(name(state, r.own, 0, RUBY_INSTRUCTION_NONE), "Foo.each :0");
		/* An operator of a class without a name, and code of no method. */
		STREQ(name(state, r.other, 0, RUBY_INSTRUCTION_NONE), "+ :0");
		STREQ(name(state, 0, r.method, 1), "bar /a/rather/long/path.rb:10");
		STREQ(name(state, r.bar, r.eval, 1), "Foo#bar /a/rather/long/path.rb:10");
		STREQ(name(state, r.made, r.define, 1), "Foo#made /a/rather/long/path.rb:10");
		ruby_ops.detach(state);
	}
}

TEST(ruby_finds_lines_by_small_and_large_tables)
{
	static const struct { u32 instruction, line; } cases[] = {
		{ 0, 10 }, { 3, 10 }, { 4, 11 }, { 54, 11 }, { 60, 11 }, { 61, 12 }, { 119, 12 }, { 130, 12 },
		{ 131, 13 }, { 199, 13 }, { RUBY_INSTRUCTION_NONE, 9 },
	};

	EACH_VERSION(i) {
		struct forge_ruby r = forge_ruby(versions[i]);
		struct ruby_facts facts = ruby_facts_of(versions[i]);
		struct runtime_slot slot = { 0 };
		void *state = NULL;

		EQ(attach(&facts, &slot, &state), 0);
		for (u32 j = 0; j < sizeof(cases) / sizeof(cases[0]); j++)
			EQ(strtol(strrchr(name(state, 0, r.method, cases[j].instruction), ':') + 1, NULL, 10),
			   cases[j].line);
		ruby_ops.detach(state);
	}
}

TEST(ruby_does_not_name_what_is_another_object_by_now)
{
	struct forge_ruby r = forge_ruby(RUBY_VERSION(3, 4));
	struct ruby_facts facts = ruby_facts_of(RUBY_VERSION(3, 4));
	struct lang_process process = self();
	struct runtime_slot slot = { 0 };
	struct named names;
	void *state = NULL;
	u64 frame[2];

	EQ(attach(&facts, &slot, &state), 0);
	named_init(&names);
	ruby_frame_of(0, r.method, 0, frame);
	frame[0] ^= 1;			/* its code was elsewhere */
	EQ(named_find(&names, &ruby_ops, state, &process, frame, 0)->line_count, 1);
	frame[1] = r.foo >> 3 << RUBY_INSTRUCTION_BITS;	/* no instruction sequence at all */
	(void)named_find(&names, &ruby_ops, state, &process, frame, 0);
	ruby_frame_of(r.foo, 0, 0, frame);	/* no method entry */
	(void)named_find(&names, &ruby_ops, state, &process, frame, 0);
	ruby_frame_of(0x1000, 0, 0, frame);
	(void)named_find(&names, &ruby_ops, state, &process, frame, 0);
	EQ(names.unnamed, 4);
	named_done(&names);
	ruby_ops.detach(state);
}

/* What the kernel half has copied: the body of an instruction sequence. */
static int recall(void *arg, const struct kept_key *key, struct kept_objects *ret_kept)
{
	if (key->lang != LANG_RUBY || key->id[1] != RUBY_VA + 0x7000)
		return -ENOENT;
	*ret_kept = *(struct kept_objects *)arg;
	return 0;
}

TEST(ruby_names_code_that_is_gone_by_what_was_kept)
{
	struct forge_ruby r = forge_ruby(RUBY_VERSION(3, 4));
	struct ruby_facts facts = ruby_facts_of(RUBY_VERSION(3, 4));
	static struct kept_objects kept;
	struct lang_process process = { .pid = (u32)getpid(), .recall = recall, .arg = &kept };
	const struct window_frame *found;
	struct runtime_slot slot = { 0 };
	struct named names;
	void *state = NULL;
	u64 frame[2];

	EQ(attach(&facts, &slot, &state), 0);
	named_init(&names);
	ruby_frame_of(r.bar, r.eval, 61, frame);
	memcpy(&kept.piece[0].va, (void *)(uintptr_t)(r.eval + RUBY_ISEQ_BODY), 8);
	memcpy(kept.piece[0].bytes, (void *)(uintptr_t)kept.piece[0].va, KEPT_PIECE_BYTES);
	frame[1] = (RUBY_VA + 0x7000) >> 3 << RUBY_INSTRUCTION_BITS | 61;
	found = named_find(&names, &ruby_ops, state, &process, frame, 0);
	STREQ(found->lines[0].function, "Foo#bar");
	STREQ(found->lines[0].file, "/a/rather/long/path.rb");
	EQ(found->lines[0].line, 9);
	named_done(&names);
	ruby_ops.detach(state);
}

TEST(ruby_leaves_out_a_class_that_makes_no_sense)
{
	struct forge_ruby r = forge_ruby(RUBY_VERSION(3, 3));
	struct ruby_facts facts = ruby_facts_of(RUBY_VERSION(3, 3));
	struct runtime_slot slot = { 0 };
	void *state = NULL;

	EQ(attach(&facts, &slot, &state), 0);
	ruby_put(r.foo + 152, 0xdead0000, 8);
	STREQ(name(state, r.bar, r.method, 1), "bar /a/rather/long/path.rb:10");
	ruby_put(r.foo + 152, ruby_string(&r, "#<Class:0x1234>"), 8);
	STREQ(name(state, r.bar, r.method, 1), "bar /a/rather/long/path.rb:10");
	ruby_put(r.bar + 32, 3, 8);
	STREQ(name(state, r.bar, r.method, 1), "bar /a/rather/long/path.rb:10");
	ruby_ops.detach(state);
}

/* Any words at all in its memory: what comes out is a name or none. */
TEST(ruby_survives_whatever_is_in_memory)
{
	u64 random = 1;

	for (u32 round = 0; round < 1200; round++) {
		u32 version = versions[round % (sizeof(versions) / sizeof(versions[0]))];
		struct forge_ruby r = forge_ruby(version);
		struct ruby_facts facts = ruby_facts_of(version);
		struct runtime_slot slot = { 0 };
		void *state = NULL;
		u8 damage[12 * 40];

		EQ(attach(&facts, &slot, &state), 0);
		forge_random(&random, damage, sizeof(damage));
		/* Half of the words point into it. */
		for (u32 i = 0; i + 12 <= sizeof(damage) && round & 1; i += 12)
			memcpy(damage + i + 4, (u64[]){ RUBY_VA + 8 * damage[i] * damage[i + 1] }, 8);
		forge_damage(damage, sizeof(damage), RUBY_VA, r.free_va - RUBY_VA, ruby_put);
		resolve_all(&r, state);
		ruby_ops.detach(state);
	}
}

TEST(ruby_tells_the_kernel_half_where_the_context_is)
{
	static const struct { u32 access; u64 at, context, context_at, vector_at; } cases[] = {
		{ RUBY_ACCESS_PAIR, RUBY_PAIR_VA, RUBY_CONTEXT_DYNAMIC, 0x28, 48 },
		{ RUBY_ACCESS_OFFSET, 0 - 16ull, RUBY_CONTEXT_STATIC, 0 - 16ull, 0 },
		{ RUBY_ACCESS_WORD, RUBY_PAIR_VA + 8, RUBY_CONTEXT_STATIC, 0x28, 0 },
		{ RUBY_ACCESS_GLOBAL, 0x5000, RUBY_CONTEXT_GLOBAL, 0x5000, 0 },
	};

	(void)forge_ruby(RUBY_VERSION(3, 1));
	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ruby_facts facts = ruby_facts_of(RUBY_VERSION(3, 1));
		struct runtime_slot slot = { 0 };
		struct ruby_slot words;
		void *state = NULL;

		facts.access = cases[i].access;
		facts.access_at = cases[i].at;
		EQ(attach(&facts, &slot, &state), 0);
		memcpy(&words, slot.word, sizeof(words));
		EQ(words.context, cases[i].context);
		EQ(words.context_at, cases[i].context_at);
		EQ(words.vector_at, cases[i].vector_at);
		EQ(words.frame_bytes, 64);
		EQ(words.exec[0].start_va, 0x1000);
		EQ(words.exec[1].end_va, 0);
		ruby_ops.detach(state);
	}
}

TEST(ruby_waits_for_the_loader_and_refuses_other_versions)
{
	struct ruby_facts facts;
	struct runtime_slot slot = { 0 };
	void *state = NULL;

	(void)forge_ruby(RUBY_VERSION(3, 4));
	facts = ruby_facts_of(RUBY_VERSION(3, 4));
	ruby_put(RUBY_PAIR_VA, 0, 8);
	EQ(attach(&facts, &slot, &state), -EAGAIN);
	facts.access_at = 8;
	EQ(attach(&facts, &slot, &state), -EFAULT);
	facts.access = RUBY_ACCESS_NONE;
	EQ(attach(&facts, &slot, &state), -EOPNOTSUPP);
	facts = ruby_facts_of(RUBY_VERSION(4, 0));
	EQ(attach(&facts, &slot, &state), -EOPNOTSUPP);
	facts = ruby_facts_of(RUBY_VERSION(2, 6));
	EQ(attach(&facts, &slot, &state), -EOPNOTSUPP);
	/* Built in another way: its loop was not found. */
	facts = ruby_facts_of(RUBY_VERSION(3, 4));
	facts.exec[0].end_ea = 0;
	EQ(attach(&facts, &slot, &state), -EOPNOTSUPP);
}

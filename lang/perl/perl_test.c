// SPDX-License-Identifier: Apache-2.0
#include "lang/perl/perl.h"

#include <errno.h>

#include "forge_damage.h"
#include "forge_perl.h"
#include "lang/named.h"
#include "runtime_names.h"
#include "test.h"

extern const struct lang_ops perl_ops;

static const u32 versions[] = {
	PERL_VERSION(5, 28), PERL_VERSION(5, 30), PERL_VERSION(5, 32), PERL_VERSION(5, 34), PERL_VERSION(5, 36),
	PERL_VERSION(5, 38), PERL_VERSION(5, 40), PERL_VERSION(5, 42),
};
#define VERSIONS (sizeof(versions) / sizeof(versions[0]))

static int attach(const struct perl_facts *facts, struct runtime_slot *ret_slot, void **ret_state)
{
	return runtime_attach(&perl_ops, facts, sizeof(*facts), 0, ret_slot, ret_state);
}

static const char *name_in(const struct lang_process *process, void *state, u32 kind, u64 object, u64 file, u64 line)
{
	u64 frame[2];

	perl_frame_of(kind, object, file, line, frame);
	return runtime_name(&perl_ops, process, state, frame);
}

static const char *name(void *state, u32 kind, u64 object, u64 file, u64 line)
{
	struct lang_process process = { .pid = (u32)getpid() };

	return name_in(&process, state, kind, object, file, line);
}

TEST(perl_names_subs_with_their_package_in_every_version)
{
	for (u32 i = 0; i < VERSIONS; i++) {
		struct forge_perl p = forge_perl(versions[i]);
		struct perl_facts facts = perl_facts_of(versions[i]);
		struct runtime_slot slot = { 0 };
		void *state = NULL;

		EQ(attach(&facts, &slot, &state), 0);
		STREQ(name(state, PERL_SUB_GLOB, p.bar, p.file, 7), "Foo::bar /a/path.pl:7");
		STREQ(name(state, PERL_SUB_GLOB, p.alias, p.file, 8), "Foo::bar /a/path.pl:8");
		STREQ(name(state, PERL_SUB_GLOB, p.nameless, p.file, 9), "__ANON__ /a/path.pl:9");
		STREQ(name(state, PERL_SUB_GLOB, p.latin, 0, 9), "Ma\xc3\x83\xc2\x9f::gr\xc3\xb6\xc3\x9f" "e :0");
		STREQ(name(state, PERL_SUB_CODE, p.own, p.file, 1), "Foo::l\xc3\xa4nge /a/path.pl:1");
		STREQ(name(state, PERL_REQUIRE, p.required, p.file, 2), "require Foo/Bar.pm /a/path.pl:2");
		STREQ(name(state, PERL_EVAL_BLOCK, 0, p.file, 3), "eval {...} /a/path.pl:3");
		STREQ(name(state, PERL_EVAL_TEXT, 0, p.file, 3), "eval '...' /a/path.pl:3");
		STREQ(name(state, PERL_PROGRAM, 0, p.file, 4), "main /a/path.pl:4");
		perl_ops.detach(state);
	}
}

TEST(perl_names_files_by_globs_where_there_are_no_threads)
{
	struct forge_perl p = forge_perl(PERL_VERSION(5, 36));
	struct perl_facts facts = perl_facts_of(PERL_VERSION(5, 36));
	struct runtime_slot slot = { 0 };
	struct perl_slot words;
	void *state = NULL;

	facts.key_ea = 0;
	facts.op_ea = 0x10;
	facts.cop_ea = 0x20;
	facts.info_ea = 0x30;
	EQ(attach(&facts, &slot, &state), 0);
	memcpy(&words, slot.word, sizeof(words));
	EQ(words.has_threads, 0);
	EQ(words.op, 0x10);
	EQ(words.cop, 0x20);
	EQ(words.info, 0x30);
	STREQ(name(state, PERL_SUB_GLOB, p.bar, p.file_glob, 7), "Foo::bar /a/path.pl:7");
	STREQ(name(state, PERL_SUB_GLOB, p.bar, p.bar, 7), "Foo::bar :0");	/* no file's */
	perl_ops.detach(state);
}

TEST(perl_does_not_name_what_is_another_object_by_now)
{
	struct forge_perl p = forge_perl(PERL_VERSION(5, 40));
	struct perl_facts facts = perl_facts_of(PERL_VERSION(5, 40));
	struct runtime_slot slot = { 0 };
	void *state = NULL;

	EQ(attach(&facts, &slot, &state), 0);
	STREQ(name(state, PERL_SUB_GLOB, p.own, p.file, 7), "?");
	STREQ(name(state, PERL_SUB_CODE, p.bar, p.file, 7), "?");
	STREQ(name(state, PERL_SUB_GLOB, 0x1000, p.file, 7), "?");
	perl_put(p.own + 32 + PERL_CODE_FLAGS, 0, 8);	/* it has no name of its own */
	STREQ(name(state, PERL_SUB_CODE, p.own, p.file, 7), "?");
	perl_ops.detach(state);
}

/* What the kernel half has copied: a file, and the name of one that is required. */
static int recall(void *arg, const struct kept_key *key, struct kept_objects *ret_kept)
{
	if (key->lang != LANG_PERL)
		return -ENOENT;
	*ret_kept = *(struct kept_objects *)arg;
	return 0;
}

TEST(perl_names_what_is_gone_by_what_was_kept)
{
	struct forge_perl p = forge_perl(PERL_VERSION(5, 36));
	static struct kept_objects kept;
	struct lang_process process = { .pid = (u32)getpid(), .recall = recall, .arg = &kept };

	for (u32 threads = 0; threads < 2; threads++) {
		struct perl_facts facts = perl_facts_of(PERL_VERSION(5, 36));
		struct runtime_slot slot = { 0 };
		void *state = NULL;

		memset(&kept, 0, sizeof(kept));
		kept.piece[0].va = kept.piece[1].va = 1;
		memcpy(kept.piece[0].bytes, threads ? "(eval 7)" : "\0\0\0\0\x0a\0\0\0_<(eval 7)", threads ? 9 : 18);
		memcpy(kept.piece[1].bytes, "Gone.pm", 7);
		if (!threads)
			facts.key_ea = 0;
		EQ(attach(&facts, &slot, &state), 0);
		STREQ(name_in(&process, state, PERL_EVAL_TEXT, 0, 0x8000, 3), "eval '...' (eval 7):3");
		STREQ(name_in(&process, state, PERL_REQUIRE, 0x8000, p.file, 3), "require Gone.pm (eval 7):3");
		perl_ops.detach(state);
	}
}

TEST(perl_tells_the_kernel_half_where_the_interpreter_is)
{
	static const struct { u32 key; u64 value, in_block, value_in_block; } cases[] = {
		{ 0, 0x318, 0, 0 }, { 3, 0x348, 0, 0 }, { 31, 0x508, 0, 0 }, { 32, 0x518, 1, 8 },
		{ 70, 0x520, 1, 0x68 },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perl_facts facts = perl_facts_of(PERL_VERSION(5, 32));
		struct runtime_slot slot = { 0 };
		struct perl_slot words;
		void *state = NULL;

		(void)forge_perl(PERL_VERSION(5, 32));
		perl_put(PERL_KEY_VA, cases[i].key, 4);
		EQ(attach(&facts, &slot, &state), 0);
		memcpy(&words, slot.word, sizeof(words));
		EQ(words.value, cases[i].value);
		EQ(words.is_in_block, cases[i].in_block);
		EQ(words.value_in_block, cases[i].value_in_block);
		EQ(words.cop, 224);
		EQ(words.context_bytes, 104);
		EQ(words.sub_code, 9);
		EQ(words.callers[1].start_va, 0x2000);
		perl_ops.detach(state);
	}
}

TEST(perl_waits_for_an_interpreter_and_refuses_other_versions)
{
	struct perl_facts facts = perl_facts_of(PERL_VERSION(5, 36));
	struct runtime_slot slot = { 0 };
	void *state = NULL;

	(void)forge_perl(PERL_VERSION(5, 36));
	perl_put(PERL_CURRENT_VA, 0, 8);
	EQ(attach(&facts, &slot, &state), -EAGAIN);
	(void)forge_perl(PERL_VERSION(5, 36));
	perl_put(PERL_KEY_VA, 5000, 4);
	EQ(attach(&facts, &slot, &state), -EOPNOTSUPP);
	facts.current_ea = 8;
	EQ(attach(&facts, &slot, &state), -EFAULT);
	facts = perl_facts_of(PERL_VERSION(5, 26));
	EQ(attach(&facts, &slot, &state), -EOPNOTSUPP);
	facts = perl_facts_of(PERL_VERSION(5, 36));
	facts.has_loop = 0;
	EQ(attach(&facts, &slot, &state), -EOPNOTSUPP);
}

/* Any words at all in its memory: what comes out is a name or none. */
TEST(perl_survives_whatever_is_in_memory)
{
	u64 random = 1;

	for (u32 round = 0; round < 1200; round++) {
		u32 version = versions[round % VERSIONS];
		struct forge_perl p = forge_perl(version);
		struct perl_facts facts = perl_facts_of(version);
		struct runtime_slot slot = { 0 };
		void *state = NULL;
		u8 damage[12 * 40];

		EQ(attach(&facts, &slot, &state), 0);
		forge_random(&random, damage, sizeof(damage));
		/* Half of the words point into it. */
		for (u32 i = 0; i + 12 <= sizeof(damage) && round & 1; i += 12)
			memcpy(damage + i + 4, (u64[]){ PERL_VA + 8 * damage[i] * (damage[i + 1] & 15) }, 8);
		forge_damage(damage, sizeof(damage), PERL_VA, p.free_va - PERL_VA, perl_put);
		(void)name(state, PERL_SUB_GLOB, p.alias, p.file, 1);
		(void)name(state, PERL_SUB_GLOB, p.latin, p.file, 1);
		(void)name(state, PERL_SUB_CODE, p.own, p.file_glob, 1);
		(void)name(state, PERL_REQUIRE, p.required, p.file, 1);
		perl_ops.detach(state);
	}
}

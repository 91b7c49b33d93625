// SPDX-License-Identifier: Apache-2.0
#include "lang/beam/beam.h"

#include <errno.h>

#include "base/buf.h"
#include "forge_beam.h"
#include "forge_damage.h"
#include "lang/beam/beam_name.h"
#include "runtime_names.h"
#include "test.h"

extern const struct lang_ops beam_ops;

static int attach(const struct beam_facts *facts, struct beam_slot *ret_slot, void **ret_state)
{
	struct runtime_slot slot;
	int r = runtime_attach(&beam_ops, facts, sizeof(*facts), BEAM_VA, &slot, ret_state);

	memcpy(ret_slot, slot.word, sizeof(*ret_slot));
	return r;
}

static const char *name_at(void *state, u64 va)
{
	struct lang_process process = { .pid = (u32)getpid() };
	u64 frame[2] = { beam_frame_of(va), 0 };

	return runtime_name(&beam_ops, &process, state, frame);
}

TEST(beam_finds_all_that_the_kernel_half_needs)
{
	struct beam_facts facts = beam_facts_of(27);
	struct beam_slot slot;
	void *state = NULL;

	(void)forge_beam();
	EQ(attach(&facts, &slot, &state), 0);
	EQ(slot.scheduler, 0x310 + 16 * 4 + 8);
	EQ(slot.has_block, 0);
	EQ(slot.stop, BEAM_STOP);
	EQ(slot.registers, 0x40);
	EQ(slot.root, BEAM_LOOP_STACK + 8);
	EQ(slot.root_va, BEAM_RETURN_VA);
	EQ(slot.normal_exit_va, BEAM_EXIT_VA);
	EQ(slot.global_va, BEAM_GLOBAL_VA);
	EQ(slot.global_end_va, BEAM_GLOBAL_VA + 0x400);
	EQ(slot.loop_va, BEAM_LOOP_VA);
	EQ(slot.loop_end_va, BEAM_GLOBAL_VA + 0x300);
	EQ(slot.has_frame_pointers, 0);
	OK(beam_ops.owns(state, NULL, BEAM_MODULE_VA, BEAM_MODULE_VA + 1));
	beam_ops.detach(state);
}

TEST(beam_finds_a_value_of_musl)
{
	struct beam_facts facts = beam_facts_of(0);
	struct beam_slot slot;
	void *state = NULL;

	(void)forge_beam();
	beam_put(BEAM_THREAD_VA + 0x10, 0, 8);
	beam_put(BEAM_THREAD_VA + 0x80, BEAM_THREAD_VA + 0x400, 8);
	beam_put(BEAM_THREAD_VA + 0x400 + 8 * 6, BEAM_SCHEDULER_VA, 8);
	EQ(attach(&facts, &slot, &state), 0);
	EQ(slot.scheduler, 0x80);
	EQ(slot.has_block, 1);
	EQ(slot.scheduler_in_block, 48);
	beam_ops.detach(state);
}

TEST(beam_names_functions_with_their_lines)
{
	struct beam_facts facts = beam_facts_of(25);
	struct beam_slot slot;
	void *state = NULL;

	(void)forge_beam();
	EQ(attach(&facts, &slot, &state), 0);
	STREQ(name_at(state, BEAM_MODULE_VA + 0x80), "some:work/2 :0");
	STREQ(name_at(state, BEAM_MODULE_VA + 0xa0), "some:work/2 some.erl:17");
	STREQ(name_at(state, BEAM_MODULE_VA + 0x10f), "some:work/2 some.erl:17");
	STREQ(name_at(state, BEAM_MODULE_VA + 0x110), "some:work/2 other.hrl:19");
	STREQ(name_at(state, BEAM_MODULE_VA + 0x210), "Some.Thing.'run!'/1 :0");
	STREQ(name_at(state, BEAM_GLOBAL_VA + 4), "(call_bif_shared) :0");
	STREQ(name_at(state, BEAM_MODULE_VA + 0x400), "?");
	beam_ops.detach(state);
}

TEST(beam_names_code_that_is_loaded_later_in_the_place_of_other)
{
	struct lang_process process = { .pid = (u32)getpid() };
	struct beam_facts facts = beam_facts_of(25);
	struct forge_beam b = forge_beam();
	struct beam_slot slot;
	void *state = NULL;
	u64 text_va, before;

	EQ(attach(&facts, &slot, &state), 0);
	STREQ(name_at(state, BEAM_MODULE_VA + 0xa0), "some:work/2 some.erl:17");
	before = beam_ops.generation(state, &process);
	text_va = beam_put_head(&b, BEAM_MODULE_VA + 0x40, 0x100, 1, "new");
	beam_put_range(&b, 0, 0x100, 0, "new:code/0");
	beam_put_entry(&b, text_va);
	/* Looked at now and then. */
	for (u32 i = 0; i < 1000 && beam_ops.generation(state, &process) == before; i++)
		usleep(1000);
	OK(beam_ops.generation(state, &process) != before);
	STREQ(name_at(state, BEAM_MODULE_VA + 0xa0), "new:code/0 :0");
	STREQ(name_at(state, BEAM_GLOBAL_VA + 4), "(call_bif_shared) :0");
	beam_ops.detach(state);
}

/* OTP 25 prints other parts of the number. */
TEST(beam_tells_pids_as_erlang_prints_them)
{
	struct lang_process process = { .pid = (u32)getpid() };
	static const struct { u64 release; const char *shown; } cases[] = {
		{ 25, "<0.5.3>" }, { 27, "<0.667648.4>" },
	};

	for (u32 i = 0; i < 2; i++) {
		struct beam_facts facts = beam_facts_of(cases[i].release);
		u64 frame[2] = { (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | FRAME_LABELS |
					(1ull << 30 | 3 << 15 | 5), 0 };
		const struct window_frame *found;
		struct beam_slot slot;
		struct named names;
		void *state = NULL;

		(void)forge_beam();
		beam_put_table(20);
		EQ(attach(&facts, &slot, &state), 0);
		EQ(slot.wants_pids, 0);
		named_init(&names);
		found = named_find(&names, &beam_ops, state, &process, frame, 0);
		OK(found && found->label_count == 1);
		STREQ(found->labels[0].key, "process.context.label.erlang.pid");
		STREQ(found->labels[0].value, cases[i].shown);
		named_done(&names);
		beam_ops.detach(state);
	}
}

TEST(beam_refuses_what_it_cannot_read_and_waits_for_what_is_to_come)
{
	struct beam_facts facts = beam_facts_of(24), good = beam_facts_of(29), other;
	struct beam_slot slot;
	void *state = NULL;

	(void)forge_beam();
	EQ(attach(&facts, &slot, &state), -EOPNOTSUPP);
	other = good;
	other.has_jit = 0;
	EQ(attach(&other, &slot, &state), -EOPNOTSUPP);
	other = good;
	other.is_x86_64 = 0;
	EQ(attach(&other, &slot, &state), -EOPNOTSUPP);
	beam_put(BEAM_LOOP_VA, 0x90, 1);	/* it begins in another way */
	EQ(attach(&good, &slot, &state), -EOPNOTSUPP);
	(void)forge_beam();
	beam_put(BEAM_GLOBAL_VA + 3, 0x60, 1);	/* not all say the same */
	EQ(attach(&good, &slot, &state), -EOPNOTSUPP);
	(void)forge_beam();
	beam_put(BEAM_POINTER_VA, 0, 8);	/* no scheduler yet */
	EQ(attach(&good, &slot, &state), -EAGAIN);
	beam_put(BEAM_DESCRIPTOR_VA + 16, 0, 8);
	EQ(attach(&good, &slot, &state), -EAGAIN);
	(void)forge_beam();
	good.release = 31;
	EQ(attach(&good, &slot, &state), 1);
	beam_ops.detach(state);
}

TEST(beam_writes_names_as_their_language_does)
{
	static const struct { const char *is, *shown; } names[] = {
		{ "lists:map/2", "lists:map/2" }, { "'Elixir.Enum':map/2", "Enum.map/2" },
		 { "Elixir.Enum:map/2", "Enum.map/2" },
		{ "'Elixir.A.B':'-run/0-fun-0-'/1", "A.B.'-run/0-fun-0-'/1" }, { "'odd\\':x':y/0", "'odd\\':x':y/0" },
		{ "global::garbage_collect", "(garbage_collect)" }, { "a:b/1-CodeInfoPrologue", "a:b/1" },
		{ "lists::codeFooter", "(lists::codeFooter)" }, { "", "" },
		{ "'", "'" }, { "'Elixir.", "'Elixir." }, { "Elixir.:", "." }, { "'Elixir.':x/0", ".x/0" },
		{ "'Elixir':x/0", "'Elixir':x/0" }, { "-CodeInfoPrologue", "-CodeInfoPrologue" },
	};

	for (u32 i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct buf text;

		buf_init(&text, 4096);
		beam_name(&text, names[i].is);
		EQ(buf_err(&text), 0);
		STREQ(text.data ? text.data : "", names[i].shown);
		buf_done(&text);
	}
}

/* Any words at all in its memory: what comes out is a name or none. */
TEST(beam_survives_whatever_is_in_memory)
{
	u64 random = 1;

	for (u32 round = 0; round < 400; round++) {
		struct beam_facts facts = beam_facts_of(27);
		struct forge_beam b = forge_beam();
		u8 damage[12 * 16];
		struct beam_slot slot;
		void *state = NULL;

		forge_random(&random, damage, sizeof(damage));
		if (round % 2)
			forge_damage(damage, sizeof(damage), BEAM_VA, BEAM_BYTES, beam_put);
		if (attach(&facts, &slot, &state) < 0)
			continue;
		forge_damage(damage, sizeof(damage), BEAM_ENTRIES_VA, b.text_va - BEAM_ENTRIES_VA, beam_put);
		(void)name_at(state, BEAM_MODULE_VA + 0x110);
		(void)name_at(state, BEAM_GLOBAL_VA + 0x110);
		(void)name_at(state, BEAM_MODULE_VA + 0x500);
		beam_ops.detach(state);
	}
}

// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/dotnet.h"

#include <errno.h>
#include <stdlib.h>

#include "exe/rows.h"
#include "forge_damage.h"
#include "forge_dotnet.h"
#include "runtime_names.h"
#include "test.h"

extern const struct lang_ops dotnet_ops;

static const u32 versions[] = { 6, 7, 8, 9, 10 };
#define VERSIONS (sizeof(versions) / sizeof(versions[0]))

static int attach(const struct dotnet_facts *facts, void **ret_state)
{
	struct runtime_slot slot;

	return runtime_attach(&dotnet_ops, facts, sizeof(*facts), CLR_VA, &slot, ret_state);
}

static const char *name_at(void *state, u64 va)
{
	struct lang_process process = { .pid = (u32)getpid() };
	u64 frame[2] = { dotnet_frame_of(va), 0 };

	return runtime_name(&dotnet_ops, &process, state, frame);
}

TEST(dotnet_names_what_is_compiled_and_what_was_before)
{
	for (u32 i = 0; i < VERSIONS; i++) {
		struct forge_dotnet d = forge_dotnet(versions[i]);
		struct dotnet_facts facts = dotnet_facts_of(versions[i]);
		void *state = NULL;

		EQ(attach(&facts, &state), 0);
		STREQ(name_at(state, CLR_METHOD_VA), "Some.Space.Type.Method :0");
		STREQ(name_at(state, CLR_METHOD_VA + 3), "Some.Space.Type.Method :0");
		STREQ(name_at(state, CLR_METHOD_VA + 0x1f0), "Some.Space.Type.Method :0");
		STREQ(name_at(state, CLR_IMAGE_VA + 0x3000), "Some.Space.Type.Method :0");
		STREQ(name_at(state, CLR_IMAGE_VA + 0x3110), "Some.Space.Type.Run+lambda2_0 :0");
		STREQ(name_at(state, CLR_IMAGE_VA + 0x32ff), "Some.Space.Type.Work+MoveNext :0");
		STREQ(name_at(state, CLR_IMAGE_VA + 0x3300), "Some.Space.Type.Method :0");	/* for another type */
		STREQ(name_at(state, CLR_STUBS_VA + 0x10), d.layout.section_next ? "(stub) :0" : "(fixup precode) :0");
		STREQ(name_at(state, CLR_VA + 0x8000), "(stub) :0");
		STREQ(name_at(state, CLR_CODE_VA + 0x10), "(stub) :0");	/* before the first method */
		dotnet_ops.detach(state);
	}
}

TEST(dotnet_finds_a_long_method_where_newer_versions_point_to_its_start)
{
	struct forge_dotnet d = forge_dotnet(10);
	struct dotnet_facts facts = dotnet_facts_of(10);
	void *state = NULL;

	OK(d.layout.has_far_starts);
	EQ(attach(&facts, &state), 0);
	STREQ(name_at(state, CLR_METHOD_VA + 0x2e0), "Some.Space.Type.Method :0");
	dotnet_ops.detach(state);
}

/* A generic type of another module: what its table says is not where its methods are. */
TEST(dotnet_believes_no_module_that_has_the_method_elsewhere)
{
	struct forge_dotnet d = forge_dotnet(6);
	struct dotnet_facts facts = dotnet_facts_of(6);
	void *state = NULL;
	u64 table;

	memcpy(&table, (void *)(uintptr_t)d.chunk_va, sizeof(table));
	clr_put(table + d.layout.at[CLR_TABLE_FLAGS2], 7u << 16, 4);
	EQ(attach(&facts, &state), 0);
	STREQ(name_at(state, CLR_METHOD_VA), "?");
	dotnet_ops.detach(state);
}

#if REG_RA == 16
/* The rule at an address, by rows that lie from base_va on. */
static const struct unwind_rule *rule_at(const struct rows *rows, u64 offset)
{
	u32 found = 0;

	for (u32 i = 0; i < rows->row_count; i++)
		if (rows_low(rows)[i] <= offset)
			found = i;
	return &rows_rules(rows)[rows_rule(rows)[found]];
}

static void check_rows(u32 version)
{
	struct lang_process process = { .pid = (u32)getpid() };
	struct dotnet_facts facts = dotnet_facts_of(version);
	struct rows *rows = NULL;
	void *state = NULL;

	(void)forge_dotnet(version);
	EQ(attach(&facts, &state), 0);
	EQ(dotnet_ops.rows_order(state, &process, 0, ~0ull), 0);
	OK(dotnet_ops.owns(state, &process, CLR_CODE_VA, CLR_CODE_VA + 1));
	STREQ(name_at(state, CLR_METHOD_VA + 1), "Some.Space.Type.Method :0");
	EQ(dotnet_ops.rows_order(state, &process, 0, ~0ull), 1);
	STREQ(name_at(state, CLR_METHOD_VA + 2), "Some.Space.Type.Method :0");
	EQ(dotnet_ops.rows_order(state, &process, 0, ~0ull), 1);	/* known */
	EQ(dotnet_ops.rows(state, &process, CLR_CODE_VA, CLR_CODE_VA + 0x1000, CLR_CODE_VA, &rows), 0);
	EQ(rule_at(rows, 0x320)->cfa_off, 8);
	EQ(rule_at(rows, 0x322)->cfa_off, 16);
	EQ(rule_at(rows, 0x324)->cfa_off, 8);
	EQ(rule_at(rows, 0x330)->kind, RULE_NONE);
	free(rows);
	/* Functions of an image, a piece of 64 KiB at once. */
	STREQ(name_at(state, CLR_IMAGE_VA + 0x3000), "Some.Space.Type.Method :0");
	EQ(dotnet_ops.rows_order(state, &process, 0, ~0ull), 5);
	dotnet_ops.detach(state);
}

TEST(dotnet_tells_how_code_that_was_met_is_unwound)
{
	for (u32 i = 0; i < VERSIONS; i++)
		check_rows(versions[i]);
}
#endif

TEST(dotnet_refuses_what_it_cannot_read)
{
	struct dotnet_facts facts = dotnet_facts_of(4);		/* .NET Core 3.1 calls itself so */
	void *state = NULL;

	(void)forge_dotnet(8);
	EQ(attach(&facts, &state), -EOPNOTSUPP);
	facts = dotnet_facts_of(8);
	facts.roots_ea = 0;
	EQ(attach(&facts, &state), -EOPNOTSUPP);
	facts = dotnet_facts_of(8);
	facts.roots_ea = 0x800;		/* nothing is there yet */
	EQ(attach(&facts, &state), -EAGAIN);
	facts = dotnet_facts_of(10);
	facts.contract_ea = 0x800;
	EQ(attach(&facts, &state), -EBADMSG);
	facts = dotnet_facts_of(11);
	EQ(attach(&facts, &state), 1);	/* newer: as the newest that is known */
	dotnet_ops.detach(state);
}

static void put_contract(u64 va, const char *text)
{
	clr_put(va, 0x0043414443434e44ull, 8);
	clr_put(va + 12, strlen(text), 4);
	clr_put(va + 16, va + 64, 8);
	memcpy((void *)(uintptr_t)(va + 64), text, strlen(text) + 1);
}

TEST(dotnet_heeds_what_the_runtime_says_of_its_layout)
{
	static const char moved[] =
		"{\"version\":0,\"types\":{\"Module\":{\"Path\":[200,\"pointer\"],\"Other\":5},\"Other\":{\"Path\":1},"
		"\"MethodDescChunk\":{\"!\":24}},\"globals\":{\"MethodDescTokenRemainderBitCount\":[\"0xc\",\"uint8\"],"
		"\"AppDomain\":[[1],\"pointer\"]},\"contracts\":{\"ExecutionManager\":2,\"Thread\":1}}";
	struct dotnet_facts facts = dotnet_facts_of(9);
	struct forge_dotnet d = forge_dotnet(10);	/* but its name for it */
	void *state = NULL;
	u64 table;

	put_contract(CLR_VA + 0x200, moved);
	facts.contract_ea = 0x200;
	EQ(attach(&facts, &state), 0);
	STREQ(name_at(state, CLR_METHOD_VA + 0x2e0), "Some.Space.Type.Method :0");
	dotnet_ops.detach(state);
	put_contract(CLR_VA + 0x200, "{\"types\":{\"Module\":{\"Path\":99999}}}");
	EQ(attach(&facts, &state), -EBADMSG);
	put_contract(CLR_VA + 0x200, "{\"types\":");
	EQ(attach(&facts, &state), -EBADMSG);
	memcpy(&table, (void *)(uintptr_t)d.chunk_va, sizeof(table));
	OK(table);
}

/* Any words at all in its memory: what comes out is a name or none. */
TEST(dotnet_survives_whatever_is_in_memory)
{
	struct lang_process process = { .pid = (u32)getpid() };
	u64 random = 1;

	for (u32 round = 0; round < 400; round++) {
		u32 version = versions[round % VERSIONS];
		struct forge_dotnet d = forge_dotnet(version);
		struct dotnet_facts facts = dotnet_facts_of(version);
		struct rows *rows = NULL;
		void *state = NULL;
		u8 damage[12 * 24];

		EQ(attach(&facts, &state), 0);
		forge_random(&random, damage, sizeof(damage));
		forge_damage(damage, sizeof(damage) / 2, CLR_VA + 0x1000, d.free_va - CLR_VA - 0x1000, clr_put);
		forge_damage(damage + sizeof(damage) / 2, sizeof(damage) / 2, CLR_IMAGE_VA, 0x2200, clr_put);
		(void)name_at(state, CLR_METHOD_VA + 4);
		(void)name_at(state, CLR_IMAGE_VA + 0x3000);
		(void)name_at(state, CLR_STUBS_VA);
		if (dotnet_ops.rows(state, &process, CLR_VA, CLR_VA + CLR_BYTES, CLR_VA, &rows) == 0)
			free(rows);
		dotnet_ops.detach(state);
	}
}

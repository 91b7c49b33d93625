// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/dotnet.h"

#include <errno.h>
#include <stdlib.h>

#include "exe/rows.h"
#include "exe/source_map_builder.h"
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

/* What is asked for, and a PDB of three methods that answers to it. */
struct pdb {
	const char *path, *url;
	struct source_map *map;
	u32 asked;
};

static int on_source_map(void *arg, const struct lang_process *process, const struct lang_script *script,
			 const struct source_map **ret_map)
{
	struct pdb *pdb = arg;

	if (pdb->path)
		STREQ(script->path, pdb->path);
	if (pdb->url)
		STREQ(script->url, pdb->url);
	pdb->asked++;
	*ret_map = pdb->map;
	return pdb->map ? 0 : -ENODATA;
}

static struct source_map *make_map(const char *id)
{
	_cleanup_(source_map_builder_done) struct source_map_builder b = { 0 };
	struct source_map_place place = { 0 };
	struct source_map *map = NULL;

	memcpy(b.id, id, sizeof(b.id));
	EQ(source_map_builder_text(&b, "/src", "Type.cs", &place.source), 0);
	for (place.line = 1; place.line <= 3; place.line++)
		for (place.column = 0; place.column < 100; place.column += 20) {
			place.source_line = 1000 * place.line + place.column - 1;
			EQ(source_map_builder_place(&b, place), 0);
		}
	EQ(source_map_builder_finish(&b, &map), 0);
	return map;
}

static const char *line_at(void *state, struct pdb *pdb, u64 va)
{
	struct lang_process process = { .pid = (u32)getpid(), .source_map = on_source_map, .arg = pdb };
	u64 frame[2] = { dotnet_frame_of(va), 0 };

	return runtime_name(&dotnet_ops, &process, state, frame);
}

TEST(dotnet_tells_lines_by_the_pdb_of_the_module)
{
	for (u32 i = 0; i < VERSIONS; i++) {
		struct pdb pdb = { "/app/Some.dll", "Some.pdb", make_map(CLR_PDB_ID), 0 };
		struct dotnet_facts facts = dotnet_facts_of(versions[i]);
		void *state = NULL;

		(void)forge_dotnet(versions[i]);
		EQ(attach(&facts, &state), 0);
		STREQ(line_at(state, &pdb, CLR_METHOD_VA), "Some.Space.Type.Method /src/Type.cs:1000");
		STREQ(line_at(state, &pdb, CLR_METHOD_VA + 48), "Some.Space.Type.Method /src/Type.cs:1000");
		STREQ(line_at(state, &pdb, CLR_METHOD_VA + 49), "Some.Space.Type.Method /src/Type.cs:1020");
		STREQ(line_at(state, &pdb, CLR_METHOD_VA + 60), "Some.Space.Type.Method /src/Type.cs:1080");
		STREQ(line_at(state, &pdb, CLR_IMAGE_VA + 0x3031), "Some.Space.Type.Method /src/Type.cs:1020");
		STREQ(line_at(state, &pdb, CLR_IMAGE_VA + 0x3100), "Some.Space.Type.Run+lambda2_0 /src/Type.cs:2000");
		STREQ(line_at(state, &pdb, CLR_IMAGE_VA + 0x32ff), "Some.Space.Type.Work+MoveNext /src/Type.cs:3080");
		EQ(pdb.asked, 7);
		(void)line_at(state, &pdb, CLR_STUBS_VA + 0x10);
		EQ(pdb.asked, 7);
		dotnet_ops.detach(state);
		free(pdb.map);
	}
}

TEST(dotnet_believes_no_pdb_of_another_build)
{
	struct pdb pdb = { "/app/Some.dll", "Some.pdb", make_map("0123456789abcdef1235"), 0 };
	struct dotnet_facts facts = dotnet_facts_of(8);
	void *state = NULL;

	(void)forge_dotnet(8);
	EQ(attach(&facts, &state), 0);
	STREQ(line_at(state, &pdb, CLR_METHOD_VA), "Some.Space.Type.Method :0");
	EQ(pdb.asked, 1);
	free(pdb.map);
	pdb.map = NULL;
	STREQ(line_at(state, &pdb, CLR_METHOD_VA), "Some.Space.Type.Method :0");
	EQ(pdb.asked, 2);
	dotnet_ops.detach(state);
}

/* It is in the assembly then, whatever that is called by now. */
TEST(dotnet_looks_for_a_packed_pdb_in_the_assembly)
{
	struct pdb pdb = { "/app/Some.dll", "Some.dll", make_map(CLR_PDB_ID), 0 };
	struct dotnet_facts facts = dotnet_facts_of(9);
	void *state = NULL;

	(void)forge_dotnet(9);
	clr_put(CLR_FLAT_VA + 0x500 + 12, 17, 4);
	EQ(attach(&facts, &state), 0);
	STREQ(line_at(state, &pdb, CLR_METHOD_VA), "Some.Space.Type.Method /src/Type.cs:1000");
	dotnet_ops.detach(state);
	free(pdb.map);
}

/* Each spoils one thing that leads to the PDB: the name is as good as before. */
TEST(dotnet_asks_for_no_pdb_that_it_does_not_know_of)
{
	static const struct { u64 va, word; size_t bytes; } spoilt[] = {
		{ CLR_FLAT_VA, 0, 2 },				/* no image */
		{ CLR_FLAT_VA + 0x80, 0, 4 },
		{ CLR_FLAT_VA + 0x98, 7, 2 },
		{ CLR_FLAT_VA + 0x98 + 112 + 8 * 14, 0, 4 },	/* no CLI header */
		{ CLR_FLAT_VA + 0x98 + 112 + 8 * 6, 0, 8 },	/* no debug directory */
		{ CLR_FLAT_VA + 0x98 + 112 + 8 * 6, ~0ull, 8 },
		{ CLR_FLAT_VA + 0x500 + 28 + 10, 0, 2 },		/* of a PDB that is not portable */
		{ CLR_FLAT_VA + 0x540, 0, 4 },
		{ CLR_FLAT_VA + 0x540 + 24, 0, 1 },		/* without a name */
		{ CLR_FLAT_VA + 0x540 + 24 + 11, 0, 1 },
		{ CLR_FLAT_VA + 0x500 + 28 + 24, 0xfffffff0, 4 },
	};

	for (u32 i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		struct pdb pdb = { "", "", NULL, 0 };
		struct dotnet_facts facts = dotnet_facts_of(8);
		void *state = NULL;

		(void)forge_dotnet(8);
		clr_put(spoilt[i].va, spoilt[i].word, spoilt[i].bytes);
		EQ(attach(&facts, &state), 0);
		STREQ(line_at(state, &pdb, CLR_METHOD_VA), "Some.Space.Type.Method :0");
		EQ(pdb.asked, 0);
		dotnet_ops.detach(state);
	}
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
	/* As 11 says it: without types, and contracts by name. */
	put_contract(CLR_VA + 0x200, "{\"types\":{\"Module\":{\"Path\":200}},\"globals\":{"
				     "\"MethodDescTokenRemainderBitCount\":\"0xc\"},"
				     "\"contracts\":{\"ExecutionManager\":\"c1\"}}");
	facts.major = 11;
	EQ(attach(&facts, &state), 1);
	STREQ(name_at(state, CLR_METHOD_VA + 0x2e0), "Some.Space.Type.Method :0");
	dotnet_ops.detach(state);
	facts.major = 9;
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
		struct pdb pdb = { .map = NULL };
		struct rows *rows = NULL;
		void *state = NULL;
		u8 damage[12 * 24];

		EQ(attach(&facts, &state), 0);
		forge_random(&random, damage, sizeof(damage));
		forge_damage(damage, sizeof(damage) / 2, CLR_VA + 0x1000, d.free_va - CLR_VA - 0x1000, clr_put);
		forge_damage(damage + sizeof(damage) / 2, sizeof(damage) / 2, CLR_IMAGE_VA, 0x2200, clr_put);
		(void)line_at(state, &pdb, CLR_METHOD_VA + 4);
		(void)line_at(state, &pdb, CLR_IMAGE_VA + 0x3000);
		(void)name_at(state, CLR_STUBS_VA);
		if (dotnet_ops.rows(state, &process, CLR_VA, CLR_VA + CLR_BYTES, CLR_VA, &rows) == 0)
			free(rows);
		dotnet_ops.detach(state);
	}
}

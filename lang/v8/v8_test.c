// SPDX-License-Identifier: Apache-2.0
/* What is told of V8's objects: test/forge_v8.h. */
#include <errno.h>

#include "forge_v8.h"
#include "base/cleanup.h"
#include "exe/source_map.h"
#include "lang/named.h"

extern const struct lang_ops v8_ops;

#define MAP "{\"sources\":[\"../src/main.ts\"],\"mappings\":\";;;;;AAyCA\"}"	/* line 6 is line 42 there */

struct attached {
	struct v8 v8;
	struct lang_process process;
	struct runtime_slot slot;
	void *state;
	struct named names;
};

static int try_attach(struct attached *a, enum v8_number number, u64 value)
{
	struct lang_file file = { .lang = LANG_V8, .facts[V8_FACT_SIZES] = V8_MISSING };
	struct lang_place place = { .path = "node" };

	for (u32 i = 0; i < V8_NUMBER_COUNT; i++)
		file.facts[i] = v8_fact(i);
	file.facts[number] = value;
	a->process = (struct lang_process){ .pid = (u32)getpid() };
	return v8_ops.attach(&a->process, &file, &place, &a->slot, &a->state);
}

static void setup(struct attached *a)
{
	*a = (struct attached){ .v8 = forge_v8() };
	EQ(try_attach(a, V8_TAGGED_SIZE, 8), 0);
	named_init(&a->names);
}

static void done(struct attached *a)
{
	named_done(&a->names);
	v8_ops.detach(a->state);
}

static const struct window_frame *resolve(struct attached *a, u64 kind, u64 shared, u64 id, u64 value)
{
	u64 frame[2] = { (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | (u64)LANG_V8 << FRAME_LANG_SHIFT | shared,
			 kind << V8_KIND_SHIFT | id << V8_COOKIE_SHIFT | value };
	const struct window_frame *f = named_find(&a->names, &v8_ops, a->state, &a->process, frame, 0);

	OK(f);
	return f;
}

static void check_line(const struct window_line *line, const char *function, u32 number)
{
	STREQ(line->function, function);
	STREQ(line->file, "/app/main.js");
	EQ(line->line, number);
}

TEST(v8_fills_its_slot)
{
	const struct v8_slot *s;
	struct attached a;

	setup(&a);
	s = (const void *)a.slot.word;
	EQ(s->context, 7);
	EQ(s->function, 6);
	EQ(s->bytecode_array, 4);
	EQ(s->bytecode_offset, 3);
	EQ(s->literal_id, 52);
	EQ(s->first_function, 2066);
	OK(v8_ops.owns(a.state, &a.process, V8_CODE_VA, V8_CODE_VA + 4096));
	done(&a);
}

TEST(v8_names_an_interpreted_function)
{
	const struct window_frame *f;
	struct attached a;

	setup(&a);
	f = resolve(&a, V8_INTERPRETED, a.v8.leaf, 2, 53 + 5);
	EQ(f->line_count, 1);
	check_line(&f->lines[0], "leaf", 6);
	/* Before the first position, outside of the bytecode, without bytecode: where the function starts. */
	check_line(&resolve(&a, V8_INTERPRETED, a.v8.leaf, 2, 53 + 1)->lines[0], "leaf", 5);
	check_line(&resolve(&a, V8_INTERPRETED, a.v8.leaf, 2, 53 + 10)->lines[0], "leaf", 5);
	check_line(&resolve(&a, V8_INTERPRETED, a.v8.leaf, 2, 0)->lines[0], "leaf", 5);
	check_line(&resolve(&a, V8_INTERPRETED, a.v8.run, 1, 53)->lines[0], "run", 2);
	done(&a);
}

TEST(v8_names_what_was_inlined)
{
	const struct window_frame *f;
	struct attached a;

	setup(&a);
	f = resolve(&a, V8_COMPILED, a.v8.run, 1, V8_CODE_VA + 0x40);
	EQ(f->line_count, 2);
	check_line(&f->lines[0], "leaf", 6);
	check_line(&f->lines[1], "run", 3);
	f = resolve(&a, V8_COMPILED, a.v8.run, 1, V8_CODE_VA + 0x3f);
	EQ(f->line_count, 1);
	check_line(&f->lines[0], "run", 3);
	/* The function is not known, but its code is. */
	f = resolve(&a, V8_COMPILED, 0, 0, V8_CODE_VA + 0x40);
	EQ(f->line_count, 2);
	/* Not in that code; and not the code of that function. */
	f = resolve(&a, V8_COMPILED, a.v8.run, 1, V8_CODE_VA + V8_TEXT_BYTES);
	EQ(f->line_count, 1);
	check_line(&f->lines[0], "run", 2);
	f = resolve(&a, V8_COMPILED, a.v8.leaf, 2, V8_CODE_VA + 0x40);
	EQ(f->line_count, 1);
	check_line(&f->lines[0], "leaf", 5);
	done(&a);
}

/* A map of the line that leaf() works in; only one script has it. */
static int fake_source_map(void *arg, const struct lang_process *process, const struct lang_script *script,
			   const struct source_map **ret_map)
{
	struct source_map **map = arg;

	EQ(script->id, 3);
	STREQ(script->path, "/app/main.js");
	if (!*map && !script->url)
		return -ENOENT;
	if (!*map) {
		STREQ(script->url, "maps/main.js.map");
		EQ(source_map_build(MAP, strlen(MAP), map), 0);
	}
	*ret_map = *map;
	return 0;
}

TEST(v8_names_what_a_script_was_made_of)
{
	_cleanup_(freep) struct source_map *map = NULL;
	const struct window_frame *f;
	struct attached a;

	setup(&a);
	a.process.source_map = fake_source_map;
	a.process.arg = &map;
	check_line(&resolve(&a, V8_INTERPRETED, a.v8.leaf, 2, 53 + 5)->lines[0], "leaf", 6);
	v8_set(a.v8.script, 120, v8_string(&a.v8, "maps/main.js.map"));
	for (u32 i = 0; i < 2; i++) {
		named_done(&a.names);
		named_init(&a.names);
		f = resolve(&a, V8_INTERPRETED, a.v8.leaf, 2, 53 + 5);
		STREQ(f->lines[0].function, "leaf");
		STREQ(f->lines[0].file, "/app/src/main.ts");
		EQ(f->lines[0].line, 42);
	}
	/* What the map says nothing of. */
	check_line(&resolve(&a, V8_INTERPRETED, a.v8.run, 1, 53)->lines[0], "run", 2);
	/* They are not wanted. */
	named_done(&a.names);
	named_init(&a.names);
	a.process.wishes = LANG_WISH(source_maps);
	check_line(&resolve(&a, V8_INTERPRETED, a.v8.leaf, 2, 53 + 5)->lines[0], "leaf", 6);
	done(&a);
}

TEST(v8_names_an_address_in_its_code)
{
	u64 frame[2] = { (u64)FRAME_VA << FRAME_KIND_SHIFT | (V8_CODE_VA + 0x40), 0 };
	const struct window_frame *f;
	struct attached a;

	setup(&a);
	f = named_find(&a.names, &v8_ops, a.state, &a.process, frame, 0);
	EQ(f->line_count, 2);
	check_line(&f->lines[1], "run", 3);
	done(&a);
}

TEST(v8_names_stubs)
{
	struct attached a;

	setup(&a);
	STREQ(resolve(&a, V8_STUB, 0, 0, 4)->lines[0].function, "(wasm)");
	STREQ(resolve(&a, V8_STUB, 0, 0, 27)->lines[0].function, "(regexp)");
	STREQ(resolve(&a, V8_STUB, 0, 0, 17)->lines[0].function, "(v8 stub)");
	done(&a);
}

/* The line's ends are there once V8 has needed them. */
TEST(v8_uses_the_ends_of_lines)
{
	struct attached a;
	u64 ends[] = { v8_small(4), v8_small(21), v8_small(30), v8_small(32), v8_small(50), v8_small(56) };

	setup(&a);
	v8_set(a.v8.script, 56, v8_array(&a.v8, 175, ends, 6));
	v8_set(a.v8.script, 8, a.v8.undefined);
	check_line(&resolve(&a, V8_INTERPRETED, a.v8.leaf, 2, 53 + 5)->lines[0], "leaf", 6);
	done(&a);
}

static const char *named_by(struct attached *a, u64 string)
{
	v8_set(a->v8.leaf, 16, string);
	named_done(&a->names);
	named_init(&a->names);
	return resolve(a, V8_INTERPRETED, a->v8.leaf, 2, 53)->lines[0].function;
}

TEST(v8_reads_every_kind_of_string)
{
	static const u16 wide[] = { 'z', 0xe4, 0x20ac, 0xd83d, 0xde00 };
	struct attached a;
	u64 one, two, s;

	setup(&a);
	one = v8_string(&a.v8, "gr\xfc\xdf");
	STREQ(named_by(&a, one), "gr\xc3\xbc\xc3\x9f");
	two = v8_object(&a.v8, V8_STRING_TWO, 32);
	v8_put(two - 1 + 12, 5, 4);
	memcpy((void *)(uintptr_t)(two - 1 + 16), wide, sizeof(wide));
	STREQ(named_by(&a, two), "z\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	s = v8_object(&a.v8, V8_STRING_CONS, 32);
	v8_put(s - 1 + 12, 9, 4);
	v8_set(s, 16, one);
	v8_set(s, 24, two);
	STREQ(named_by(&a, s), "gr\xc3\xbc\xc3\x9fz\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	two = v8_object(&a.v8, V8_STRING_SLICED, 32);
	v8_put(two - 1 + 12, 4, 4);
	v8_set(two, 16, s);
	v8_set(two, 24, v8_small(2));
	STREQ(named_by(&a, two), "\xc3\xbc\xc3\x9fz\xc3\xa4");
	s = v8_object(&a.v8, V8_STRING_THIN, 32);
	v8_put(s - 1 + 12, 4, 4);
	v8_set(s, 16, two);
	STREQ(named_by(&a, s), "\xc3\xbc\xc3\x9fz\xc3\xa4");
	s = v8_object(&a.v8, V8_STRING_EXTERNAL, 32);
	v8_put(s - 1 + 12, 4, 4);
	v8_set(s, 24, one - 1 + 16);
	STREQ(named_by(&a, s), "gr\xc3\xbc\xc3\x9f");
	STREQ(named_by(&a, v8_string(&a.v8, "")), "(anonymous)");
	STREQ(named_by(&a, v8_small(0)), "(anonymous)");
	done(&a);
}

/* A function goes by what it was assigned to, if it has no name. */
TEST(v8_infers_names)
{
	struct attached a;

	setup(&a);
	v8_set(a.v8.leaf_scope, 48, v8_string(&a.v8, ""));
	v8_set(a.v8.leaf_scope, 64, v8_string(&a.v8, "object.method"));
	check_line(&resolve(&a, V8_INTERPRETED, a.v8.leaf, 2, 53)->lines[0], "object.method", 5);
	done(&a);
}

TEST(v8_does_not_name_what_has_moved)
{
	struct attached a;
	u64 loop;

	setup(&a);
	resolve(&a, V8_INTERPRETED, a.v8.leaf, 3, 53 + 5);	/* another function */
	EQ(a.names.unnamed, 1);
	resolve(&a, V8_INTERPRETED, a.v8.script, 0, 53 + 5);	/* another kind of object */
	EQ(a.names.unnamed, 2);
	resolve(&a, V8_COMPILED, 0, 0, V8_VA + V8_BYTES - 64);	/* no code */
	EQ(a.names.unnamed, 3);
	loop = v8_object(&a.v8, V8_STRING_THIN, 32);		/* leads to itself */
	v8_set(loop, 16, loop);
	v8_set(a.v8.leaf, 16, loop);
	resolve(&a, V8_INTERPRETED, a.v8.leaf, 2, 53 + 5);
	EQ(a.names.unnamed, 4);
	done(&a);
}

TEST(v8_leaves_alone_what_it_does_not_know)
{
	struct attached a = { .process = { 0 } };

	EQ(try_attach(&a, V8_TAGGED_SIZE, 4), -ENOTSUP);	/* compressed pointers */
	EQ(try_attach(&a, V8_VERSION_MAJOR, 8), -ENOTSUP);
	EQ(try_attach(&a, V8_FP_FUNCTION, (u64)-1000), -ENOTSUP);
	EQ(try_attach(&a, V8_SHARED_NAME, V8_MISSING), -ENOTSUP);
	test_alloc_fail(0);
	EQ(try_attach(&a, V8_TAGGED_SIZE, 8), -ENOMEM);
	test_alloc_reset();
}

// SPDX-License-Identifier: Apache-2.0
/* What is told of a JVM, by the layouts of several versions: test/forge_jvm.h. */
#include <errno.h>

#include "forge_jvm.h"
#include "lang/hotspot/hotspot.h"
#include "lang/named.h"

extern const struct lang_ops hotspot_ops;

static const u32 versions[] = { 8, 11, 17, 21, 23, 25 };

#define EACH_VERSION(i) for (u32 i = 0; i < sizeof(versions) / sizeof(*versions); i++)

struct attached {
	struct jvm jvm;
	struct lang_process process;
	struct runtime_slot slot;
	void *state;
	struct named names;
};

static int try_attach(struct attached *a)
{
	struct lang_file file = { .lang = LANG_HOTSPOT };
	struct lang_place place = { .bias = 0x1000, .path = "libjvm.so" };

	for (u32 i = 0; i < VM_SYMBOL_COUNT; i++)
		file.facts[i] = a->jvm.symbol_va[i] - place.bias;
	a->process = (struct lang_process){ .pid = (u32)getpid() };
	return hotspot_ops.attach(&a->process, &file, &place, &a->slot, &a->state);
}

static void setup(struct attached *a, u32 major)
{
	*a = (struct attached){ .jvm = forge_jvm(major) };
	EQ(try_attach(a), 0);
	named_init(&a->names);
}

static void done(struct attached *a)
{
	named_done(&a->names);
	hotspot_ops.detach(a->state);
}

static const struct window_frame *resolve(struct attached *a, u64 kind, u64 object, u64 id, u64 va)
{
	u64 frame[2] = { (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | (u64)LANG_HOTSPOT << FRAME_LANG_SHIFT | object,
			 kind << HOTSPOT_KIND_SHIFT | id << HOTSPOT_ID_SHIFT | va };

	return named_find(&a->names, &hotspot_ops, a->state, &a->process, frame, 0);
}

static void check_line(const struct window_line *line, const char *function, u32 number)
{
	STREQ(line->function, function);
	STREQ(line->file, "Main.java");
	EQ(line->line, number);
}

TEST(hotspot_fills_its_slot)
{
	EACH_VERSION(i) {
		const struct hotspot_slot *s;
		struct attached a;

		setup(&a, versions[i]);
		s = (const void *)a.slot.word;
		EQ(s->heap[0].start_va, JVM_CODE_VA);
		EQ(s->code_end_va, JVM_CODE_END);
		EQ(s->interpreter_start_va, JVM_CODELETS);
		EQ(s->interpreter_end_va, JVM_CODELETS_END);
		EQ(s->entry[0].start, 0);
#if defined(__x86_64__)
		EQ(s->entry[0].end, 0x44);	/* the made-up JVM's code is that of x86-64 */
#endif
		EQ(s->entry[1].end, 0);
		EQ(s->call_stub_va, JVM_STUB_CODE + 0x20);
		EQ(s->bcp_slot, versions[i] == 8 ? 7 : 8);
		EQ(s->frame_complete_is_short, versions[i] >= 23);
		OK(hotspot_ops.owns(a.state, &a.process, JVM_CODE_VA, JVM_CODE_VA + 4096));
		OK(!hotspot_ops.owns(a.state, &a.process, JVM_CODE_END, JVM_CODE_END + 4096));
		done(&a);
	}
}

TEST(hotspot_reads_what_it_needs_of_a_caller_in_two_pieces)
{
	/* Where frame size, deoptimization handler and number are, of each; JDK 17 is the widest. */
	EACH_VERSION(i) {
		const struct hotspot_slot *s;
		struct attached a;

		setup(&a, versions[i]);
		s = (const void *)a.slot.word;
		OK(s->piece_bytes && s->piece_bytes <= HOTSPOT_PIECE_BYTES && !(s->piece_bytes & 7));
		OK(s->read_frame_size + 4 <= HOTSPOT_PIECE_BYTES + 8);
		OK(s->read_id + 4 <= HOTSPOT_PIECE_BYTES + 8);
		OK(s->read_id != s->read_frame_size);
		done(&a);
	}
}

TEST(hotspot_finds_the_frames_of_virtual_threads)
{
	EACH_VERSION(i) {
		const struct hotspot_chunks *c;
		struct attached a;

		setup(&a, versions[i]);
		c = &((const struct hotspot_slot *)a.slot.word)->chunks;
		EQ(c->oop, versions[i] < 21 ? HOTSPOT_OOP_UNKNOWN : HOTSPOT_OOP_COMPRESSED);
		if (versions[i] >= 21) {
			EQ(c->oop_base, 0x1000);
			EQ(c->oop_shift, 3);
			EQ(c->tail, JVM_FIELDS_AT + 4);
			EQ(c->parent, JVM_FIELDS_AT);
			EQ(c->size, JVM_FIELDS_AT + 4);
			EQ(c->sp, JVM_FIELDS_AT + 8);
			EQ(c->bottom, JVM_FIELDS_AT + 12);
			EQ(c->has_argsize, versions[i] < 25);
			EQ(c->frames, JVM_CHUNK_BYTES);
			EQ(c->entry_bytes, 64);
			EQ(c->entry_pc_va, versions[i] < 25 ? 0 : a.jvm.at[VM_CONT_PC]);
		}
		done(&a);
	}
}

TEST(hotspot_knows_how_objects_refer_to_each_other)
{
	static const struct { u32 major; const char *flag; u32 oop; } cases[] = {
		{ 21, "UseG1GC", HOTSPOT_OOP_ADDRESS }, { 21, "UseZGC", HOTSPOT_OOP_ADDRESS },
		{ 25, "UseG1GC", HOTSPOT_OOP_ADDRESS }, { 25, "UseZGC", HOTSPOT_OOP_COLOURED },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct attached a = { .jvm = forge_jvm(cases[i].major) };

		jvm_field(&a.jvm, a.jvm.flags + 32, VM_FLAG_NAME, jvm_text(&a.jvm, cases[i].flag), 8);
		EQ(try_attach(&a), 0);
		EQ(((const struct hotspot_slot *)a.slot.word)->chunks.oop, cases[i].oop);
		hotspot_ops.detach(a.state);
	}
}

TEST(hotspot_does_without_chunks_that_make_no_sense)
{
	struct attached a = { .jvm = forge_jvm(25) };
	u64 chunk = *(const u64 *)(uintptr_t)(a.jvm.at[VM_FIRST_CLASS] + 16);

	jvm_field(&a.jvm, chunk, VM_KLASS_FIELDS, JVM_VA - 4096, 8);	/* not there */
	EQ(try_attach(&a), 0);
	EQ(((const struct hotspot_slot *)a.slot.word)->chunks.oop, HOTSPOT_OOP_UNKNOWN);
	hotspot_ops.detach(a.state);
	jvm_field(&a.jvm, chunk, VM_KLASS_NAME, jvm_symbol(&a.jvm, "Other"), 8);
	EQ(try_attach(&a), 0);
	EQ(((const struct hotspot_slot *)a.slot.word)->chunks.oop, HOTSPOT_OOP_UNKNOWN);
	hotspot_ops.detach(a.state);
	jvm_put(a.jvm.at[VM_LATER_CLASS], 0, 8);	/* still starting */
	EQ(try_attach(&a), -EAGAIN);
}

TEST(hotspot_reads_a_newer_version_as_the_newest)
{
	struct attached a = { .jvm = forge_jvm(26) };

	EQ(try_attach(&a), 1);
	named_init(&a.names);
	check_line(&resolve(&a, HOTSPOT_INTERPRETED, a.jvm.leaf, 0, a.jvm.leaf_bytecode + 4)->lines[0],
		   "pkg.Main.leaf", 10);
	done(&a);
}

TEST(hotspot_names_an_interpreted_method)
{
	EACH_VERSION(i) {
		const struct window_frame *f;
		struct attached a;

		setup(&a, versions[i]);
		f = resolve(&a, HOTSPOT_INTERPRETED, a.jvm.leaf, 0, a.jvm.leaf_bytecode + 4);
		EQ(f->line_count, 1);
		check_line(&f->lines[0], "pkg.Main.leaf", 10);
		f = resolve(&a, HOTSPOT_INTERPRETED, a.jvm.leaf, 0, a.jvm.leaf_bytecode + 9);
		check_line(&f->lines[0], "pkg.Main.leaf", 11);
		/* Not a bytecode of it. */
		f = resolve(&a, HOTSPOT_INTERPRETED, a.jvm.leaf, 0, a.jvm.leaf_bytecode + 10);
		check_line(&f->lines[0], "pkg.Main.leaf", 0);
		done(&a);
	}
}

TEST(hotspot_names_what_was_inlined)
{
	EACH_VERSION(i) {
		const struct window_frame *f;
		struct attached a;

		setup(&a, versions[i]);
		f = resolve(&a, HOTSPOT_COMPILED, JVM_NMETHOD, JVM_COMPILE_ID, JVM_NMETHOD_CODE + 0x40);
		EQ(f->line_count, 2);
		check_line(&f->lines[0], "pkg.Main.leaf", 10);
		check_line(&f->lines[1], "pkg.Main.run", 21);
		f = resolve(&a, HOTSPOT_COMPILED, JVM_NMETHOD, JVM_COMPILE_ID, JVM_NMETHOD_CODE + 0x41);
		EQ(f->line_count, 1);
		check_line(&f->lines[0], "pkg.Main.run", 21);
		/* Past the last description. */
		f = resolve(&a, HOTSPOT_COMPILED, JVM_NMETHOD, JVM_COMPILE_ID, JVM_NMETHOD_CODE + 0x90);
		check_line(&f->lines[0], "pkg.Main.run", 21);
		done(&a);
	}
}

TEST(hotspot_names_parameters_for_those_who_want_them)
{
	struct attached a;

	setup(&a, 17);
	a.process.wishes = LANG_WISH(java_signatures);
	check_line(&resolve(&a, HOTSPOT_INTERPRETED, a.jvm.leaf, 0, a.jvm.leaf_bytecode + 4)->lines[0],
		   "pkg.Main.leaf(int, long[])", 10);
	done(&a);
}

TEST(hotspot_names_stubs)
{
	const struct window_frame *f;
	struct attached a;

	setup(&a, 17);
	f = resolve(&a, HOTSPOT_COMPILED, JVM_STUB, 0, JVM_STUB_CODE + 0x20);
	STREQ(f->lines[0].function, "StubRoutines::call_stub");
	f = resolve(&a, HOTSPOT_COMPILED, JVM_STUB, 0, JVM_STUB_CODE + 0x10);
	STREQ(f->lines[0].function, "StubRoutines (1)");
	done(&a);
}

TEST(hotspot_names_an_address_in_its_code)
{
	u64 frame[2] = { (u64)FRAME_VA << FRAME_KIND_SHIFT | (JVM_STUB_CODE + 0x10), 0 };
	const struct window_frame *f;
	struct attached a;

	setup(&a, 17);
	f = named_find(&a.names, &hotspot_ops, a.state, &a.process, frame, 0);
	STREQ(f->lines[0].function, "StubRoutines (1)");
	frame[0] = (u64)FRAME_VA << FRAME_KIND_SHIFT | (JVM_NMETHOD_CODE + 0x40);
	f = named_find(&a.names, &hotspot_ops, a.state, &a.process, frame, 0);
	EQ(f->line_count, 2);
	check_line(&f->lines[1], "pkg.Main.run", 21);
	done(&a);
}

TEST(hotspot_does_not_name_code_that_was_replaced)
{
	const struct window_frame *f;
	struct attached a;

	setup(&a, 17);
	f = resolve(&a, HOTSPOT_COMPILED, JVM_NMETHOD, JVM_COMPILE_ID + 1, JVM_NMETHOD_CODE + 0x40);
	EQ(a.names.unnamed, 1);
	EQ(f->line_count, 1);
	done(&a);
}

TEST(hotspot_waits_for_a_jvm_that_starts)
{
	struct attached a = { .jvm = forge_jvm(17) };

	jvm_put(a.jvm.at[VM_INTERPRETER_CODE], 0, 8);
	EQ(try_attach(&a), -EAGAIN);
	jvm_put(a.jvm.symbol_va[VM_SYM_STRUCT_STRIDE], 0, 8);
	EQ(try_attach(&a), -EAGAIN);
}

TEST(hotspot_leaves_alone_what_lacks_something)
{
	struct attached a = { .jvm = forge_jvm(17) };
	u64 table = *(const u64 *)(uintptr_t)a.jvm.symbol_va[VM_SYM_STRUCTS];

	jvm_put(table, jvm_text(&a.jvm, "Other"), 8);	/* was CodeBlob::_name */
	EQ(try_attach(&a), -ENOTSUP);
}

TEST(hotspot_attaches_under_the_failing_allocator)
{
	struct attached a = { .jvm = forge_jvm(17) };

	test_alloc_fail(0);
	EQ(try_attach(&a), -ENOMEM);
	test_alloc_reset();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up JVM for tests: its tables and a few of its objects, in this process's own memory, at a fixed address so
 * that an image is the same each time. forge_jvm() makes one with the layout of a version.
 *
 *	package pkg; class Main { run() -> leaf(), which is inlined; }	Main.java
 */
#ifndef FORGE_JVM_H
#define FORGE_JVM_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lang/hotspot/vm.h"
#include "lang/lang.h"
#include "test.h"

#define JVM_VA        0x200000000000ull
#define JVM_BYTES     (1u << 20)
#define JVM_CODE_VA   (JVM_VA + 0x40000)	/* 64 KiB, in segments of 64 bytes */
#define JVM_CODE_END  (JVM_CODE_VA + 0x10000)
#define JVM_SEGMAP_VA (JVM_VA + 0x60000)
#define JVM_CODELETS  (JVM_CODE_VA + 0x200)
#define JVM_CODELETS_END (JVM_CODELETS + 0x200)
#define JVM_NMETHOD   (JVM_CODE_VA + 0x1010)	/* behind the header of its block */
#define JVM_NMETHOD_CODE (JVM_NMETHOD + 0x200)
#define JVM_STUB      (JVM_CODE_VA + 0x2010)
#define JVM_STUB_CODE (JVM_STUB + 0x80)
#define JVM_COMPILE_ID 77
#define JVM_FIELDS_AT 16		/* of objects, each 4 bytes */
#define JVM_CHUNK_BYTES 48		/* in front of the frames of a StackChunk */

struct jvm {
	u64 free_va;
	u32 major;
	u64 symbol_va[VM_SYMBOL_COUNT];
	u64 at[VM_FIELD_COUNT];		/* offsets and addresses as in the tables; VM_NONE: not in this version */
	u64 leaf, run;			/* Methods */
	u64 leaf_bytecode;
	u64 flags;			/* two options, the second of them UseCompressedOops */
};

static inline void jvm_put(u64 va, u64 value, size_t bytes)
{
	memcpy((void *)(uintptr_t)va, &value, bytes);
}

static inline u64 jvm_take(struct jvm *j, size_t bytes)
{
	u64 va = j->free_va;

	j->free_va += (bytes + 15) & ~15ull;
	OK(j->free_va < JVM_CODE_VA);
	return va;
}

static inline u64 jvm_text(struct jvm *j, const char *text)
{
	u64 va = jvm_take(j, strlen(text) + 1);

	memcpy((void *)(uintptr_t)va, text, strlen(text) + 1);
	return va;
}

static inline void jvm_field(struct jvm *j, u64 object, enum vm_field field, u64 value, size_t bytes)
{
	OK(j->at[field] != VM_NONE);
	jvm_put(object + j->at[field], value, bytes);
}

/* What a version has: the last that did, the first that does. */
static inline bool jvm_has(u32 major, enum vm_field field)
{
	switch (field) {
	case VM_CACHE_HEAP: case VM_NMETHOD_DEOPT_OLD:
		return major == 8;
	case VM_CACHE_HEAPS:
		return major > 8;
	case VM_BLOB_CODE_BEGIN: case VM_COMPILED_METHOD: case VM_COMPILED_DEOPT: case VM_COMPILED_SCOPES:
		return major > 8 && major < 23;
	case VM_BLOB_CODE_OFFSET: case VM_NMETHOD_METHOD: case VM_NMETHOD_SCOPES:
		return major == 8 || major >= 23;
	case VM_BLOB_MUTABLE_DATA: case VM_BLOB_RELOCATION_SIZE:
		return major >= 25;
	case VM_NMETHOD_IMMUTABLE: case VM_NMETHOD_DEOPT:
		return major >= 23;
	case VM_NMETHOD_METADATA: case VM_NMETHOD_DEPENDENCIES:
		return major < 25;
	case VM_ARRAY_LEN: case VM_POOL_SOURCE:
		return major >= 17;
	case VM_ARRAY_LEN_OLD: case VM_KLASS_SOURCE:
		return major < 17;
	case VM_CONST_FLAGS:
		return major < 21;
	case VM_CONST_FLAGS_NEW: case VM_KLASS_FIELDS: case VM_BYTES_DATA: case VM_FIRST_CLASS: case VM_LATER_CLASS:
	case VM_FLAGS: case VM_FLAG_COUNT: case VM_FLAG_NAME: case VM_FLAG_VALUE:
		return major >= 21;
	case VM_OOP_BASE_OLD: case VM_OOP_SHIFT_OLD:
		return major < 25;
	case VM_OOP_BASE: case VM_OOP_SHIFT: case VM_CONT_PC:
		return major >= 25;
	default:
		return true;
	}
}

static inline bool jvm_is_static(enum vm_field field)
{
	switch (field) {
	case VM_CACHE_HEAP: case VM_CACHE_HEAPS: case VM_INTERPRETER_CODE: case VM_CALL_STUB: case VM_VERSION:
	case VM_FIRST_CLASS: case VM_LATER_CLASS: case VM_OOP_BASE_OLD: case VM_OOP_SHIFT_OLD: case VM_OOP_BASE:
	case VM_OOP_SHIFT: case VM_FLAGS: case VM_FLAG_COUNT: case VM_CONT_PC:
		return true;
	default:
		return false;
	}
}

/* Where the fields of a type begin: behind those of what it is derived from. */
static inline u64 jvm_base(const char *type)
{
	if (!strcmp(type, "nmethod"))
		return 256;
	if (!strcmp(type, "CompiledMethod"))
		return 128;
	return strcmp(type, "InstanceKlass") ? 0 : 64;
}

/* 8 bytes for each field. */
static inline void jvm_layout(struct jvm *j, const char *const types[VM_FIELD_COUNT])
{
	for (u32 i = 0; i < VM_FIELD_COUNT; i++) {
		u64 offset = jvm_base(types[i]);

		for (u32 k = 0; k < i; k++)
			offset += !strcmp(types[i], types[k]) ? 8 : 0;
		/* Two VirtualSpaces lie in a CodeHeap. */
		if (i == VM_HEAP_SEGMAP || i == VM_HEAP_SHIFT)
			offset += 64;
		if (i == VM_HEAP_SHIFT)
			offset += 64;
		if (i == VM_ARRAY_DATA)
			offset += 24;
		j->at[i] = !jvm_has(j->major, (enum vm_field)i) ? VM_NONE :
			   jvm_is_static((enum vm_field)i) ? jvm_take(j, 8) : offset;
	}
	if (j->at[VM_FIRST_CLASS] != VM_NONE) {		/* of one array */
		j->at[VM_FIRST_CLASS] = jvm_take(j, 8 * 4);
		j->at[VM_LATER_CLASS] = j->at[VM_FIRST_CLASS] + 8 * 3;
	}
}

static inline void jvm_tables(struct jvm *j)
{
	static const char *const types[VM_FIELD_COUNT] = {
#define X(ID, type, field, is_needed) [VM_##ID] = type,
		VM_FIELDS(X)
#undef X
	};
	static const char *const fields[VM_FIELD_COUNT] = {
#define X(ID, type, field, is_needed) [VM_##ID] = field,
		VM_FIELDS(X)
#undef X
	};
	static const char *const sized[VM_TYPE_COUNT] = {
#define X(ID, type, is_needed) [VM_SIZE_##ID] = type,
		VM_TYPES(X)
#undef X
	};
	static const u32 sizes[VM_TYPE_COUNT] = { 64, 64, 16, 16, 16, 64, 32 };
	static const u64 words[VM_SYMBOL_COUNT] = {
		[VM_SYM_STRUCT_STRIDE] = 48, [VM_SYM_STRUCT_TYPE] = 0, [VM_SYM_STRUCT_FIELD] = 8,
		[VM_SYM_STRUCT_KIND] = 16, [VM_SYM_STRUCT_STATIC] = 24, [VM_SYM_STRUCT_OFFSET] = 32,
		[VM_SYM_STRUCT_ADDRESS] = 40, [VM_SYM_TYPE_STRIDE] = 16, [VM_SYM_TYPE_NAME] = 0, [VM_SYM_TYPE_SIZE] = 8,
	};
	u64 entry = jvm_take(j, 48 * (VM_FIELD_COUNT + 1)), type = jvm_take(j, 16 * (VM_TYPE_COUNT + 1));

	for (u32 i = 0; i < VM_SYMBOL_COUNT; i++) {
		j->symbol_va[i] = jvm_take(j, 8);
		jvm_put(j->symbol_va[i], i == VM_SYM_STRUCTS ? entry : i == VM_SYM_TYPES ? type : words[i], 8);
	}
	jvm_layout(j, types);
	for (u32 i = 0; i < VM_FIELD_COUNT; i++) {
		if (j->at[i] == VM_NONE)
			continue;
		jvm_put(entry, jvm_text(j, types[i]), 8);
		jvm_put(entry + 8, jvm_text(j, fields[i]), 8);
		jvm_put(entry + 16, jvm_text(j, i == VM_BLOB_FRAME_COMPLETE && j->major >= 23 ? "int16_t" : "int"), 8);
		jvm_put(entry + 24, jvm_is_static((enum vm_field)i), 4);
		jvm_put(entry + (jvm_is_static((enum vm_field)i) ? 40 : 32), j->at[i], 8);
		entry += 48;
	}
	for (u32 i = 0; i < VM_TYPE_COUNT; i++) {
		jvm_put(type + 16 * i, jvm_text(j, sized[i]), 8);
		jvm_put(type + 16 * i + 8, sizes[i], 8);
	}
}

static inline u64 jvm_symbol(struct jvm *j, const char *text)
{
	u64 va = jvm_take(j, 16 + strlen(text));

	jvm_field(j, va, VM_SYMBOL_LENGTH, strlen(text), 2);
	memcpy((void *)(uintptr_t)(va + j->at[VM_SYMBOL_BODY]), text, strlen(text));
	return va;
}

/* Pool: 1 leaf, 2 run, 3 Main.java, 4 (I[J)V. Its ten bytecodes are on the given line and, from 5 on, the next. */
static inline u64 jvm_method(struct jvm *j, u64 pool, u32 name, u8 line)
{
	u64 method = jvm_take(j, 64), constant = jvm_take(j, 128);
	u8 rows[] = { 0xff, 0, (u8)(line * 2), 5 << 3 | 1, 0 };
	u8 high[] = { 0xff, 1, (u8)(line * 2 + 1), 5 << 3 | 1, 0 };	/* the same, since no byte is 0 */

	jvm_field(j, method, VM_METHOD_CONST, constant, 8);
	jvm_field(j, constant, VM_CONST_POOL, pool, 8);
	jvm_field(j, constant, j->major < 21 ? VM_CONST_FLAGS : VM_CONST_FLAGS_NEW, 1, 2);
	jvm_field(j, constant, VM_CONST_CODE_SIZE, 10, 2);
	jvm_field(j, constant, VM_CONST_NAME, name, 2);
	jvm_field(j, constant, VM_CONST_SIGNATURE, 4, 2);
	memcpy((void *)(uintptr_t)(constant + 64 + 10), j->major < 20 ? rows : high, sizeof(rows));
	if (name == 1)
		j->leaf_bytecode = constant + 64;
	return method;
}

static inline void jvm_class(struct jvm *j)
{
	const char *const symbols[] = { "leaf", "run", "Main.java", "(I[J)V" };
	u64 klass = jvm_take(j, 128), pool = jvm_take(j, 64 + 8 * 5);

	jvm_field(j, klass, VM_KLASS_NAME, jvm_symbol(j, "pkg/Main"), 8);
	jvm_field(j, pool, VM_POOL_HOLDER, klass, 8);
	jvm_field(j, pool, VM_POOL_LENGTH, 5, 4);
	if (j->major < 17)
		jvm_field(j, klass, VM_KLASS_SOURCE, 3, 2);
	else
		jvm_field(j, pool, VM_POOL_SOURCE, 3, 2);
	for (u32 i = 0; i < 4; i++)
		jvm_put(pool + 64 + 8 * (i + 1), jvm_symbol(j, symbols[i]), 8);
	j->leaf = jvm_method(j, pool, 1, 10);
	j->run = jvm_method(j, pool, 2, 20);
}

/* A blob takes up 0x1000 bytes, from the header of its block on. */
static inline void jvm_blob(struct jvm *j, u64 blob, u64 code, const char *name, u32 frame_words)
{
	u64 first = (blob - 16 - JVM_CODE_VA) / 64;

	for (u32 i = 0; i < 0x1000 / 64; i++)
		jvm_put(JVM_SEGMAP_VA + first + i, i, 1);
	jvm_field(j, blob, VM_BLOB_NAME, jvm_text(j, name), 8);
	jvm_field(j, blob, VM_BLOB_FRAME_SIZE, frame_words, 4);
	jvm_field(j, blob, VM_BLOB_FRAME_COMPLETE, 16, 2);
	if (j->at[VM_BLOB_CODE_BEGIN] != VM_NONE)
		jvm_field(j, blob, VM_BLOB_CODE_BEGIN, code, 8);
	else
		jvm_field(j, blob, VM_BLOB_CODE_OFFSET, code - blob, 4);
}

/* run(), with leaf() inlined where it is called, at bytecode 6: up to byte 0x40 of the code, then only run(). */
static inline void jvm_nmethod(struct jvm *j)
{
	u64 add = j->major < 20 ? 0 : 1, data = jvm_take(j, 512);
	u64 pcs = data, scopes = data + 128, metadata = data + 256;
	u64 base = j->major >= 23 ? data : JVM_NMETHOD;
	u8 inlined[] = { (u8)(20 + add), (u8)(1 + add), (u8)(2 + 1 + add) };	/* caller at 20; metadata 1; bci 2 */
	u8 outer[] = { (u8)add, (u8)(2 + add), (u8)(6 + 1 + add) };
	const s32 rows[][2] = { { -1, 0 }, { 0x40, 10 }, { 0x80, 20 }, { 0x7fffffff, 0 } };

	jvm_blob(j, JVM_NMETHOD, JVM_NMETHOD_CODE, "nmethod", 4);
	jvm_field(j, JVM_NMETHOD, VM_NMETHOD_ID, JVM_COMPILE_ID, 4);
	for (u32 i = 0; i < 4; i++) {
		jvm_field(j, pcs + 16 * i, VM_PC_OFFSET, (u32)rows[i][0], 4);
		jvm_field(j, pcs + 16 * i, VM_PC_SCOPE, (u32)rows[i][1], 4);
	}
	memcpy((void *)(uintptr_t)(scopes + 10), inlined, sizeof(inlined));
	memcpy((void *)(uintptr_t)(scopes + 20), outer, sizeof(outer));
	jvm_put(metadata, j->leaf, 8);
	jvm_put(metadata + 8, j->run, 8);
	jvm_field(j, JVM_NMETHOD, VM_NMETHOD_PCS, pcs - base, 4);
	if (j->major >= 23) {
		jvm_field(j, JVM_NMETHOD, VM_NMETHOD_IMMUTABLE, data, 8);
		/* The descriptions end where the scopes begin. */
		memmove((void *)(uintptr_t)(pcs + 64), (void *)(uintptr_t)scopes, 64);
		scopes = pcs + 64;
	} else {
		jvm_field(j, JVM_NMETHOD, VM_NMETHOD_DEPENDENCIES, pcs + 64 - base, 4);
	}
	if (j->at[VM_COMPILED_SCOPES] != VM_NONE)
		jvm_field(j, JVM_NMETHOD, VM_COMPILED_SCOPES, scopes, 8);
	else
		jvm_field(j, JVM_NMETHOD, VM_NMETHOD_SCOPES, scopes - base, 4);
	if (j->major >= 25) {
		jvm_field(j, JVM_NMETHOD, VM_BLOB_MUTABLE_DATA, metadata - 24, 8);
		jvm_field(j, JVM_NMETHOD, VM_BLOB_RELOCATION_SIZE, 24, 4);
	} else {
		jvm_field(j, JVM_NMETHOD, VM_NMETHOD_METADATA, metadata - JVM_NMETHOD, 4);
	}
}

/* 0x200 bytes of interpreter: the first 0x80 enter a method, and have made the frame pointer at byte 0x44. */
static inline void jvm_interpreter(struct jvm *j)
{
	u64 queue = jvm_take(j, 64);

	jvm_put(j->at[VM_INTERPRETER_CODE], queue, 8);
	jvm_field(j, queue, VM_QUEUE_BUFFER, JVM_CODELETS, 8);
	jvm_field(j, queue, VM_QUEUE_LIMIT, JVM_CODELETS_END - JVM_CODELETS, 4);
	jvm_field(j, JVM_CODELETS, VM_CODELET_SIZE, 0x80, 4);
	jvm_field(j, JVM_CODELETS, VM_CODELET_TEXT, jvm_text(j, "method entry point (kind = zerolocals)"), 8);
	jvm_put(JVM_CODELETS + 0x40, 0xec8b4855, 4);
	jvm_field(j, JVM_CODELETS + 0x80, VM_CODELET_SIZE, 0x180, 4);
	jvm_field(j, JVM_CODELETS + 0x80, VM_CODELET_TEXT, jvm_text(j, "nop"), 8);
}

static inline void jvm_code(struct jvm *j)
{
	u64 heap = jvm_take(j, 256), array = jvm_take(j, 32), data = jvm_take(j, 8);

	jvm_field(j, heap + j->at[VM_HEAP_MEMORY], VM_SPACE_LOW, JVM_CODE_VA, 8);
	jvm_field(j, heap + j->at[VM_HEAP_MEMORY], VM_SPACE_HIGH, JVM_CODE_END, 8);
	jvm_field(j, heap + j->at[VM_HEAP_SEGMAP], VM_SPACE_LOW, JVM_SEGMAP_VA, 8);
	jvm_field(j, heap, VM_HEAP_SHIFT, 6, 4);
	memset((void *)(uintptr_t)JVM_SEGMAP_VA, 0xff, 0x10000 / 64);
	if (j->major == 8) {
		jvm_put(j->at[VM_CACHE_HEAP], heap, 8);
	} else {
		jvm_put(data, heap, 8);
		jvm_put(j->at[VM_CACHE_HEAPS], array, 8);
		jvm_field(j, array, j->major < 17 ? VM_ARRAY_LEN_OLD : VM_ARRAY_LEN, 1, 4);
		jvm_field(j, array, VM_ARRAY_DATA, data, 8);
	}
	jvm_interpreter(j);
	jvm_blob(j, JVM_STUB, JVM_STUB_CODE, "StubRoutines (1)", 0);
	jvm_put(j->at[VM_CALL_STUB], JVM_STUB_CODE + 0x20, 8);
	jvm_put(j->at[VM_VERSION], j->major == 8 ? 25 : j->major, 4);
}

/* A class that the JVM knows itself, with fields of these names, from JVM_FIELDS_AT on. */
static inline u64 jvm_known_class(struct jvm *j, const char *name, const char *const *fields, u32 count)
{
	u64 klass = jvm_take(j, 256), pool = jvm_take(j, 64 + 8 * 16), stream = jvm_take(j, 128);
	u8 bytes[64] = { (u8)(count + 1), 0 + 1 };
	u32 used = 2;

	jvm_field(j, klass, VM_KLASS_NAME, jvm_symbol(j, name), 8);
	jvm_field(j, klass, VM_KLASS_POOL, pool, 8);
	jvm_field(j, klass, VM_KLASS_LAYOUT, JVM_CHUNK_BYTES | 1, 4);
	jvm_field(j, klass, VM_KLASS_FIELDS, stream, 8);
	jvm_field(j, pool, VM_POOL_LENGTH, 16, 4);
	for (u32 i = 0; i < count; i++) {
		/* name, signature, offset, access, flags: every other one is generic, with one more number */
		const u8 numbers[] = { (u8)(i + 1), 15, (u8)(JVM_FIELDS_AT + 4 * i), 2, i & 1 ? 4 : 0, 9 };

		jvm_put(pool + 64 + 8 * (i + 1), jvm_symbol(j, fields[i]), 8);
		for (u32 k = 0; k < (i & 1 ? 6 : 5); k++)
			bytes[used++] = (u8)(numbers[k] + 1);
	}
	memcpy((void *)(uintptr_t)(stream + j->at[VM_BYTES_DATA]), bytes, sizeof(bytes));
	return klass;
}

/* What leads to the frames of virtual threads: classes, an option, how objects refer to each other. */
static inline void jvm_virtual_threads(struct jvm *j)
{
	static const char *const continuation[] = { "target", "tail" };
	static const char *const old_chunk[] = { "parent", "size", "sp", "argsize" };
	static const char *const chunk[] = { "parent", "size", "sp", "bottom" };
	u64 flags = jvm_take(j, 32 * 2), on = jvm_take(j, 8);

	if (j->major < 21)
		return;
	jvm_put(j->at[VM_FIRST_CLASS] + 8, jvm_known_class(j, "jdk/internal/vm/Continuation", continuation, 2), 8);
	jvm_put(j->at[VM_FIRST_CLASS] + 16,
		jvm_known_class(j, "jdk/internal/vm/StackChunk", j->major < 25 ? old_chunk : chunk, 4), 8);
	jvm_put(j->at[VM_LATER_CLASS], 1, 8);
	jvm_put(on, 1, 8);
	jvm_put(j->at[VM_FLAGS], flags, 8);
	jvm_put(j->at[VM_FLAG_COUNT], 2, 8);
	jvm_field(j, flags, VM_FLAG_NAME, jvm_text(j, "UseOther"), 8);
	jvm_field(j, flags + 32, VM_FLAG_NAME, jvm_text(j, "UseCompressedOops"), 8);
	jvm_field(j, flags + 32, VM_FLAG_VALUE, on, 8);
	jvm_put(j->at[j->major < 25 ? VM_OOP_BASE_OLD : VM_OOP_BASE], 0x1000, 8);
	jvm_put(j->at[j->major < 25 ? VM_OOP_SHIFT_OLD : VM_OOP_SHIFT], 3, 4);
	j->flags = flags;
}

static inline struct jvm forge_jvm(u32 major)
{
	struct jvm j = { .free_va = JVM_VA, .major = major };
	void *at = mmap((void *)(uintptr_t)JVM_VA, JVM_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

#ifdef __SANITIZE_THREAD__
	if (at == MAP_FAILED)
		SKIP("ThreadSanitizer has the addresses where objects are made up");
#endif
	OK(at != MAP_FAILED);
	jvm_tables(&j);
	jvm_class(&j);
	jvm_code(&j);
	jvm_nmethod(&j);
	jvm_virtual_threads(&j);
	return j;
}

#endif

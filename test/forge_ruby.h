/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up Ruby: its structures in our own memory, as each version lays them out, read as those of another process.
 * There is a class Foo with a method bar, a block in it, and a C function Foo#each; a method of Foo itself; a class
 * without a name.
 */
#ifndef TEST_FORGE_RUBY_H
#define TEST_FORGE_RUBY_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lang/lang.h"
#include "lang/ruby/ruby.h"
#include "lang/ruby/ruby_file.h"
#include "lang/ruby/ruby_object.h"
#include "test.h"

#define RUBY_VA 0x210000000000ull
#define RUBY_BYTES 0x20000u
#define RUBY_DATA_VA RUBY_VA		/* the library's variables: 0x1000 bytes */
#define RUBY_OBJECT_VA (RUBY_VA + 0x10)	/* rb_cObject */
#define RUBY_PAIR_VA (RUBY_VA + 0x20)
#define RUBY_SYMBOLS_VA (RUBY_VA + 0x808)
#define RUBY_PATH_ID 0x1231
#define RUBY_ATTACHED_ID 0x1241
#define RUBY_EACH_ID (300 << 4 | 1)
#define RUBY_MADE_ID (301 << 4 | 1)

struct forge_ruby {
	const struct ruby_layout *layout;
	u64 free_va;
	u64 object, foo, foo_singleton, nameless;
	u64 bar, each, made, own, other;	/* method entries */
	u64 method, block, eval, define;	/* instruction sequences */
};

static inline void ruby_put(u64 va, u64 word, size_t bytes)
{
	asm("" : "+r"(va));	/* a compiler that knows the number takes it for no object's */
	memcpy((void *)(uintptr_t)va, &word, bytes);
}

static inline u64 ruby_take(struct forge_ruby *r, u64 bytes)
{
	u64 va = r->free_va;

	r->free_va += (bytes + 15) & ~15ull;
	OK(r->free_va <= RUBY_VA + RUBY_BYTES);
	return va;
}

static inline u64 ruby_new(struct forge_ruby *r, u64 bytes, const u64 *words, size_t word_bytes)
{
	u64 va = ruby_take(r, bytes);

	memcpy((void *)(uintptr_t)va, words, word_bytes);
	return va;
}

#define RUBY_NEW(r, bytes, ...) ruby_new(r, bytes, (const u64[]){ __VA_ARGS__ }, sizeof((const u64[]){ __VA_ARGS__ }))

static inline u64 ruby_bytes(struct forge_ruby *r, const char *text)
{
	u64 va = ruby_take(r, strlen(text) + 1);

	memcpy((void *)(uintptr_t)va, text, strlen(text));
	return va;
}

/* A String: its text inside or, if it is long, outside. */
static inline u64 ruby_string(struct forge_ruby *r, const char *text)
{
	u64 len = strlen(text), va;

	if (len > 15)
		return RUBY_NEW(r, 40, RUBY_STRING | 1 << 13, 0, len, ruby_bytes(r, text));
	va = r->layout->embeds_length ? RUBY_NEW(r, 40, RUBY_STRING, 0, len) :
					RUBY_NEW(r, 40, RUBY_STRING | len << 14, 0);
	memcpy((void *)(uintptr_t)(va + (r->layout->embeds_length ? 24 : 16)), text, len);
	return va;
}

static inline u64 ruby_array(struct forge_ruby *r, u64 length)
{
	return RUBY_NEW(r, 40, RUBY_ARRAY, 0, length, length, ruby_take(r, length * 8));
}

static inline void ruby_set(u64 array, u64 index, u64 value)
{
	u64 at;

	memcpy(&at, (void *)(uintptr_t)(array + 32), 8);
	ruby_put(at + index * 8, value, 8);
}

/* A class with one hidden variable: its name or, of a singleton class, its object. */
static inline u64 ruby_class(struct forge_ruby *r, u64 flags, u64 class, u64 id, u64 value)
{
	u64 va = ruby_take(r, 200), entries, table;

	ruby_put(va, RUBY_CLASS | flags, 8);
	ruby_put(va + 8, class, 8);
	switch (r->layout->class_kind) {
	case RUBY_CLASS_TABLE:
		entries = RUBY_NEW(r, 72, 5, 7, 1, ~0ull, id, 2, 5, id, value);
		table = RUBY_NEW(r, 56, 0, 0, 2, 0, 0, value ? 3 : 1, entries);
		ruby_put(va + 24, RUBY_NEW(r, 64, 0, table), 8);
		break;
	case RUBY_CLASS_ARRAY:
		ruby_put(va + 32, RUBY_NEW(r, 8, value), 8);
		break;
	default:
		ruby_put(va + (flags ? 128 : 152), value, 8);
	}
	return va;
}

static inline u64 ruby_method_entry(struct forge_ruby *r, u64 owner, u64 id)
{
	return RUBY_NEW(r, 40, RUBY_IMEMO_METHOD, owner, RUBY_NEW(r, 48, 0, 0, 0, 0, id), id, owner);
}

/* Its lines: instruction 0 is of line 10, 3 of 11, 60 of 12, 130 of 13. */
static inline u64 ruby_lines(struct forge_ruby *r)
{
	u64 va = ruby_take(r, 48 + 80);

	for (u64 i = 0; i < 54; i++) {
		u64 word;

		memcpy(&word, (void *)(uintptr_t)(va + i / 9 * 8), 8);
		ruby_put(va + i / 9 * 8, word | (i < 3 ? 1ull : 2ull) << i % 9 * 7, 8);
	}
	ruby_put(va + 48, 2, 4);			/* before the block */
	ruby_put(va + 56, 1ull | 2ull << 9, 8);		/* before its second and third 64 */
	ruby_put(va + 64, 1ull << (60 - 54), 8);
	ruby_put(va + 72, 1ull << (130 - 54 - 64), 8);
	return va;
}

static inline u64 ruby_sequence(struct forge_ruby *r, u64 type, const char *label, const char *base, u64 path,
				u64 parent)
{
	u64 body = ruby_take(r, 256), info = body + r->layout->insns_info, entries = ruby_take(r, 64);

	ruby_put(body, type, 4);
	ruby_put(body + 8, ruby_take(r, 8 * 200), 8);
	ruby_put(body + 64, path, 8);
	ruby_put(body + 72, ruby_string(r, base), 8);
	ruby_put(body + 80, ruby_string(r, label), 8);
	ruby_put(body + 88, r->layout->line_is_object ? 9 << 1 | 1 : 9, r->layout->line_is_object ? 8 : 4);
	for (u64 i = 0; i < 4; i++)
		ruby_put(entries + i * r->layout->insn_bytes, 10 + i, 4);
	ruby_put(info, entries, 8);
	ruby_put(info + 16, 4, 4);
	ruby_put(info + 24, ruby_lines(r), 8);
	ruby_put(info + 48, parent, 8);
	return RUBY_NEW(r, 40, RUBY_IMEMO_ISEQ, 0, body);
}

static inline void ruby_make_symbols(struct forge_ruby *r)
{
	u64 arrays = ruby_array(r, 1), names = ruby_array(r, 1024);

	ruby_set(arrays, 0, names);
	ruby_set(names, '+' * 2, ruby_string(r, "+"));
	ruby_set(names, 300 * 2, ruby_string(r, "each"));
	ruby_set(names, 301 * 2, ruby_string(r, "made"));
	ruby_put(RUBY_SYMBOLS_VA, 400, 8);
	ruby_put(RUBY_SYMBOLS_VA + 8, ruby_take(r, 56), 8);
	ruby_put(RUBY_SYMBOLS_VA + 16, arrays, 8);
	ruby_put(RUBY_SYMBOLS_VA + 24, ruby_take(r, 40), 8);
}

static inline struct forge_ruby forge_ruby(u32 version)
{
	struct forge_ruby r = { .layout = ruby_layout_of(version), .free_va = RUBY_VA + 0x1000 };
	void *at = mmap((void *)(uintptr_t)RUBY_VA, RUBY_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	u64 singleton, path, paths;

	OK(at != MAP_FAILED && r.layout);
	singleton = ruby_class(&r, r.layout->singleton_flag, 0, RUBY_ATTACHED_ID, r.free_va);
	r.object = ruby_class(&r, 0, singleton, RUBY_PATH_ID, ruby_string(&r, "Object"));
	/* Object is known only now. */
	singleton = ruby_class(&r, r.layout->singleton_flag, 0, RUBY_ATTACHED_ID, r.object);
	ruby_put(r.object + 8, singleton, 8);
	ruby_put(RUBY_OBJECT_VA, r.object, 8);
	r.foo = ruby_class(&r, 0, 0, RUBY_PATH_ID, ruby_string(&r, "Foo"));
	r.foo_singleton = ruby_class(&r, r.layout->singleton_flag, 0, RUBY_ATTACHED_ID, r.foo);
	r.nameless = ruby_class(&r, 0, 0, RUBY_PATH_ID, 0);
	ruby_make_symbols(&r);
	r.bar = ruby_method_entry(&r, r.foo, 302 << 4 | 1);
	r.each = ruby_method_entry(&r, r.foo, RUBY_EACH_ID);
	r.own = ruby_method_entry(&r, r.foo_singleton, RUBY_EACH_ID);
	r.other = ruby_method_entry(&r, r.nameless, '+');
	r.made = ruby_method_entry(&r, r.foo, RUBY_MADE_ID);
	path = ruby_string(&r, "/a/rather/long/path.rb");
	paths = ruby_array(&r, 2);
	ruby_set(paths, 0, path);
	r.method = ruby_sequence(&r, 1, "bar", "bar", path, 0);
	r.block = ruby_sequence(&r, 2, "block (2 levels) in bar", "bar", paths, r.method);
	r.eval = ruby_sequence(&r, 6, "<compiled>", "<compiled>", path, r.method);
	r.define = ruby_sequence(&r, 2, "block in <class:Foo>", "<class:Foo>", path, 0);
	return r;
}

static inline struct ruby_facts ruby_facts_of(u32 version)
{
	ruby_put(RUBY_PAIR_VA, 3, 8);
	ruby_put(RUBY_PAIR_VA + 8, 0x28, 8);
	return (struct ruby_facts){
		.version = version, .access = RUBY_ACCESS_PAIR, .access_at = RUBY_PAIR_VA, .object_ea = RUBY_OBJECT_VA,
		.exec = { { 0x1000, 0x2000 } }, .data = { RUBY_DATA_VA, RUBY_DATA_VA + 0x1000 },
	};
}

/* The words of a frame, as the kernel half pushes them. */
static inline void ruby_frame_of(u64 method, u64 iseq, u64 instruction, u64 ret_frame[2])
{
	u64 body, code = 0;

	if (iseq) {
		memcpy(&body, (void *)(uintptr_t)(iseq + RUBY_ISEQ_BODY), 8);
		memcpy(&code, (void *)(uintptr_t)(body + RUBY_BODY_CODE), 8);
	}
	ret_frame[0] = (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | (u64)LANG_RUBY << FRAME_LANG_SHIFT |
		       method >> 3 << RUBY_COOKIE_BITS | (iseq ? ruby_cookie(code) : 0);
	ret_frame[1] = iseq >> 3 << RUBY_INSTRUCTION_BITS | instruction;
}

#endif

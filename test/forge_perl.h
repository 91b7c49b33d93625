/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up Perl: its structures in our own memory, as each version lays them out, read as those of another process.
 * There are a sub Foo::bar, an alias of it by another glob, a sub with its own name, one of a package without a name, a
 * file, and a file that is required.
 */
#ifndef TEST_FORGE_PERL_H
#define TEST_FORGE_PERL_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lang/lang.h"
#include "lang/perl/perl.h"
#include "lang/perl/perl_file.h"
#include "test.h"

#define PERL_VA 0x220000000000ull
#define PERL_BYTES 0x8000u
#define PERL_CURRENT_VA PERL_VA
#define PERL_KEY_VA (PERL_VA + 8)

struct forge_perl {
	const struct perl_layout *layout;
	u64 free_va;
	u64 bar, alias, nameless, latin;	/* globs */
	u64 own;				/* code */
	u64 file, file_glob, required;
};

static inline void perl_put(u64 va, u64 word, size_t bytes)
{
	asm("" : "+r"(va));	/* a compiler that knows the number takes it for no object's */
	memcpy((void *)(uintptr_t)va, &word, bytes);
}

static inline u64 perl_take(struct forge_perl *p, u64 bytes)
{
	u64 va = p->free_va;

	p->free_va += (bytes + 15) & ~15ull;
	OK(p->free_va <= PERL_VA + PERL_BYTES);
	return va;
}

static inline u64 perl_text(struct forge_perl *p, const char *text)
{
	u64 va = perl_take(p, strlen(text) + 1);

	memcpy((void *)(uintptr_t)va, text, strlen(text));
	return va;
}

/* struct hek */
static inline u64 perl_name(struct forge_perl *p, const char *text, bool is_utf8)
{
	u64 va = perl_take(p, 8 + strlen(text) + 2);

	perl_put(va + 4, strlen(text), 4);
	memcpy((void *)(uintptr_t)(va + 8), text, strlen(text));
	perl_put(va + 8 + strlen(text) + 1, is_utf8, 1);
	return va;
}

/* struct sv, with a body of so many bytes behind it. */
static inline u64 perl_object(struct forge_perl *p, u32 type, u64 body_bytes)
{
	u64 va = perl_take(p, 32), body = perl_take(p, body_bytes);

	perl_put(va, body, 8);
	perl_put(va + 8, (u64)type << 32 | 1, 8);
	return va;
}

/* With several names, the first of which is its own. */
static inline u64 perl_stash(struct forge_perl *p, const char *text, bool has_several)
{
	u64 va = perl_object(p, PERL_SV_STASH, 32 + 64), body = va + 32, name = perl_name(p, text, false), aux;

	perl_put(body + 24, 7, 8);
	perl_put(va + 16, perl_take(p, 8 * 8 + 64), 8);
	memcpy(&aux, (void *)(uintptr_t)(va + 16), 8);
	aux = p->layout->name_in_body ? body + 32 : aux + 8 * 8;
	if (has_several) {
		u64 names = perl_take(p, 16);

		perl_put(names, name, 8);
		name = names;
		perl_put(aux + 28, 2, 4);
	}
	perl_put(aux, name, 8);
	return va;
}

/* What its aliases share says that `effective` is the first; 0: it is. */
static inline u64 perl_glob(struct forge_perl *p, u64 stash, u64 name, u64 effective)
{
	u64 va = perl_object(p, PERL_SV_GLOB, 48), shared = perl_take(p, 80);

	perl_put(va + 32 + 32, name, 8);
	perl_put(va + 32 + 40, stash, 8);
	perl_put(va + 16, shared, 8);
	perl_put(shared + 56, effective ? effective : va, 8);
	return va;
}

static inline struct forge_perl forge_perl(u32 version)
{
	struct forge_perl p = { .layout = perl_layout_of(version), .free_va = PERL_VA + 0x1000 };
	void *at = mmap((void *)(uintptr_t)PERL_VA, PERL_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	u64 foo;

	OK(at != MAP_FAILED && p.layout);
	perl_put(PERL_CURRENT_VA, p.free_va, 8);
	perl_put(PERL_KEY_VA, 3, 4);
	foo = perl_stash(&p, "Foo", false);
	p.bar = perl_glob(&p, foo, perl_name(&p, "bar", false), 0);
	p.alias = perl_glob(&p, perl_stash(&p, "Other", true), perl_name(&p, "alias", false), p.bar);
	p.nameless = perl_glob(&p, 0, perl_name(&p, "__ANON__", false), 0);
	p.latin = perl_glob(&p, perl_stash(&p, "Ma\xc3\x9f", true), perl_name(&p, "gr\xf6\xdf" "e", false), 0);
	p.own = perl_object(&p, PERL_SV_CODE, 128);
	perl_put(p.own + 32 + 32, foo, 8);
	perl_put(p.own + 32 + PERL_CODE_NAME, perl_name(&p, "l\xc3\xa4nge", true), 8);
	perl_put(p.own + 32 + PERL_CODE_FLAGS, (u64)PERL_CODE_NAMED << 32, 8);
	p.file = perl_text(&p, "/a/path.pl");
	p.file_glob = perl_glob(&p, foo, perl_name(&p, "_</a/path.pl", false), 0);
	p.required = perl_object(&p, 3, 32);
	perl_put(p.required + 16, perl_text(&p, "Foo/Bar.pm"), 8);
	return p;
}

static inline struct perl_facts perl_facts_of(u32 version)
{
	return (struct perl_facts){
		.version = version, .current_ea = PERL_CURRENT_VA, .key_ea = PERL_KEY_VA, .has_loop = 1,
		.callers = { { 0x1000, 0x1100 }, { 0x2000, 0x2100 } },
	};
}

/* The words of a frame, as the kernel half pushes them. */
static inline void perl_frame_of(u32 kind, u64 object, u64 file, u64 line, u64 ret_frame[2])
{
	ret_frame[0] = (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | (u64)LANG_PERL << FRAME_LANG_SHIFT |
		       object >> 3 << PERL_KIND_BITS | kind;
	ret_frame[1] = file >> 3 << PERL_LINE_BITS | line;
}

#endif

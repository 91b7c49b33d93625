/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up PHP: its functions in our own memory, as each version lays them out, read as those of another process.
 * There are a method Foo::bar, a function, one that is written in C, and a file.
 */
#ifndef TEST_FORGE_PHP_H
#define TEST_FORGE_PHP_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lang/lang.h"
#include "lang/php/php.h"
#include "lang/php/php_file.h"
#include "test.h"

#define PHP_VA 0x230000000000ull
#define PHP_BYTES 0x4000u

struct forge_php {
	u64 free_va, file_at;
	u64 method, function, internal, script;
};

static inline void php_put(u64 va, u64 word, size_t bytes)
{
	asm("" : "+r"(va));	/* a compiler that knows the number takes it for no object's */
	memcpy((void *)(uintptr_t)va, &word, bytes);
}

static inline u64 php_take(struct forge_php *p, u64 bytes)
{
	u64 va = p->free_va;

	p->free_va += (bytes + 15) & ~15ull;
	OK(p->free_va <= PHP_VA + PHP_BYTES);
	return va;
}

static inline u64 php_string(struct forge_php *p, const char *text)
{
	u64 va;

	if (!text)
		return 0;
	va = php_take(p, 24 + strlen(text) + 1);
	php_put(va + 16, strlen(text), 8);
	memcpy((void *)(uintptr_t)(va + 24), text, strlen(text));
	return va;
}

static inline u64 php_function_of(struct forge_php *p, u64 type, const char *name, const char *class, const char *file)
{
	u64 va = php_take(p, 256), entry = class ? php_take(p, 64) : 0;

	php_put(va, type, 8);
	php_put(va + 8, php_string(p, name), 8);
	php_put(va + 16, entry, 8);
	php_put(va + p->file_at, php_string(p, file), 8);
	if (entry)
		php_put(entry + PHP_CLASS_NAME, php_string(p, class), 8);
	return va;
}

static inline struct forge_php forge_php(u32 version)
{
	struct forge_php p = { .free_va = PHP_VA + 0x100, .file_at = php_layout_of(version)->file };
	void *at = mmap((void *)(uintptr_t)PHP_VA, PHP_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	OK(at != MAP_FAILED);
	p.method = php_function_of(&p, PHP_TYPE_USER, "bar", "Foo", "/a/path.php");
	p.function = php_function_of(&p, PHP_TYPE_USER, "NS\\baz", NULL, "/a/path.php");
	p.internal = php_function_of(&p, PHP_TYPE_INTERNAL, "array_map", NULL, NULL);
	p.script = php_function_of(&p, PHP_TYPE_USER, NULL, NULL, "/a/main.php");
	return p;
}

static inline struct php_facts php_facts_of(u32 version)
{
	return (struct php_facts){
		.version = version, .globals_ea = PHP_VA, .loop = { { 0x1000, 0x2000 } }, .text = { 0x1000, 0x9000 },
		.frame_bytes = 0xa0, .fp_below = 0x20,
	};
}

/* The words of a frame, as the kernel half pushes them. */
static inline void php_frame_of(const struct forge_php *p, u32 kind, u64 function, u64 line, u64 ret_frame[2])
{
	u64 words[3], file = 0;

	memcpy(words, (void *)(uintptr_t)function, sizeof(words));
	if (kind != PHP_INTERNAL)
		memcpy(&file, (void *)(uintptr_t)(function + p->file_at), sizeof(file));
	ret_frame[0] = (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | (u64)LANG_PHP << FRAME_LANG_SHIFT |
		       function >> 3 << PHP_KIND_BITS | kind;
	ret_frame[1] = php_cookie(words[1], words[2], file) << PHP_LINE_BITS | line;
}

#endif

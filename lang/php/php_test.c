// SPDX-License-Identifier: Apache-2.0
#include "lang/php/php.h"

#include <errno.h>

#include "forge_damage.h"
#include "forge_php.h"
#include "lang/named.h"
#include "runtime_names.h"
#include "test.h"

extern const struct lang_ops php_ops;

static const u32 versions[] = {
	PHP_VERSION(7, 4), PHP_VERSION(8, 1), PHP_VERSION(8, 2), PHP_VERSION(8, 3),
	PHP_VERSION(8, 4), PHP_VERSION(8, 5),
};
#define VERSIONS (sizeof(versions) / sizeof(versions[0]))

static int attach(const struct php_facts *facts, struct runtime_slot *ret_slot, void **ret_state)
{
	return runtime_attach(&php_ops, facts, sizeof(*facts), 0, ret_slot, ret_state);
}

static const char *name(const struct lang_process *process, void *state, const u64 frame[2])
{
	return runtime_name(&php_ops, process, state, frame);
}

TEST(php_names_functions_with_their_class_in_every_version)
{
	struct lang_process process = { .pid = (u32)getpid() };

	for (u32 i = 0; i < VERSIONS; i++) {
		struct forge_php p = forge_php(versions[i]);
		struct php_facts facts = php_facts_of(versions[i]);
		struct runtime_slot slot = { 0 };
		void *state = NULL;
		const struct { u32 kind; u64 function; const char *name; } cases[] = {
			{ PHP_FUNCTION, p.method, "Foo::bar /a/path.php:7" },
			{ PHP_FUNCTION, p.function, "NS\\baz /a/path.php:7" },
			{ PHP_INTERNAL, p.internal, "array_map :0" }, { PHP_MAIN, p.script, "{main} /a/main.php:7" },
			{ PHP_INCLUDE, p.script, "include /a/main.php:7" },
			{ PHP_EVAL, p.script, "eval /a/main.php:7" },
		};

		EQ(attach(&facts, &slot, &state), 0);
		for (u32 j = 0; j < sizeof(cases) / sizeof(cases[0]); j++) {
			u64 frame[2];

			php_frame_of(&p, cases[j].kind, cases[j].function, 7, frame);
			STREQ(name(&process, state, frame), cases[j].name);
		}
		php_ops.detach(state);
	}
}

/* What the kernel half has copied: the name, the class and the file. */
static int recall(void *arg, const struct kept_key *key, struct kept_objects *ret_kept)
{
	if (key->lang != LANG_PHP || key->id[1] != PHP_VA + 0x3000)
		return -ENOENT;
	*ret_kept = *(struct kept_objects *)arg;
	return 0;
}

static void keep(struct kept_piece *piece, const char *text)
{
	u64 length = strlen(text);

	piece->va = 1;
	memcpy(piece->bytes + 16, &length, 8);
	memcpy(piece->bytes + 24, text, length);
}

TEST(php_names_what_is_gone_by_what_was_kept)
{
	struct forge_php p = forge_php(PHP_VERSION(8, 2));
	struct php_facts facts = php_facts_of(PHP_VERSION(8, 2));
	static struct kept_objects kept;
	struct lang_process process = { .pid = (u32)getpid(), .recall = recall, .arg = &kept };
	struct runtime_slot slot = { 0 };
	void *state = NULL;
	u64 frame[2], huge = ~0ull;

	EQ(attach(&facts, &slot, &state), 0);
	keep(&kept.piece[0], "gone");
	keep(&kept.piece[1], "Foo");
	keep(&kept.piece[2], "/a/b.php");
	php_frame_of(&p, PHP_FUNCTION, p.method, 7, frame);
	frame[0] = (frame[0] & ~FRAME_LOW_MASK) | (PHP_VA + 0x3000) >> 3 << PHP_KIND_BITS;
	STREQ(name(&process, state, frame), "Foo::gone /a/b.php:7");
	memcpy(kept.piece[0].bytes + 16, &huge, 8);	/* longer than what was kept */
	OK(strlen(name(&process, state, frame)) < KEPT_PIECE_BYTES + 32);
	/* Another function by now, and nothing was kept of the one that was meant. */
	php_frame_of(&p, PHP_FUNCTION, p.method, 7, frame);
	php_put(p.method + 8, PHP_VA + 0x200, 8);
	STREQ(name(&process, state, frame), "?");
	php_ops.detach(state);
}

TEST(php_tells_the_kernel_half_where_the_frames_are)
{
	struct php_facts facts = php_facts_of(PHP_VERSION(8, 5));
	struct runtime_slot slot = { 0 };
	struct php_slot words;
	void *state = NULL;

	EQ(attach(&facts, &slot, &state), 0);
	memcpy(&words, slot.word, sizeof(words));
	EQ(words.current, PHP_VA + 512);
	EQ(words.file, 168);
	EQ(words.loop[0].end_va, 0x2000);
	EQ(words.frame_bytes, 0xa0);
	EQ(words.fp_below, 0x20);
	OK(php_ops.owns(state, NULL, 0, 0));
	php_ops.detach(state);
}

TEST(php_refuses_what_it_cannot_read)
{
	struct php_facts facts = php_facts_of(PHP_VERSION(7, 3));
	struct runtime_slot slot = { 0 };
	void *state = NULL;

	EQ(attach(&facts, &slot, &state), -EOPNOTSUPP);
	facts = php_facts_of(PHP_VERSION(8, 2));
	facts.globals_ea = 0;		/* each thread has its own */
	EQ(attach(&facts, &slot, &state), -EOPNOTSUPP);
	facts = php_facts_of(PHP_VERSION(8, 2));
	facts.loop[0].end_ea = 0;
	EQ(attach(&facts, &slot, &state), -EOPNOTSUPP);
}

/* Any words at all in its memory: what comes out is a name or none. */
TEST(php_survives_whatever_is_in_memory)
{
	struct lang_process process = { .pid = (u32)getpid() };
	u64 random = 1;

	for (u32 round = 0; round < 1200; round++) {
		u32 version = versions[round % VERSIONS];
		struct forge_php p = forge_php(version);
		struct php_facts facts = php_facts_of(version);
		struct runtime_slot slot = { 0 };
		void *state = NULL;
		u64 frames[3][2];
		u8 damage[12 * 20];

		EQ(attach(&facts, &slot, &state), 0);
		php_frame_of(&p, PHP_FUNCTION, p.method, 7, frames[0]);
		php_frame_of(&p, PHP_INTERNAL, p.internal, 0, frames[1]);
		php_frame_of(&p, PHP_MAIN, p.script, 1, frames[2]);
		forge_random(&random, damage, sizeof(damage));
		forge_damage(damage, sizeof(damage), PHP_VA, p.free_va - PHP_VA, php_put);
		for (u32 i = 0; i < 3; i++)
			(void)name(&process, state, frames[i]);
		php_ops.detach(state);
	}
}

// SPDX-License-Identifier: Apache-2.0
#include "symbol/name_cache.h"

#include "proc/binary.h"
#include "test.h"

static struct binary *make_binary(u32 id)
{
	struct binary *binary = calloc(1, sizeof(*binary));

	OK(binary);
	*binary = (struct binary){ .refs = 1, .id = id, .fd = -1, .root_fd = -1, .path = strdup("/bin/x") };
	return binary;
}

static bool put(struct name_cache *cache, struct binary *binary, u64 ea, const char *function)
{
	struct symbol_line line = { .function = function, .system_name = "", .file = "x.c", .line = 7 };
	struct symbol_name name = { SYMBOL_DWARF, false, ea & ~0xfull, 1, &line, "x" };

	return name_cache_put(cache, binary, ea, &name);
}

static const char *find(struct name_cache *cache, const struct binary *binary, u64 ea)
{
	const struct symbol_name *name = name_cache_find(cache, binary, ea);

	return name ? name->lines[0].function : "-";
}

TEST(name_cache_keeps_addresses_of_binaries_apart)
{
	_cleanup_(binary_unrefp) struct binary *a = make_binary(1);
	_cleanup_(binary_unrefp) struct binary *b = make_binary(2);
	struct name_cache cache;

	name_cache_init(&cache, 1 << 20);
	OK(put(&cache, a, 0x1000, "in a"));
	OK(put(&cache, b, 0x1000, "in b"));
	OK(put(&cache, NULL, 0x1000, "in the kernel"));
	STREQ(find(&cache, a, 0x1000), "in a");
	STREQ(find(&cache, b, 0x1000), "in b");
	STREQ(find(&cache, NULL, 0x1000), "in the kernel");
	STREQ(find(&cache, a, 0x1001), "-");
	EQ(a->refs, 2);
	name_cache_done(&cache);
	EQ(a->refs, 1);
}

TEST(name_cache_shares_equal_names)
{
	_cleanup_(binary_unrefp) struct binary *a = make_binary(1);
	struct name_cache cache;

	name_cache_init(&cache, 1 << 20);
	OK(put(&cache, a, 0x1000, "f"));
	OK(put(&cache, a, 0x1008, "f"));
	OK(name_cache_find(&cache, a, 0x1000) == name_cache_find(&cache, a, 0x1008));
	name_cache_done(&cache);
}

/* Many rounds, of which each wants one name again and many new ones. */
TEST(name_cache_keeps_what_is_wanted_and_stays_bounded)
{
	_cleanup_(binary_unrefp) struct binary *a = make_binary(1);
	struct name_cache cache;
	char function[32];

	name_cache_init(&cache, 1 << 20);
	OK(put(&cache, a, 8, "wanted"));
	for (u64 round = 1; round < 200; round++) {
		OK(name_cache_keep(&cache, a, 8));
		name_cache_turn(&cache);
		for (u64 i = 0; i < 300; i++) {
			snprintf(function, sizeof(function), "f%llu", (unsigned long long)(round * 1000 + i));
			OK(put(&cache, a, round * 0x100000 + i * 16, function));
		}
		STREQ(find(&cache, a, 8), "wanted");
		STREQ(find(&cache, a, round * 0x100000 + 299 * 16), function);
		OK(name_cache_bytes(&cache) < 1 << 20);
	}
	STREQ(find(&cache, a, 0x100000), "-");
	OK(cache.evictions > 50000);
	EQ(cache.dropped, 0);
	name_cache_done(&cache);
}

TEST(name_cache_refuses_what_has_no_room)
{
	struct name_cache cache;
	char function[32];

	name_cache_init(&cache, 1 << 18);
	for (u64 i = 0; i < 10000; i++) {
		snprintf(function, sizeof(function), "f%llu", (unsigned long long)i);
		(void)put(&cache, NULL, i * 16, function);
	}
	OK(cache.dropped > 0);
	OK(name_cache_bytes(&cache) < 1 << 19);
	name_cache_done(&cache);
}

TEST(name_cache_forgets_a_range)
{
	struct name_cache cache;

	name_cache_init(&cache, 1 << 20);
	OK(put(&cache, NULL, 0x100, "before"));
	OK(put(&cache, NULL, 0x180, "inside"));
	OK(put(&cache, NULL, 0x200, "after"));
	name_cache_forget(&cache, NULL, 0x180, 0x80);
	STREQ(find(&cache, NULL, 0x100), "before");
	STREQ(find(&cache, NULL, 0x180), "-");
	STREQ(find(&cache, NULL, 0x200), "after");
	OK(put(&cache, NULL, 0x180, "anew"));
	STREQ(find(&cache, NULL, 0x180), "anew");
	name_cache_done(&cache);
}

TEST(name_cache_lets_go_of_binaries_in_time)
{
	struct name_cache cache;
	u32 held = 0;

	name_cache_init(&cache, 64 << 20);
	for (u32 i = 1; i <= 3 * NAME_CACHE_BINARIES_MAX; i++) {
		struct binary *binary = make_binary(i);

		name_cache_turn(&cache);
		OK(put(&cache, binary, 0x1000, "f"));
		binary_unref(binary);
	}
	held = cache.young.binaries.count + cache.old.binaries.count;
	OK(held <= 2 * NAME_CACHE_BINARIES_MAX);
	name_cache_done(&cache);
}

TEST(name_cache_bears_memory_running_out)
{
	_cleanup_(binary_unrefp) struct binary *a = make_binary(1);

	for (long n = 0;; n++) {
		struct name_cache cache;
		bool done;

		name_cache_init(&cache, 1 << 20);
		test_alloc_fail(n);
		done = put(&cache, a, 0x1000, "f");
		EQ(name_cache_find(&cache, a, 0x1000) != NULL, done);
		name_cache_done(&cache);
		EQ(a->refs, 1);
		if (test_alloc_reset() <= n)
			break;
	}
}

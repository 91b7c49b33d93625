// SPDX-License-Identifier: Apache-2.0
#include "symbol/name_cache.h"

#include "test.h"

static bool put(struct name_cache *cache, u32 binary, u64 ea, const char *function)
{
	struct symbol_line line = { .function = function, .system_name = "", .file = "x.c", .line = 7 };
	struct symbol_name name = { .source = SYMBOL_DWARF, .function_ea = ea & ~0xfull, .line_count = 1,
				    .lines = &line, .module = "x", .lang = 2 };

	return name_cache_put(cache, binary, ea, &name);
}

static const char *find(struct name_cache *cache, u32 binary, u64 ea)
{
	const struct symbol_name *name = name_cache_find(cache, binary, ea);

	return name ? name->lines[0].function : "-";
}

TEST(name_cache_keeps_addresses_of_binaries_apart)
{
	struct name_cache cache;

	name_cache_init(&cache, 1 << 20);
	OK(put(&cache, 1, 0x1000, "in a"));
	OK(put(&cache, 2, 0x1000, "in b"));
	OK(put(&cache, NAME_CACHE_KERNEL, 0x1000, "in the kernel"));
	STREQ(find(&cache, 1, 0x1000), "in a");
	STREQ(find(&cache, 2, 0x1000), "in b");
	STREQ(find(&cache, NAME_CACHE_KERNEL, 0x1000), "in the kernel");
	STREQ(find(&cache, 1, 0x1001), "-");
	EQ(name_cache_find(&cache, 1, 0x1000)->lang, 2);
	name_cache_done(&cache);
}

TEST(name_cache_shares_equal_names)
{
	struct name_cache cache;

	name_cache_init(&cache, 1 << 20);
	OK(put(&cache, 1, 0x1000, "f"));
	OK(put(&cache, 1, 0x1008, "f"));
	OK(name_cache_find(&cache, 1, 0x1000) == name_cache_find(&cache, 1, 0x1008));
	name_cache_done(&cache);
}

/* Many rounds, of which each wants one name again and many new ones. */
TEST(name_cache_keeps_what_is_wanted_and_stays_bounded)
{
	struct name_cache cache;
	char function[32];

	name_cache_init(&cache, 1 << 20);
	OK(put(&cache, 1, 8, "wanted"));
	for (u64 round = 1; round < 200; round++) {
		OK(name_cache_keep(&cache, 1, 8));
		name_cache_turn(&cache);
		for (u64 i = 0; i < 300; i++) {
			snprintf(function, sizeof(function), "f%llu", (unsigned long long)(round * 1000 + i));
			OK(put(&cache, 1, round * 0x100000 + i * 16, function));
		}
		STREQ(find(&cache, 1, 8), "wanted");
		STREQ(find(&cache, 1, round * 0x100000 + 299 * 16), function);
		OK(name_cache_bytes(&cache) < 1 << 20);
	}
	STREQ(find(&cache, 1, 0x100000), "-");
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
		(void)put(&cache, NAME_CACHE_KERNEL, i * 16, function);
		if (!name_cache_is_tight(&cache))
			EQ(cache.dropped, 0);
	}
	OK(name_cache_is_tight(&cache));
	OK(cache.dropped > 0);
	OK(name_cache_bytes(&cache) < 1 << 19);
	name_cache_done(&cache);
}

TEST(name_cache_forgets_a_range)
{
	struct name_cache cache;

	name_cache_init(&cache, 1 << 20);
	OK(put(&cache, NAME_CACHE_KERNEL, 0x100, "before"));
	OK(put(&cache, NAME_CACHE_KERNEL, 0x180, "inside"));
	OK(put(&cache, NAME_CACHE_KERNEL, 0x200, "after"));
	name_cache_forget(&cache, NAME_CACHE_KERNEL, 0x180, 0x80);
	STREQ(find(&cache, NAME_CACHE_KERNEL, 0x100), "before");
	STREQ(find(&cache, NAME_CACHE_KERNEL, 0x180), "-");
	STREQ(find(&cache, NAME_CACHE_KERNEL, 0x200), "after");
	OK(put(&cache, NAME_CACHE_KERNEL, 0x180, "anew"));
	STREQ(find(&cache, NAME_CACHE_KERNEL, 0x180), "anew");
	name_cache_done(&cache);
}

TEST(name_cache_bears_memory_running_out)
{
	for (long n = 0;; n++) {
		struct name_cache cache;
		bool done;

		name_cache_init(&cache, 1 << 20);
		test_alloc_fail(n);
		done = put(&cache, 1, 0x1000, "f");
		EQ(name_cache_find(&cache, 1, 0x1000) != NULL, done);
		name_cache_done(&cache);
			if (test_alloc_reset() <= n)
			break;
	}
}

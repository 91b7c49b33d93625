// SPDX-License-Identifier: Apache-2.0
#include "lang/lang.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

TEST(lang_left_out_by_the_list_of_tracers)
{
	EQ(lang_left_out(""), 0);
	EQ(lang_left_out("all"), 0);
	EQ(lang_left_out("native, all"), 0);
	EQ(lang_left_out("native"), ~1u);
	EQ(lang_left_out("cobol"), ~1u);
	STREQ(lang_unknown("all,cobol"), "cobol");
	STREQ(lang_unknown("al"), "al");
	OK(!lang_unknown("native"));
	OK(!lang_unknown(""));
	for (u32 lang = 1; lang < LANG_MAX; lang++) {
		if (!lang_list[lang])
			continue;
		EQ(lang_named(lang_list[lang]->tracer, strlen(lang_list[lang]->tracer)), lang);
		EQ(lang_left_out(lang_list[lang]->tracer), ~1u & ~(1u << lang));
	}
}

TEST(lang_reads_memory_that_is_there)
{
	struct lang_process self = { .pid = (u32)getpid() };
	u64 word = 0x1122334455667788, to = 0;

	EQ(lang_read(&self, (u64)(uintptr_t)&word, &to, sizeof(to)), 0);
	EQ(to, word);
	EQ(lang_read_word(&self, (u64)(uintptr_t)&word), word);
	EQ(lang_read_word(&self, 16), 0);
	EQ(lang_find_word(&self, (u64)(uintptr_t)(u64[]){ 5, 6, 7 }, 3, 7), 2);
	EQ(lang_find_word(&self, (u64)(uintptr_t)(u64[]){ 5, 6, 7 }, 3, 8), -1);
	EQ(lang_find_word(&self, 16, 1, 0), -1);
	EQ(lang_find_word(&self, (u64)(uintptr_t)&word, LANG_FIND_WORDS_MAX + 1, word), -1);
	OK(lang_read(&self, UINT64_MAX - 3, &to, sizeof(to)) < 0);
	self.is_gone = true;
	EQ(lang_read(&self, (u64)(uintptr_t)&word, &to, sizeof(to)), -ESRCH);
}

TEST(lang_reads_copies_where_memory_was_kept)
{
	struct kept_objects kept = { .piece = { { .va = 0x1000 }, { .va = 0x2000 } } };
	struct lang_process process = { .is_gone = true, .kept = &kept };
	u8 to[KEPT_PIECE_BYTES + 1];

	memset(kept.piece[1].bytes, 'b', sizeof(kept.piece[1].bytes));
	EQ(lang_read(&process, 0x2008, to, 8), 0);
	EQ(to[7], 'b');
	EQ(lang_read_part(&process, 0x2000 + KEPT_PIECE_BYTES - 3, to, 8), 3);
	EQ(lang_read(&process, 0x2000 + KEPT_PIECE_BYTES - 3, to, 8), -EFAULT);
	EQ(lang_read(&process, 0x2000, to, sizeof(to)), -EFAULT);
	EQ(lang_read_part(&process, 0x2000 + KEPT_PIECE_BYTES, to, 1), -EFAULT);
	EQ(lang_read_part(&process, 0xfff, to, 1), -EFAULT);
	EQ(lang_read(&process, 0, to, 1), -EFAULT);
}

TEST(lang_reads_the_copy_that_goes_farthest)
{
	struct kept_objects kept = { .piece = { { .va = 0x1000 }, { .va = 0x1080 }, { .va = 0x1040 } } };
	struct lang_process process = { .kept = &kept };
	u8 to[KEPT_PIECE_BYTES];

	for (u32 i = 0; i < 3; i++)
		memset(kept.piece[i].bytes, 'a' + (int)i, sizeof(kept.piece[i].bytes));
	EQ(lang_read(&process, 0x1080, to, sizeof(to)), 0);
	EQ(to[0], 'b');
	EQ(lang_read_part(&process, 0x1050, to, sizeof(to)), KEPT_PIECE_BYTES - 0x10);
	EQ(to[0], 'c');
	EQ(lang_read(&process, 0x1000, to, 0x40), 0);
	EQ(to[0], 'a');
}

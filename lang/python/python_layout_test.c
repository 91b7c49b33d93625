// SPDX-License-Identifier: Apache-2.0
#include "lang/python/python_layout.h"

#include <elf.h>
#include <errno.h>

#include "lang/python/python.h"
#include "test.h"

/*
 * The debug offsets of four builds, word by word from the version on: Debian's 3.13.5, 3.14.10 and 3.15.2, and a
 * free-threaded 3.14.7.
 */
static const u32 offsets_3_13[] = {
	0x30d05f0, 0, 283376, 608, 632, 194976, 7272, 7264, 7344, 7400, 7656, 7640, 7648, 16, 7752, 0, 7768,
	7760, 304, 0, 8, 16, 72, 152, 160, 232, 32, 80, 8, 0, 56, 72, 70, 208, 112, 120, 128, 136, 68, 52, 96,
	104, 200, 16, 8, 416, 24, 88, 168, 32, 24, 16, 40, 24, 16, 48, 32, 40, 24, 16, 32, 16, 24, 40, 16, 32,
	64, 32, 16, 40, 240, 200,
};
static const u32 offsets_3_14[] = {
	0x30e0af0, 0, 316616, 784, 808, 225864, 7280, 7272, 7344, 7360, 7408, 7688, 7672, 7680, 16, 7784, 0,
	7800, 7792, 7992, 0, 832, 0, 8, 16, 72, 152, 160, 232, 32, 88, 8, 0, 56, 80, 74, 64, 0, 216, 112, 120,
	128, 136, 68, 52, 96, 104, 208, 0, 16, 8, 416, 24, 88, 168, 40, 32, 16, 40, 24, 16, 200, 24, 40, 32, 48,
	32, 40, 24, 16, 32, 16, 24, 40, 16, 32, 64, 32, 16, 40, 264, 192, 160, 24, 72, 67,
};

static const u32 offsets_3_15[] = {
	0x30f02f0, 0, 346568, 912, 936, 226240, 7272, 7264, 7336, 7352, 7400, 7592, 7576, 7584, 16, 7736, 0,
	7752, 7744, 7944, 0, 888, 0, 8, 16, 72, 80, 88, 96, 176, 184, 256, 32, 36, 40, 136, 288, 0, 88, 8, 0,
	56, 80, 74, 64, 0, 216, 112, 120, 128, 136, 68, 52, 96, 104, 208, 0, 16, 8, 424, 24, 88, 168, 32, 288,
	944, 888, 40, 32, 16, 40, 24, 16, 200, 24, 40, 32, 48, 32, 40, 24, 16, 32, 16, 24, 40, 16, 32, 64, 32,
	16, 40, 56, 176, 112, 120, 1120, 104, 160, 24, 72, 67,
};
static const u32 offsets_3_14t[] = {
	0x30e07f0, 1, 362368, 784, 808, 246720, 7280, 7272, 7344, 7360, 7408, 7712, 7696, 7704, 16, 7808, 0,
	7832, 7824, 8024, 17628, 832, 0, 8, 16, 72, 152, 160, 232, 32, 88, 8, 0, 56, 80, 78, 64, 72, 240, 128,
	136, 144, 152, 84, 68, 112, 120, 232, 224, 32, 24, 432, 40, 104, 184, 56, 48, 32, 56, 40, 32, 216, 40,
	56, 48, 64, 48, 56, 40, 32, 48, 32, 40, 56, 32, 48, 80, 48, 32, 56, 288,
};

static u64 words[104];

static const u8 *runtime(const u32 *offsets, u32 count)
{
	memset(words, 0, sizeof(words));
	memcpy(words, "xdebugpy", 8);
	for (u32 i = 0; i < count; i++)
		words[i + 1] = offsets[i];
	return (const u8 *)words;
}

#define COUNT(offsets) (sizeof(offsets) / sizeof((offsets)[0]))
#define RUNTIME(offsets) runtime(offsets, COUNT(offsets)), sizeof(words)

TEST(python_layout_takes_3_13_at_its_word)
{
	struct python_layout l;

	EQ(python_layout_read(RUNTIME(offsets_3_13), &l), 0);
	EQ(l.version, PYTHON_VERSION(13));
	EQ(l.layout_version, PYTHON_VERSION(13));
	EQ(l.frames, PYTHON_SHIMS);
	EQ(l.interpreters, 632);
	EQ(l.interpreter_next, 7264);
	EQ(l.threads, 7344);
	EQ(l.thread_next, 8);
	EQ(l.thread_id, 152);
	EQ(l.top, 72);
	EQ(l.frame_previous, 8);
	EQ(l.frame_instruction, 56);
	EQ(l.frame_owner, 70);
	EQ(l.code_qualname, 128);
	EQ(l.code_start, 200);
	EQ(l.text_ascii, 40);
	EQ(l.text_other, 56);
	EQ(l.current, 0);
	EQ(l.code_copies, 0);
	EQ(l.generator_frame, 0);
	EQ(l.frame_stack, 0);
}

TEST(python_layout_takes_3_14_at_its_word)
{
	struct python_layout l;

	EQ(python_layout_read(RUNTIME(offsets_3_14), &l), 0);
	EQ(l.version, PYTHON_VERSION(14));
	EQ(l.threads, 7344);
	EQ(l.thread_id, 152);
	EQ(l.frame_owner, 74);
	EQ(l.code_line, 68);
	EQ(l.code_start, 208);
	EQ(l.bytes_data, 32);
	EQ(l.text_other, 56);
	EQ(l.free_threaded, 0);
	EQ(l.frame_stack, 64);
	EQ(l.generator_frame, 72);
}

TEST(python_layout_takes_3_15_at_its_word)
{
	struct python_layout l;

	EQ(python_layout_read(RUNTIME(offsets_3_15), &l), 0);
	EQ(l.version, PYTHON_VERSION(15));
	EQ(l.layout_version, PYTHON_VERSION(15));
	EQ(l.threads, 7336);
	EQ(l.thread_id, 176);
	EQ(l.top, 72);
	EQ(l.frame_owner, 74);
	EQ(l.code_line, 68);
	EQ(l.code_start, 208);
	EQ(l.bytes_data, 32);
	EQ(l.text_other, 56);
	EQ(l.frame_stack, 64);
	EQ(l.generator_frame, 72);
}

TEST(python_layout_knows_free_threaded_builds)
{
	struct python_layout l;

	EQ(python_layout_read(RUNTIME(offsets_3_14t), &l), 0);
	EQ(l.free_threaded, 1);
	EQ(l.object_type, 24);
	EQ(l.frame_owner, 78);
	EQ(l.frame_copy, 72);
	OK(l.code_copies > l.code_lines && l.code_start > l.code_copies);
	EQ(l.bytes_data, 48);
	EQ(l.text_state, 48);
	EQ(l.text_ascii, 56);
	EQ(l.text_other, 72);
}

TEST(python_layout_reads_a_newer_version_by_the_newest_known)
{
	struct python_layout l;

	(void)runtime(offsets_3_15, COUNT(offsets_3_15));
	words[1] = 0x31000f0;
	EQ(python_layout_read((const u8 *)words, sizeof(words), &l), 0);
	EQ(l.version, PYTHON_VERSION(16));
	EQ(l.layout_version, PYTHON_NEWEST);
	EQ(l.generator_frame, 0);
}

/* 3.15 put words between those of 3.14, and the next will do so again: then nothing is to be read by them. */
TEST(python_layout_refuses_a_newer_version_whose_words_have_moved)
{
	struct python_layout l;

	for (u32 at = 24; at < 92; at++) {
		(void)runtime(offsets_3_15, COUNT(offsets_3_15));
		memmove(words + at + 1, words + at, (95 - at) * sizeof(u64));
		words[1] = 0x31000f0;
		EQ(python_layout_read((const u8 *)words, sizeof(words), &l), -EPROTONOSUPPORT);
	}
	(void)runtime(offsets_3_14, COUNT(offsets_3_14));
	words[1] = 0x31000f0;
	EQ(python_layout_read((const u8 *)words, sizeof(words), &l), -EPROTONOSUPPORT);
}

TEST(python_layout_refuses_offsets_that_cannot_be)
{
	struct python_layout l;

	for (u32 i = 1; i < 87; i++) {
		(void)runtime(offsets_3_14, COUNT(offsets_3_14));
		words[i] = ~0ull;
		/* Whatever is used must be checked; the kernel half reads by it. */
		if (python_layout_read((const u8 *)words, sizeof(words), &l) == 0)
			OK(l.frame_owner < 128 && l.code_name < 512 && l.thread_id < 512 && l.threads < 1 << 20 &&
			   l.frame_previous < 128 && l.text_ascii < 512 && l.bytes_data < 512 &&
			   l.generator_frame <= 512 && (!l.generator_frame || l.frame_stack < 128));
	}
	EQ(python_layout_read((const u8 *)words, 8, &l), -EBADMSG);
	words[0] = 0;
	OK(!python_layout_speaks((const u8 *)words, sizeof(words)));
}

TEST(python_layout_knows_the_versions_that_do_not_say)
{
	struct python_layout l;

	for (u32 minor = 8; minor <= 12; minor++) {
		EQ(python_layout_known(PYTHON_VERSION(minor), EM_X86_64, &l), 0);
		EQ(l.version, PYTHON_VERSION(minor));
		EQ(l.layout_version, PYTHON_VERSION(minor));
		OK(l.interpreters && l.threads && l.thread_id && l.top && l.code_file && l.code_lines);
	}
	EQ(python_layout_known(PYTHON_VERSION(7), EM_X86_64, &l), -ENODATA);
	EQ(python_layout_known(PYTHON_VERSION(13), EM_X86_64, &l), -ENODATA);
}

/* As the headers of Debian's 3.11 have it, compiled for arm64. */
TEST(python_layout_allows_for_larger_locks_on_arm64)
{
	struct python_layout l;

	EQ(python_layout_known(PYTHON_VERSION(9), EM_AARCH64, &l), 0);
	EQ(l.current, 584);
	EQ(python_layout_known(PYTHON_VERSION(11), EM_AARCH64, &l), 0);
	EQ(l.current, 592);
	EQ(python_layout_known(PYTHON_VERSION(12), EM_AARCH64, &l), 0);
	EQ(l.current, 0);
}

/* What Debian's 3.15.2 says: sizes first, of a task, an interpreter and a thread. */
static const u64 asyncio_3_15[] = { 168, 136, 96, 108, 109, 128, 152, 226240, 10856, 1104, 1024, 1032, 1048 };

TEST(python_layout_takes_asyncio_at_its_word)
{
	struct python_asyncio a = { 0 };

	EQ(python_layout_read_asyncio((const u8 *)asyncio_3_15, sizeof(asyncio_3_15), &a), 0);
	EQ(a.task_awaited_by, 96);
	EQ(a.task_is_task, 108);
	EQ(a.task_has_set, 109);
	EQ(a.task_coroutine, 128);
	EQ(a.running_task, 1032);
}

TEST(python_layout_refuses_what_cannot_be_of_asyncio)
{
	static const u8 wrong[] = { 0, 2, 3, 4, 5, 9, 11 };
	struct python_asyncio a;

	EQ(python_layout_read_asyncio((const u8 *)asyncio_3_15, sizeof(asyncio_3_15) - 1, &a), -EBADMSG);
	for (u32 i = 0; i < sizeof(wrong); i++) {
		u64 said[COUNT(asyncio_3_15)];

		memcpy(said, asyncio_3_15, sizeof(said));
		said[wrong[i]] = 1u << 20;
		EQ(python_layout_read_asyncio((const u8 *)said, sizeof(said), &a), -EBADMSG);
	}
}

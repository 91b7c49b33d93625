// SPDX-License-Identifier: Apache-2.0
/* CPython's structures made up in our own memory, read as those of another process. */
#include "lang/python/python.h"

#include <elf.h>
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "lang/lang.h"
#include "lang/named.h"
#include "lang/python/python_file.h"
#include "lang/python/python_text.h"
#include "lang/python/python_thread.h"
#include "proc/peek.h"
#include "test.h"

extern const struct lang_ops python_ops;

#define MACHINE (REG_RA == 30 ? EM_AARCH64 : EM_X86_64)

static struct lang_process self(void)
{
	return (struct lang_process){ .pid = (u32)getpid() };
}

static struct python_layout layout_of(u32 minor)
{
	struct python_layout l;

	EQ(python_layout_known(PYTHON_VERSION(minor), MACHINE, &l), 0);
	return l;
}

static void put(void *object, u64 offset, u64 word)
{
	memcpy((u8 *)object + offset, &word, sizeof(word));
}

/* A str of 3.12: header, length, state, then its characters. */
static u64 make_text(u8 object[256], const void *characters, u64 length, u32 kind, bool ascii)
{
	memset(object, 0, 256);
	put(object, 16, length);
	put(object, 32, kind << 2 | 1u << 5 | (u32)ascii << 6);
	memcpy(object + (ascii ? 40 : 56), characters, length * kind);
	return (u64)object;
}

TEST(python_text_reads_every_kind_of_str)
{
	struct python_layout l = layout_of(12);
	struct lang_process process = self();
	char text[LANG_TEXT_MAX + 1];
	u8 object[256];

	EQ(python_text_read(&process, &l, make_text(object, "plain", 5, 1, true), text), 0);
	STREQ(text, "plain");
	EQ(python_text_read(&process, &l, make_text(object, "gr\xf6\xdf" "e", 5, 1, false), text), 0);
	STREQ(text, "größe");
	EQ(python_text_read(&process, &l, make_text(object, (u16[]){ 0x9577, 0x3055 }, 2, 2, false), text), 0);
	STREQ(text, "長さ");
	EQ(python_text_read(&process, &l, make_text(object, (u32[]){ 0x1f40d, 'x' }, 2, 4, false), text), 0);
	STREQ(text, "🐍x");
	/* What Python keeps of bytes that were no UTF-8, and what is no character at all. */
	EQ(python_text_read(&process, &l, make_text(object, (u32[]){ 0xdc80, 0x110000 }, 2, 4, false), text), 0);
	STREQ(text, "??");
}

TEST(python_text_refuses_what_is_no_str)
{
	struct python_layout l = layout_of(12);
	struct lang_process process = self();
	char text[LANG_TEXT_MAX + 1];
	u8 object[256];
	u64 va = make_text(object, "xxx", 1, 3, true);

	EQ(python_text_read(&process, &l, va, text), -EBADMSG);
	put(object, 32, 1 << 2);
	EQ(python_text_read(&process, &l, va, text), -EBADMSG);
	EQ(python_text_read(&process, &l, 8, text), -EFAULT);
}

TEST(python_text_cuts_what_is_too_long)
{
	struct python_layout l = layout_of(12);
	struct lang_process process = self();
	char text[LANG_TEXT_MAX + 1];
	static u8 object[56 + 4 * LANG_TEXT_MAX];

	for (u64 i = 0; i < LANG_TEXT_MAX; i++)
		((u16 *)(object + 56))[i] = 0x9577;
	put(object, 16, ~0ull);
	put(object, 32, 2 << 2 | 1 << 5);
	EQ(python_text_read(&process, &l, (u64)object, text), 0);
	OK(strlen(text) <= LANG_TEXT_MAX);
	OK(strlen(text) > LANG_TEXT_MAX - 3);
}

TEST(python_bytes_are_read_as_far_as_there_is_room)
{
	struct python_layout l = layout_of(12);
	struct lang_process process = self();
	u8 object[64] = { 0 }, to[8];
	size_t bytes;

	put(object, 16, 1ull << 40);
	memcpy(object + 32, "abcdefgh", 8);
	EQ(python_bytes_read(&process, &l, (u64)object, to, 4, &bytes), 0);
	EQ(bytes, 4);
	OK(!memcmp(to, "abcd", 4));
	EQ(python_bytes_read(&process, &l, 16, to, 4, &bytes), -EFAULT);
}

/* One interpreter with two threads, of which the first has not begun. */
static u64 pthread_made[512], tsd[128], vector[4], thread[2][64], interpreter[64], runtime[256];

static void make_threads(const struct python_layout *l)
{
	memset(pthread_made, 0, sizeof(pthread_made));
	memset(tsd, 0, sizeof(tsd));
	memset(thread, 0, sizeof(thread));
	put(runtime, l->interpreters, (u64)interpreter);
	put(interpreter, l->threads, (u64)thread[0]);
	put(thread[0], l->thread_next, (u64)thread[1]);
	put(thread[0], l->thread_interpreter, (u64)interpreter);
	put(thread[1], l->thread_interpreter, (u64)interpreter);
	put(thread[1], l->thread_id, (u64)pthread_made);
}

/* glibc's struct pthread of 0x740 bytes, as in 2.36; the thread pointer of arm64 is behind it. */
#define ARM64_BYTES 0x740

static void make_glibc(u32 machine, u32 key)
{
	u32 first = machine == EM_AARCH64 ? 0x110 : 0x310;

	if (machine == EM_X86_64) {
		pthread_made[0] = (u64)pthread_made;
	} else {
		pthread_made[ARM64_BYTES / 8] = (u64)vector;
		vector[2] = (u64)pthread_made + ARM64_BYTES + 16;
	}
	if (key < 32) {
		pthread_made[(first + key * 16 + 8) / 8] = (u64)thread[1];
	} else {
		pthread_made[(first + 0x200 + key / 32 * 8) / 8] = (u64)tsd;
		tsd[key % 32 * 2 + 1] = (u64)thread[1];
	}
}

TEST(python_thread_is_found_among_the_values_of_libc)
{
	struct python_layout l = layout_of(12);
	struct lang_process process = self();
	struct python_slot slot = { 0 };

	make_threads(&l);
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_X86_64, &slot), -EAGAIN);
	make_glibc(EM_X86_64, 3);
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_X86_64, &slot), 0);
	EQ(slot.tsd, 0x310 + 3 * 16 + 8);
	EQ(slot.tsd_block, 0);
	make_threads(&l);
	make_glibc(EM_X86_64, 2 * 32 + 5);
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_X86_64, &slot), 0);
	EQ(slot.tsd, 0x510 + 2 * 8);
	EQ(slot.tsd_block, 1);
	EQ(slot.tsd_in_block, 5 * 16 + 8);
	/* musl's */
	make_threads(&l);
	pthread_made[0] = (u64)pthread_made;
	pthread_made[0x80 / 8] = (u64)tsd;
	tsd[9] = (u64)thread[1];
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_X86_64, &slot), 0);
	EQ(slot.tsd, 0x80);
	EQ(slot.tsd_in_block, 72);
	EQ(slot.self, 0);
}

TEST(python_thread_is_found_before_the_thread_pointer_of_arm64)
{
	struct python_layout l = layout_of(12);
	struct lang_process process = self();
	struct python_slot slot = { 0 };

	make_threads(&l);
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_AARCH64, &slot), -EAGAIN);
	make_glibc(EM_AARCH64, 3);
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_AARCH64, &slot), 0);
	EQ(slot.self, 0ull - ARM64_BYTES);
	EQ(slot.tsd, 0x110ull + 3 * 16 + 8 - ARM64_BYTES);
	EQ(slot.tsd_block, 0);
	/* Nothing looks like a thread pointer. */
	vector[2] = (u64)pthread_made;
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_AARCH64, &slot), -EAGAIN);
	make_threads(&l);
	make_glibc(EM_AARCH64, 2 * 32 + 5);
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_AARCH64, &slot), 0);
	EQ(slot.tsd, 0x310ull + 2 * 8 - ARM64_BYTES);
	EQ(slot.tsd_in_block, 5 * 16 + 8);
	/* musl's */
	make_threads(&l);
	pthread_made[0] = (u64)pthread_made;
	pthread_made[0x70 / 8] = (u64)tsd;
	tsd[9] = (u64)thread[1];
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_AARCH64, &slot), 0);
	EQ(slot.self, 0ull - 200);
	EQ(slot.tsd, 0x70ull - 200);
	EQ(slot.tsd_in_block, 72);
}

TEST(python_thread_is_found_among_the_variables_of_3_15)
{
	struct python_layout l = layout_of(12);
	struct lang_process process = self();
	struct python_slot slot = { 0 };
	u64 *self_made = pthread_made + 128;

	l.version = PYTHON_VERSION(15);
	make_threads(&l);
	self_made[0] = (u64)self_made;
	put(thread[1], l.thread_id, (u64)self_made);
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_X86_64, &slot), -EAGAIN);
	self_made[-65] = (u64)thread[1];
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_X86_64, &slot), -EAGAIN);
	self_made[-5] = (u64)thread[1];
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_X86_64, &slot), 0);
	EQ(slot.tsd, -40ull);
	EQ(slot.tsd_other, 0);
	self_made[-3] = (u64)thread[1];
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_X86_64, &slot), 0);
	EQ(slot.tsd, -24ull);
	EQ(slot.tsd_other, -40ull);
	/* arm64: two words behind the thread pointer. */
	make_threads(&l);
	make_glibc(EM_AARCH64, 3);
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_AARCH64, &slot), -EAGAIN);
	pthread_made[ARM64_BYTES / 8 + 4] = (u64)thread[1];
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_AARCH64, &slot), 0);
	EQ(slot.tsd, 32);
	EQ(slot.self, 0 - (u64)ARM64_BYTES);
}

TEST(python_thread_does_not_follow_a_list_for_ever)
{
	struct python_layout l = layout_of(12);
	struct lang_process process = self();
	struct python_slot slot = { 0 };

	make_threads(&l);
	put(thread[1], l.thread_next, (u64)thread[0]);
	put(interpreter, l.interpreter_next, (u64)interpreter);
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_X86_64, &slot), -EAGAIN);
}

/* However many interpreters they belong to. */
TEST(python_thread_looks_at_so_many_threads_and_no_more)
{
	static u64 before[64], stray[64];
	struct python_layout l = layout_of(12);
	struct lang_process process = self();
	struct python_slot slot = { 0 };

	make_threads(&l);
	make_glibc(EM_X86_64, 3);
	put(runtime, l.interpreters, (u64)before);
	put(before, l.threads, (u64)stray);
	put(before, l.interpreter_next, (u64)interpreter);
	put(interpreter, l.interpreter_next, 0);
	put(stray, l.thread_interpreter, (u64)before);
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_X86_64, &slot), 0);
	put(stray, l.thread_next, (u64)stray);
	EQ(python_thread_find(&process, &l, (u64)runtime, EM_X86_64, &slot), -EAGAIN);
}

static u32 wishes;

static int attach(u32 version, struct runtime_slot *slot, void **ret_state)
{
	struct python_facts facts = { .layout = layout_of(12), .runtime_ea = (u64)runtime };
	struct lang_process process = self();
	struct lang_place place = { 0 };
	static struct lang_file file;

	make_threads(&facts.layout);
	make_glibc(MACHINE, 0);
	facts.layout.version = version;
	facts.layout.generator_frame = 72;
	facts.layout.frame_stack = 64;
	process.wishes = wishes;
	memcpy(file.facts, &facts, sizeof(facts));
	return python_ops.attach(&process, &file, &place, slot, ret_state);
}

TEST(python_attach_fills_the_slot)
{
	struct runtime_slot slot = { 0 };
	struct python_slot words;
	void *state = NULL;

	EQ(attach(PYTHON_VERSION(12), &slot, &state), 0);
	memcpy(&words, slot.word, sizeof(words));
	EQ(words.frames, PYTHON_CSHIMS);
	EQ(words.tsd - words.self, MACHINE == EM_AARCH64 ? 0x118 : 0x318);
	EQ(words.code_block, 64);
	EQ(words.code_line, 4);
	EQ(words.code_file, 48);
	python_ops.detach(state);
}

/* The module _asyncio comes later, in a file of its own. */
TEST(python_fills_the_slot_with_what_asyncio_says_on_demand)
{
	struct python_facts facts = { .asyncio = { 96, 108, 109, 128, .running_task = 872 } };
	struct lang_process process = self();
	struct lang_place place = { 0 };
	static struct lang_file file;

	memcpy(file.facts, &facts, sizeof(facts));
	for (wishes = 0; wishes <= LANG_WISH(python_await_chain); wishes += LANG_WISH(python_await_chain)) {
		struct runtime_slot slot = { 0 };
		struct python_slot words;
		void *state = NULL;

		EQ(python_ops.attach(&process, &file, &place, &slot, &state), -EAGAIN);
		EQ(attach(PYTHON_VERSION(12), &slot, &state), 0);
		memcpy(&words, slot.word, sizeof(words));
		EQ(words.running_task, 0);
		python_ops.add_file(state, &file, &place, &slot);
		memcpy(&words, slot.word, sizeof(words));
		EQ(words.running_task, wishes ? 872 : 0);
		EQ(words.task_coroutine, wishes ? 128 : 0);
		EQ(words.generator_frame, wishes ? 72 : 0);
		EQ(words.frames, PYTHON_CSHIMS);
		python_ops.detach(state);
	}
	wishes = 0;
}

TEST(python_attach_tells_of_versions_that_are_not_known)
{
	struct lang_process process = self();
	struct runtime_slot slot = { 0 };
	struct lang_place place = { 0 };
	static struct lang_file file;
	void *state = NULL;

	/* One that is read as the nearest, and one that is like none of them. */
	EQ(attach(PYTHON_VERSION(13), &slot, &state), 1);
	python_ops.detach(state);
	EQ(python_ops.attach(&process, &file, &place, &slot, &state), -EOPNOTSUPP);
}

TEST(python_attach_survives_each_failed_allocation)
{
	struct runtime_slot slot;
	void *state = NULL;

	for (long i = 0; i < 2; i++) {
		int r;

		test_alloc_fail(i);
		r = attach(PYTHON_VERSION(12), &slot, &state);
		test_alloc_reset();
		EQ(r, -ENOMEM);
	}
}

TEST(python_does_not_name_code_that_is_gone)
{
	struct lang_process process = self();
	struct runtime_slot slot = { 0 };
	u8 code[256] = { 0 };
	void *state = NULL;

	EQ(attach(PYTHON_VERSION(12), &slot, &state), 0);
	put(code, 112, 0x1000);
	put(code, 120, 0x2000);
	EQ(python_ops.resolve(state, &process, (u64[]){ python_cookie(0x1000, 0x2000, 1), (u64)code }, NULL), -ESTALE);
	EQ(python_ops.resolve(state, &process, (u64[]){ 0, 64 }, NULL), -EFAULT);
	python_ops.detach(state);
}

TEST(python_names_the_frames_of_a_sample_with_a_look_for_each_page)
{
	static _Alignas(4096) u8 page[4096];
	u64 file_va = make_text(page + 512, "there.py", 8, 1, true);
	u64 name_va = make_text(page + 1024, "name", 4, 1, true);
	u64 frame[2] = { python_cookie(file_va, name_va, 7), (u64)page };
	struct python_layout l = layout_of(12);
	struct lang_process process = self();
	struct runtime_slot slot = { 0 };
	struct named names;
	void *state = NULL;

	EQ(attach(PYTHON_VERSION(12), &slot, &state), 0);
	EQ(peek_new(600 * SECOND_NS, &process.peek), 0);
	named_init(&names);
	memcpy(page + l.code_line, &(u32){ 7 }, 4);
	put(page, l.code_file, file_va);
	put(page, l.code_name, name_va);
	put(page, l.code_qualname, name_va);
	put(page, l.code_lines, (u64)page + 2048);
	(void)peek_since(process.peek, monotonic_ns());
	for (u64 instruction = 0; instruction < 100; instruction++) {
		const struct window_frame *found;

		frame[0] = python_cookie(file_va, name_va, 7) | instruction << PYTHON_COOKIE_BITS;
		found = named_find(&names, &python_ops, state, &process, frame, 0);
		STREQ(found->lines[0].function, "name");
		STREQ(found->lines[0].file, "there.py");
	}
	EQ(names.unnamed, 0);
	EQ(peek_stats(process.peek).looks, 1);
	/* Nor does another place in the same function need a look when the page is too old. */
	(void)peek_since(process.peek, monotonic_ns());
	frame[0] = python_cookie(file_va, name_va, 7) | 100ull << PYTHON_COOKIE_BITS;
	STREQ(named_find(&names, &python_ops, state, &process, frame, 0)->lines[0].function, "name");
	EQ(peek_stats(process.peek).looks, 1);
	named_done(&names);
	python_ops.detach(state);
	peek_free(process.peek);
}

/* What the kernel half has copied: a code object, its name, its file, and nothing of its lines. */
static int recall(void *arg, const struct kept_key *key, struct kept_objects *ret_kept)
{
	struct kept_objects *kept = arg;

	if (key->lang != LANG_PYTHON || key->id[1] != kept->piece[0].va)
		return -ENOENT;
	*ret_kept = *kept;
	return 0;
}

static void keep_text(struct kept_piece *piece, u64 va, const char *text)
{
	u8 object[256];

	make_text(object, text, strlen(text), 1, true);
	piece->va = va;
	memcpy(piece->bytes, object, sizeof(piece->bytes));
}

TEST(python_names_code_that_is_gone_by_what_was_kept_of_it)
{
	struct kept_objects kept = { .piece[0].va = 0x1000 };
	struct lang_process process = { .is_gone = true, .recall = recall, .arg = &kept };
	u64 frame[2] = { python_cookie(0x3000, 0x2000, 7), 0x1000 };
	const struct window_frame *found;
	struct python_layout l = layout_of(12);
	struct runtime_slot slot = { 0 };
	struct named names;
	void *state = NULL;

	EQ(attach(PYTHON_VERSION(12), &slot, &state), 0);
	named_init(&names);
	memcpy(kept.piece[0].bytes + l.code_line, &(u32){ 7 }, 4);
	put(kept.piece[0].bytes, l.code_file, 0x3000);
	put(kept.piece[0].bytes, l.code_name, 0x2000);
	put(kept.piece[0].bytes, l.code_qualname, 0x4000);
	put(kept.piece[0].bytes, l.code_lines, 0x5000);
	keep_text(&kept.piece[1], 0x4000, "Gone.method");
	keep_text(&kept.piece[2], 0x3000, "gone.py");
	found = named_find(&names, &python_ops, state, &process, frame, 0);
	STREQ(found->lines[0].function, "Gone.method");
	STREQ(found->lines[0].file, "gone.py");
	EQ(found->lines[0].line, 7);
	/* Another object was there when it was met. */
	frame[0] = 0;
	STREQ(named_find(&names, &python_ops, state, &process, frame, 0)->lines[0].function,
	      "[cpython frame without a name]");
	EQ(names.unnamed, 1);
	named_done(&names);
	python_ops.detach(state);
}

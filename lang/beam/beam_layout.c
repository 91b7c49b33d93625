// SPDX-License-Identifier: Apache-2.0
#include "lang/beam/beam_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lang/lang.h"

#define DATA_BYTES_MAX (4u << 20)	/* that are looked through */
#define CANDIDATES_MAX 8192		/* words there that may be what is looked for */
#define PIECE_WORDS 512
#define LOOK_WORDS 7
#define GLOBAL_BYTES_MAX (256u << 10)
#define LOOP_BYTES 32			/* how it begins */
#define STOPS_MIN 4			/* fragments that go back to a process's stack */

/*
 * Values of libc for a thread (pthread_getspecific()), from its pthread_t on, which is the thread pointer on x86-64:
 * see lang/python/python_thread.c.
 */
#define GLIBC_FIRST 0x310
#define GLIBC_KEYS 32
#define GLIBC_SELF 0x10
#define MUSL_VALUES 0x80
#define MUSL_KEYS 128

/* Is it what is looked for, by one word of the data? va is that of the word. */
typedef bool look(void *arg, u64 va, const u64 words[LOOK_WORDS]);

struct search {
	const struct lang_process *process;
	u64 found_va;
	u32 candidates;
};

/* Looks at all words of the program's data, with those that follow. */
static int search_data(struct search *s, const struct beam_facts *facts, u64 bias, look *is_it)
{
	u64 words[PIECE_WORDS + LOOK_WORDS - 1], end_va = facts->data_end_ea + bias;
	u64 va = (facts->data_ea + bias + 7) & ~7ull;

	if (end_va - va > DATA_BYTES_MAX)
		end_va = va + DATA_BYTES_MAX;
	for (; va < end_va && !s->found_va; va += PIECE_WORDS * 8) {
		u64 count = (end_va - va) / 8;

		count = count < PIECE_WORDS + LOOK_WORDS - 1 ? count : PIECE_WORDS + LOOK_WORDS - 1;
		if (count < LOOK_WORDS || lang_read(s->process, va, words, count * 8) < 0)
			continue;
		for (u64 i = 0; i + LOOK_WORDS <= count && !s->found_va && s->candidates < CANDIDATES_MAX; i++)
			if (is_it(s, va + i * 8, &words[i]))
				s->found_va = va + i * 8;
	}
	return s->found_va ? 0 : -EAGAIN;
}

static bool may_be_address(u64 word)
{
	return word >= 4096 && !(word >> 47);
}

/* u32 version (1), u32 action (0 to 2) | the entry that was changed, or 0 | the first */
static bool is_descriptor(void *arg, u64 va, const u64 words[LOOK_WORDS])
{
	struct search *s = arg;

	if ((u32)words[0] != 1 || words[0] >> 32 > 2 || !may_be_address(words[2]))
		return false;
	s->candidates++;
	return beam_modules_is_entry(s->process, words[2]);
}

/* Is it a thread's structure of libc? */
static bool is_thread(const struct lang_process *process, u64 va)
{
	return may_be_address(va) && !(va & 7) && lang_read_word(process, va) == va;
}

static bool is_first_scheduler(const struct lang_process *process, const u64 words[BEAM_SCHEDULER_WORDS])
{
	return may_be_address(words[BEAM_SCHEDULER_REGISTERS]) && words[BEAM_SCHEDULER_REGISTERS] % 64 == 0 &&
	       (u32)words[BEAM_SCHEDULER_TYPE] == 0 && words[BEAM_SCHEDULER_NUMBER] == 1 &&
	       words[BEAM_SCHEDULER_DIRTY] == 0 && is_thread(process, words[BEAM_SCHEDULER_THREAD]);
}

static bool leads_to_scheduler(void *arg, u64 va, const u64 words[LOOK_WORDS])
{
	u64 scheduler[BEAM_SCHEDULER_WORDS];
	struct search *s = arg;

	if (!may_be_address(words[0]) || words[0] % 64)
		return false;
	s->candidates++;
	return lang_read(s->process, words[0], scheduler, sizeof(scheduler)) == 0 &&
	       is_first_scheduler(s->process, scheduler);
}

static int find_value(const struct lang_process *process, u64 thread, u64 scheduler, struct beam_slot *slot)
{
	u64 values;
	int at;

	if (lang_read_word(process, thread + GLIBC_SELF) == thread) {
		at = lang_find_word(process, thread + GLIBC_FIRST, 2 * GLIBC_KEYS, scheduler);
		slot->scheduler = GLIBC_FIRST + 8 * (u64)at;
		return at < 0 ? -EOPNOTSUPP : 0;
	}
	values = lang_read_word(process, thread + MUSL_VALUES);
	at = values ? lang_find_word(process, values, MUSL_KEYS, scheduler) : -1;
	slot->scheduler = MUSL_VALUES;
	slot->has_block = 1;
	slot->scheduler_in_block = 8 * (u64)at;
	return at < 0 ? -EOPNOTSUPP : 0;
}

/* Does a call of a function by its address end before that one? */
static bool is_behind_call(const struct lang_process *process, const struct beam_facts *facts, u64 bias, u64 va)
{
	u8 call = 0;

	return va >= facts->text_ea + bias + 5 && va < facts->text_end_ea + bias &&
	       lang_read(process, va - 5, &call, 1) == 0 && call == 0xe8;
}

/*
 * What the loop of schedulers returns to: its frame began with an address on which it then made room for its registers,
 * and aligned that. Below the address may be what was there before.
 */
static int find_root(const struct lang_process *process, const struct beam_facts *facts, u64 bias, u64 registers,
		     struct beam_slot *slot)
{
	slot->root_va = 0;
	for (u32 i = 0; i < BEAM_ROOTS; i++) {
		u64 word = lang_read_word(process, registers + slot->root + BEAM_ROOTS_APART * i);

		if (is_behind_call(process, facts, bias, word))
			slot->root_va = word;
	}
	return slot->root_va ? 0 : -EOPNOTSUPP;
}

static int find_scheduler(const struct lang_process *process, const struct beam_facts *facts, u64 bias,
			  struct beam_slot *slot)
{
	struct search s = { .process = process };
	u64 words[BEAM_SCHEDULER_WORDS], scheduler;
	int r = search_data(&s, facts, bias, leads_to_scheduler);

	if (r < 0)
		return r;
	scheduler = lang_read_word(process, s.found_va);
	if (lang_read(process, scheduler, words, sizeof(words)) < 0)
		return -EAGAIN;
	r = find_value(process, words[BEAM_SCHEDULER_THREAD], scheduler, slot);
	return r < 0 ? r : find_root(process, facts, bias, words[BEAM_SCHEDULER_REGISTERS], slot);
}

/* sub rsp, BYTES; and rsp, -64; mov [rdi], rsp; lea rbx, [rsp + REGISTERS] */
static int read_loop(const struct lang_process *process, u64 va, struct beam_slot *slot)
{
	static const u8 align[] = { 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89, 0x27, 0x48, 0x8d };
	u8 code[LOOP_BYTES];
	u32 bytes, registers;
	int r = lang_read(process, va, code, sizeof(code));

	if (r < 0)
		return r;
	if (code[0] != 0x48 || code[1] != 0x81 || code[2] != 0xec || memcmp(code + 7, align, sizeof(align)) != 0 ||
	    (code[16] != 0x5c && code[16] != 0x9c) || code[17] != 0x24)
		return -EOPNOTSUPP;
	memcpy(&bytes, code + 3, sizeof(bytes));
	memcpy(&registers, code + 18, sizeof(registers));
	slot->registers = code[16] == 0x5c ? code[18] : registers;
	/* The address that it returns to is a multiple of 16, and 8. */
	slot->root = bytes + (24 - bytes % 16) % 16;
	return slot->registers > 4096 || bytes > 1u << 20 ? -EOPNOTSUPP : 0;
}

/* mov rsp, [r13 + STOP]: all fragments say the same. */
static int find_stop(const struct lang_process *process, const struct beam_module *global, struct beam_slot *slot)
{
	u64 bytes = global->end_va - global->start_va;
	_cleanup_(freep) u8 *code = bytes <= GLOBAL_BYTES_MAX ? malloc(bytes) : NULL;
	u32 count = 0;

	if (!code || lang_read(process, global->start_va, code, bytes) < 0)
		return -EOPNOTSUPP;
	for (u64 i = 0; i + 4 <= bytes; i++) {
		if (code[i] != 0x49 || code[i + 1] != 0x8b || code[i + 2] != 0x65)
			continue;
		if (count++ && slot->stop != code[i + 3])
			return -EOPNOTSUPP;
		slot->stop = code[i + 3];
	}
	return count < STOPS_MIN || slot->stop % 8 || slot->stop > 127 ? -EOPNOTSUPP : 0;
}

static int find_code(const struct lang_process *process, struct beam_modules *modules, struct beam_slot *slot)
{
	const struct beam_module *global;
	struct beam_place loop;
	int r;

	beam_modules_look(modules, process);
	global = beam_modules_at(modules, modules->global_va);
	if (!modules->normal_exit_va || !global)
		return -EAGAIN;
	slot->global_va = global->start_va;
	slot->global_end_va = global->end_va;
	slot->normal_exit_va = modules->normal_exit_va;
	slot->has_frame_pointers = modules->has_frame_pointers;
	r = find_stop(process, global, slot);
	if (r < 0)
		return r;
	if (beam_modules_named(modules, process, global->start_va, "global::process_main", &loop) < 0)
		return -EOPNOTSUPP;
	slot->loop_va = loop.start_va;
	slot->loop_end_va = loop.end_va;
	return read_loop(process, loop.start_va, slot);
}

/*
 * The table of processes (erl_ptab.h: ErtsPTabReadOnlyData): its entries, -- | how many, a power of two | that less 1 |
 * lines of the cache less 1 | 7 | u32 3, u32 bits of lines. That of ports is alike, but for the tag of what is in it.
 */
static bool is_table(void *arg, u64 va, const u64 words[LOOK_WORDS])
{
	u64 count = (u32)words[2], lines = count / 8, entry;
	struct search *s = arg;

	if (!may_be_address(words[0]) || count < 1024 || count & (count - 1) || words[3] != count - 1 ||
	    words[4] != lines - 1 || words[5] != 7 || words[6] != (3 | (u64)__builtin_ctzll(lines) << 32))
		return false;
	s->candidates++;
	/* The first process is always there. */
	entry = lang_read_word(s->process, words[0]);
	return may_be_address(entry) && (lang_read_word(s->process, entry) & 15) == 3;
}

int beam_layout_line_bits(const struct lang_process *process, const struct beam_facts *facts, u64 bias)
{
	struct search s = { .process = process };
	int r = search_data(&s, facts, bias, is_table);

	return r < 0 ? r : (int)(lang_read_word(process, s.found_va + 48) >> 32);
}

int beam_layout_find(const struct lang_process *process, const struct beam_facts *facts, u64 bias,
		     struct beam_modules *modules, struct beam_slot *ret_slot)
{
	struct search s = { .process = process };
	struct beam_slot slot = { 0 };
	int r = search_data(&s, facts, bias, is_descriptor);

	if (r < 0)
		return r;
	modules->descriptor_va = s.found_va;
	r = find_code(process, modules, &slot);
	if (r == 0)
		r = find_scheduler(process, facts, bias, &slot);
	if (r == 0)
		*ret_slot = slot;
	return r;
}

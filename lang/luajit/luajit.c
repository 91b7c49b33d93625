// SPDX-License-Identifier: Apache-2.0
/* LuaJIT 2.1, wherever it is linked into. */
#include "lang/luajit/luajit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lang.h"
#include "lang/luajit/luajit.skel.h"
#include "lang/luajit/luajit_file.h"
#include "lang/luajit/luajit_names.h"
#include "lang/luajit/luajit_trace.h"
#include "lang/memory.h"

#define PAGE 4096u

struct luajit {
	struct memory memory;
};

static const void *object(size_t *ret_bytes)
{
	return luajit_bpf__elf_bytes(ret_bytes);
}

static int attach(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		  struct runtime_slot *slot, void **ret_state)
{
	struct luajit_facts facts;
	struct luajit_slot words;
	struct luajit *luajit;

	memcpy(&facts, file->facts, sizeof(facts));
	if (!facts.has_loop)
		return -EOPNOTSUPP;	/* 2.0, addresses of 32 bits, or not built as those we know */
	words = (struct luajit_slot){
		.running = facts.running, .number = facts.number, .traces = facts.traces,
	};
	luajit = calloc(1, sizeof(*luajit));
	if (!luajit)
		return -ENOMEM;
	memcpy(slot->word, &words, sizeof(words));
	*ret_state = luajit;
	return 0;
}

static void detach(void *state)
{
	free(state);
}

/* An area of machine code begins with the address of the one before, and its size (lj_mcode.c: MCLink). */
static bool owns(void *state, const struct lang_process *process, u64 start_va, u64 end_va)
{
	u64 head[2];

	return !lang_read(process, start_va, head, sizeof(head)) && head[0] % PAGE == 0 &&
	       !(head[0] >> LUAJIT_TAG_SHIFT) && head[1] && head[1] % PAGE == 0 && head[1] <= end_va - start_va;
}

/* What cannot be read of a caller, which may be gone by now, leaves a function without a name. */
static void name_by_caller(struct luajit *luajit, u64 caller_va, char ret_name[LUAJIT_NAME_MAX])
{
	ret_name[0] = 0;
	if (caller_va)
		luajit_names_called(&luajit->memory, caller_va, ret_name);
	if (memory_err(&luajit->memory))
		ret_name[0] = 0;
	luajit->memory.err = 0;
}

/* A function of Lua, as tracebacks call it: without a name, by where it is. */
static int name_function(struct luajit *luajit, u64 pc_va, const char *name, struct lang_names *names)
{
	char file[LANG_TEXT_MAX + 1], text[LANG_TEXT_MAX + 64];
	struct luajit_place place;
	u32 first, line;
	bool is_chunk;

	if (!luajit_names_place(&luajit->memory, pc_va, &place))
		return -ENOENT;
	luajit_names_file(&luajit->memory, place.proto, file, sizeof(file));
	first = luajit_names_first_line(&luajit->memory, place.proto);
	line = luajit_names_line(&luajit->memory, &place);
	is_chunk = luajit_names_is_chunk(&luajit->memory, place.proto);
	if (memory_err(&luajit->memory))
		return -ENOENT;
	if (is_chunk)
		(void)snprintf(text, sizeof(text), "main chunk");
	else if (name[0])
		(void)snprintf(text, sizeof(text), "%s", name);
	else
		(void)snprintf(text, sizeof(text), "function <%s:%u>", file, first);
	lang_names_line(names, text, file, line);
	return 0;
}

/* One frame: a function of Lua at an instruction, or one in C (0), by the instruction that has called it. */
static int name_frame(struct luajit *luajit, u64 pc_va, u64 caller_va, struct lang_names *names)
{
	char name[LUAJIT_NAME_MAX];

	name_by_caller(luajit, caller_va, name);
	if (pc_va)
		return name_function(luajit, pc_va, name, names);
	lang_names_line(names, name[0] ? name : "[C]", "", 0);
	return 0;
}

/* A place in a trace: as many lines as there are calls that it goes through. */
static int name_trace(struct luajit *luajit, u64 caller_va, u64 second, struct lang_names *names)
{
	u64 trace = second >> LUAJIT_PLACE_BITS << 3;
	struct luajit_inlined functions[LUAJIT_INLINE_MAX];
	u32 count = luajit_trace_functions(&luajit->memory, trace, (u32)(second & LUAJIT_PLACE_MASK), functions);
	int r = -ENOENT;

	if (count)
		functions[count - 1].caller_pc = caller_va;
	for (u32 i = 0; i < count; i++)
		r = name_frame(luajit, functions[i].pc, functions[i].caller_pc, names);
	return r;
}

static int resolve(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names)
{
	u64 first = frame[0] & FRAME_LOW_MASK;
	struct luajit *luajit = state;

	memory_begin(&luajit->memory, process);
	if (first & LUAJIT_TRACE)
		return name_trace(luajit, (first & (LUAJIT_NATIVE - 1)) << 2, frame[1], names);
	return name_frame(luajit, first & LUAJIT_NATIVE ? 0 : first << 2, frame[1], names);
}

const struct lang_ops luajit_ops = {
	.look = { "luajit", "LuaJIT", 0x8fb2d9, "blue" },
	.tracer = "luajit",
	.object = object,
	.attach = attach,
	.detach = detach,
	.owns = owns,
	.resolve = resolve,
};

// SPDX-License-Identifier: Apache-2.0
#include "lang/python/python.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lang/lang.h"
#include "lang/python/python.skel.h"
#include "lang/python/python_codes.h"
#include "lang/python/python_file.h"
#include "lang/python/python_lines.h"
#include "lang/python/python_text.h"
#include "lang/python/python_thread.h"

#define LINES_BYTES_MAX (256u << 10)	/* of a function's line table; instructions behind it have no line */
#define CODE_BYTES_MAX 256		/* of a code object, as far as its names */

struct python {
	struct python_layout layout;
	u64 code_type_va;	/* 0: not known */
	u8 *lines;		/* room for a line table */
	struct python_codes codes;
	bool shows_awaiting;	/* tasks that await the running one */
};

static const void *object(size_t *ret_bytes)
{
	return python_bpf__elf_bytes(ret_bytes);
}

static void fill_slot(const struct python_layout *l, u64 runtime_va, struct python_slot *slot)
{
	slot->frames = l->frames;
	slot->current_va = l->current ? runtime_va + l->current : 0;
	slot->thread_id = l->thread_id;
	slot->top = l->top;
	slot->cframe_frame = l->cframe_frame;
	slot->cframe_previous = l->cframe_previous;
	slot->frame_block = l->frames == PYTHON_OBJECTS ? l->frame_previous : 0;
	slot->frame_previous = l->frame_previous - slot->frame_block;
	slot->frame_code = l->frame_code - slot->frame_block;
	slot->frame_instruction = l->frame_instruction - slot->frame_block;
	slot->frame_owner = l->frame_owner;
	slot->code_block = l->code_line & ~7ull;
	slot->code_line = l->code_line - slot->code_block;
	slot->code_file = l->code_file - slot->code_block;
	slot->code_name = l->code_name - slot->code_block;
	slot->code_qualname = l->code_qualname;
	slot->code_lines = l->code_lines;
	slot->code_start = l->code_start;
	slot->code_mask = l->frames == PYTHON_SHIMS ? ~3ull : ~0ull;
	slot->instruction_shift = l->version < PYTHON_VERSION(10);
	slot->copies = l->free_threaded ? l->code_copies : 0;
	slot->frame_copy = l->frame_copy;
}

/* Where the kernel half finds the tasks that await the running one, if it is to show them. */
static void fill_awaiting(const struct python *python, const struct python_asyncio *a, struct python_slot *slot)
{
	const struct python_layout *l = &python->layout;

	if (!python->shows_awaiting || !l->generator_frame || !a->running_task)
		return;
	slot->task_awaited_by = a->task_awaited_by;
	slot->task_is_task = a->task_is_task;
	slot->task_has_set = a->task_has_set;
	slot->task_coroutine = a->task_coroutine;
	slot->generator_frame = l->generator_frame;
	slot->frame_stack = l->frame_stack;
	slot->awaited_below = l->layout_version < PYTHON_VERSION(15) ? 8 : 16;
	slot->object_type = l->object_type;
	slot->running_task = a->running_task;
}

static void detach(void *state)
{
	struct python *python = state;

	if (python) {
		python_codes_done(&python->codes);
		free(python->lines);
	}
	free(python);
}
DEFINE_CLEANUP(void *, detach)

static int attach(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		  struct runtime_slot *slot, void **ret_state)
{
	_cleanup_(detachp) void *state = NULL;
	struct python_facts facts;
	struct python_slot words = { 0 };
	struct python *python;
	u64 runtime_va;
	int r;

	memcpy(&facts, file->facts, sizeof(facts));
	if (python_facts_are_part(&facts))
		return -EAGAIN;		/* the rest is in another file */
	if (!facts.layout.layout_version)
		return -EOPNOTSUPP;	/* newer than all we know, and not like them */
	runtime_va = facts.runtime_ea + place->bias;
	r = python_thread_find(process, &facts.layout, runtime_va, REG_RA == 30 ? EM_AARCH64 : EM_X86_64, &words);
	if (r < 0)
		return r;
	state = python = calloc(1, sizeof(*python));
	if (!python)
		return -ENOMEM;
	python_codes_init(&python->codes);
	python->layout = facts.layout;
	python->shows_awaiting = LANG_WANTS(process->wishes, python_await_chain);
	python->code_type_va = facts.code_type_ea ? facts.code_type_ea + place->bias : 0;
	python->lines = malloc(LINES_BYTES_MAX);
	if (!python->lines)
		return -ENOMEM;
	fill_slot(&facts.layout, runtime_va, &words);
	fill_awaiting(python, &facts.asyncio, &words);
	memcpy(slot->word, &words, sizeof(words));
	*ret_state = TAKE(state);
	return facts.layout.version != facts.layout.layout_version;
}

/* The module _asyncio may come later. */
static void add_file(void *state, const struct lang_file *file, const struct lang_place *place,
		     struct runtime_slot *slot)
{
	struct python_facts facts;

	memcpy(&facts, file->facts, sizeof(facts));
	fill_awaiting(state, &facts.asyncio, (struct python_slot *)slot->word);
}

/* A code object, as far as its names. */
struct code {
	u64 file_va, name_va, qualname_va, lines_va;
	u32 line;
};

static u64 word_at(const u8 *bytes, u64 offset)
{
	u64 word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* -ESTALE if there is something else by now. */
static int read_code(const struct python *python, const struct lang_process *process, u64 va, u64 cookie,
		     struct code *ret_code)
{
	const struct python_layout *l = &python->layout;
	u8 bytes[CODE_BYTES_MAX];
	struct code code;
	int r;

	if (l->code_lines > sizeof(bytes) - 8 || l->code_qualname > sizeof(bytes) - 8 ||
	    l->code_name > sizeof(bytes) - 8 || l->code_file > sizeof(bytes) - 8 || l->object_type > sizeof(bytes) - 8)
		return -EBADMSG;
	r = lang_read(process, va, bytes, l->code_lines + 8);
	if (r < 0)
		return r;
	code.file_va = word_at(bytes, l->code_file);
	code.name_va = word_at(bytes, l->code_name);
	code.qualname_va = word_at(bytes, l->code_qualname);
	code.lines_va = word_at(bytes, l->code_lines);
	memcpy(&code.line, bytes + l->code_line, sizeof(code.line));
	if (python->code_type_va && word_at(bytes, l->object_type) != python->code_type_va)
		return -ESTALE;
	if (python_cookie(code.file_va, code.name_va, code.line) != cookie)
		return -ESTALE;
	*ret_code = code;
	return 0;
}

static u32 line_of(const struct python *python, const struct python_known_code *code, u32 instruction)
{
	if (instruction == PYTHON_INSTRUCTION_NONE || !code->lines)
		return code->line;
	return python_line((u32)python->layout.layout_version, code->lines, code->lines_bytes, code->line, instruction);
}

static void name_known(const struct python *python, const struct python_known_code *code, u64 word,
		       struct lang_names *names)
{
	u32 instruction = (u32)(word >> PYTHON_COOKIE_BITS) & PYTHON_INSTRUCTION_MASK;

	lang_names_line(names, code->function, code->file, line_of(python, code, instruction));
}

/* Where one of its parts cannot be read now, it may be later. */
static int name_code(struct python *python, const struct lang_process *process, const u64 frame[2],
		     struct lang_names *names)
{
	const struct python_layout *l = &python->layout;
	char function[LANG_TEXT_MAX + 1], file[LANG_TEXT_MAX + 1];
	struct python_known_code known = { .function = function, .file = file };
	u64 cookie = frame[0] & PYTHON_COOKIE_MASK;
	struct code code;
	size_t bytes = 0;
	bool has_file;
	int r;

	r = read_code(python, process, frame[1], cookie, &code);
	if (r < 0)
		return r;
	lang_expect(process, (u64[]){ code.qualname_va, code.file_va, code.lines_va }, 3);
	r = python_text_read(process, l, code.qualname_va, function);
	if (r < 0)
		return r;
	has_file = python_text_read(process, l, code.file_va, file) == 0;
	if (!has_file)
		file[0] = 0;
	known.line = code.line;
	if (python_bytes_read(process, l, code.lines_va, python->lines, LINES_BYTES_MAX, &bytes) == 0)
		known.lines = python->lines;
	known.lines_bytes = (u32)bytes;
	name_known(python, &known, frame[0], names);
	if (has_file && known.lines && !process->kept)
		python_codes_add(&python->codes, frame[1], cookie, &known);
	return 0;
}

/* Of the code object as it is, or as it was when it was first met. */
static int resolve(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names)
{
	const struct python *python = state;
	const struct python_known_code *known =
		python_codes_find(&python->codes, frame[1], frame[0] & PYTHON_COOKIE_MASK);
	struct lang_process then = *process;
	struct kept_objects kept;
	int r;

	if (known) {
		name_known(python, known, frame[0], names);
		return 0;
	}
	r = name_code(state, process, frame, names);
	if (r == 0 || lang_recall(process, LANG_PYTHON, frame[0] & PYTHON_COOKIE_MASK, frame[1], &kept) < 0)
		return r;
	then.kept = &kept;
	return name_code(state, &then, frame, names);
}

const struct lang_ops python_ops = {
	.look = { "cpython", "Python", 0x6d9eeb, "blue" },
	.tracer = "python",
	.object = object,
	.attach = attach,
	.detach = detach,
	.add_file = add_file,
	.resolve = resolve,
};

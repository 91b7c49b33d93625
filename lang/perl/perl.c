// SPDX-License-Identifier: Apache-2.0
#include "lang/perl/perl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lang.h"
#include "lang/memory.h"
#include "lang/perl/perl.skel.h"
#include "lang/perl/perl_file.h"
#include "lang/perl/perl_names.h"

/*
 * Values of libc for a thread (pthread_getspecific()), from the thread pointer of x86-64 on. glibc: 32 pairs of
 * (sequence, value) for keys below 32, then the addresses of 31 more such blocks (nptl/descr.h: specific_1stblock,
 * specific; unchanged since 2.4).
 */
#define VALUES 0x310
#define VALUE_BLOCKS 0x510
#define KEYS_IN_BLOCK 32
#define KEYS_MAX 1024

struct perl {
	const struct perl_layout *layout;
	bool has_threads;
	struct memory memory;
};

static const void *object(size_t *ret_bytes)
{
	return perl_bpf__elf_bytes(ret_bytes);
}

/* Where the kernel half finds the interpreter of a thread: -EAGAIN if there is none yet. */
static int fill_value(const struct lang_process *process, const struct perl_facts *facts, u64 bias,
		      struct perl_slot *slot)
{
	u64 current;
	u32 key;
	int r = lang_read(process, facts->current_ea + bias, &current, sizeof(current));

	if (r >= 0)
		r = lang_read(process, facts->key_ea + bias, &key, sizeof(key));
	if (r < 0)
		return r;
	if (!current)
		return -EAGAIN;
	if (key >= KEYS_MAX)
		return -EOPNOTSUPP;
	slot->has_threads = 1;
	slot->is_in_block = key >= KEYS_IN_BLOCK;
	slot->value = VALUES + key * 16ull + 8;
	if (slot->is_in_block) {
		slot->value = VALUE_BLOCKS + key / KEYS_IN_BLOCK * 8ull;
		slot->value_in_block = key % KEYS_IN_BLOCK * 16ull + 8;
	}
	return 0;
}

static struct perl_code moved(const struct lang_mark *mark, u64 bias)
{
	return mark->end_ea ? (struct perl_code){ mark->start_ea + bias, mark->end_ea + bias } :
			      (struct perl_code){ 0 };
}

static int fill_slot(const struct lang_process *process, const struct perl_facts *facts,
		     const struct perl_layout *layout, u64 bias, struct perl_slot *ret_slot)
{
	*ret_slot = (struct perl_slot){
		.op = facts->op_ea + bias, .cop = facts->cop_ea + bias, .info = facts->info_ea + bias,
		.context_bytes = layout->context_bytes, .sub_code = layout->sub_code / 8,
		.eval_name = layout->eval_name / 8, .eval_env = layout->eval_env / 8, .info_type = layout->info_type,
		.callers = { moved(&facts->callers[0], bias), moved(&facts->callers[1], bias) },
		.text = moved(&facts->text, bias),
	};
	if (!facts->key_ea)
		return 0;
	ret_slot->op = layout->op;
	ret_slot->cop = layout->cop;
	ret_slot->info = layout->info;
	return fill_value(process, facts, bias, ret_slot);
}

static int attach(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		  struct runtime_slot *slot, void **ret_state)
{
	const struct perl_layout *layout;
	struct perl_facts facts;
	struct perl_slot words;
	struct perl *perl;
	int r;

	memcpy(&facts, file->facts, sizeof(facts));
	layout = perl_layout_of((u32)facts.version);
	if (!layout || !facts.has_loop)
		return -EOPNOTSUPP;	/* another version than those we know, or not built as they are */
	r = fill_slot(process, &facts, layout, place->bias, &words);
	if (r < 0)
		return r;
	perl = calloc(1, sizeof(*perl));
	if (!perl)
		return -ENOMEM;
	perl->layout = layout;
	perl->has_threads = words.has_threads;
	memcpy(slot->word, &words, sizeof(words));
	*ret_state = perl;
	return 0;
}

static void detach(void *state)
{
	free(state);
}

/* What the kernel half has copied of a frame's texts; an empty one was not, or makes no sense. */
struct kept_texts {
	char file[KEPT_PIECE_BYTES + 1], name[KEPT_PIECE_BYTES + 1];
};

static void copy_text(const struct kept_piece *piece, char ret_text[KEPT_PIECE_BYTES + 1])
{
	size_t len = strnlen((const char *)piece->bytes, KEPT_PIECE_BYTES);

	memcpy(ret_text, piece->bytes, len);
	ret_text[len] = 0;
}

static void recall(const struct perl *perl, const u64 frame[2], struct kept_texts *ret_texts)
{
	struct kept_objects kept;

	*ret_texts = (struct kept_texts){ 0 };
	if (lang_recall(perl->memory.process, LANG_PERL, frame[0] & FRAME_LOW_MASK, frame[1], &kept) < 0)
		return;
	if (kept.piece[0].va && perl->has_threads)
		copy_text(&kept.piece[0], ret_texts->file);
	else if (kept.piece[0].va && !perl_names_kept(kept.piece[0].bytes, KEPT_PIECE_BYTES, ret_texts->file))
		ret_texts->file[0] = 0;
	if (kept.piece[1].va)
		copy_text(&kept.piece[1], ret_texts->name);
}

static void name_file(struct perl *perl, const u64 frame[2], const struct kept_texts *kept,
		      char ret_file[LANG_TEXT_MAX + 1])
{
	u64 file_va = (frame[1] >> PERL_LINE_BITS & PERL_ADDRESS_MASK) << 3;

	ret_file[0] = 0;
	if (kept->file[0])
		memcpy(ret_file, kept->file, sizeof(kept->file));
	else if (file_va && perl->has_threads)
		memory_text(&perl->memory, file_va, ret_file, LANG_TEXT_MAX + 1);
	else if (file_va && perl_names_file(&perl->memory, file_va, ret_file) < 0)
		ret_file[0] = 0;
	perl->memory.err = 0;
}

static int name_function(struct perl *perl, u32 kind, u64 object_va, const struct kept_texts *kept,
			 char ret_text[LANG_TEXT_MAX + 1])
{
	char name[LANG_TEXT_MAX + 1];

	switch (kind) {
	case PERL_SUB_GLOB:
		return perl_names_glob(perl->layout, &perl->memory, object_va, ret_text);
	case PERL_SUB_CODE:
		return perl_names_code(perl->layout, &perl->memory, object_va, ret_text);
	case PERL_REQUIRE:
		memcpy(name, kept->name, sizeof(kept->name));
		if (!name[0])
			memory_text(&perl->memory, memory_u64(&perl->memory, object_va + PERL_SV_TEXT), name,
				    sizeof(name));
		(void)snprintf(ret_text, LANG_TEXT_MAX + 1, "require %.4000s", name);
		return 0;
	default:
		(void)snprintf(ret_text, LANG_TEXT_MAX + 1, "%s", kind == PERL_PROGRAM ? "main" :
			       kind == PERL_EVAL_TEXT ? "eval '...'" : "eval {...}");
		return 0;
	}
}

static int resolve(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names)
{
	char function[LANG_TEXT_MAX + 1], file[LANG_TEXT_MAX + 1];
	u64 object_va = (frame[0] >> PERL_KIND_BITS & PERL_ADDRESS_MASK) << 3;
	struct perl *perl = state;
	struct kept_texts kept;
	int r;

	memory_begin(&perl->memory, process);
	recall(perl, frame, &kept);
	name_file(perl, frame, &kept, file);
	r = name_function(perl, (u32)frame[0] & PERL_KIND_MASK, object_va, &kept, function);
	if (r < 0)
		return r;
	lang_names_line(names, function, file, file[0] ? (u32)frame[1] & PERL_LINE_MASK : 0);
	return 0;
}

const struct lang_ops perl_ops = {
	.look = { "perl", "Perl", 0x7bbfb5, "magenta" },
	.tracer = "perl",
	.object = object,
	.attach = attach,
	.detach = detach,
	.resolve = resolve,
};

// SPDX-License-Identifier: Apache-2.0
#include "lang/ruby/ruby.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lang/lang.h"
#include "lang/ruby/ruby.skel.h"
#include "lang/ruby/ruby_copy.h"
#include "lang/ruby/ruby_file.h"
#include "lang/ruby/ruby_names.h"
#include "lang/ruby/ruby_object.h"

/* glibc: a thread's blocks of variables, by the number of their library (tcbhead_t, dtv_t); before 2.7's own. */
#define VECTOR_AT 8
#define VECTOR_ENTRY 16
#define MODULES_MAX 4096

/* Ruby 2.7: of rb_execution_context_t and rb_thread_t. */
#define CONTEXT_THREAD 56
#define THREAD_ID 72

/* struct rb_iseq_constant_body, rb_method_entry_t, rb_method_definition_t: the same in all versions. */
#define BODY_PATH 64
#define BODY_BASE_LABEL 72
#define BODY_LABEL 80
#define BODY_TYPE_EVAL 6
#define INSNS_INFO_PARENT 48	/* from insns_info on */
#define METHOD_DEFINITION 16
#define METHOD_OWNER 32
#define DEFINITION_NAME 32

#define EVALS_MAX 8		/* in each other */
#define BLOCK_IN "block in "
#define YJIT_OLDEST RUBY_VERSION(3, 1)

struct ruby {
	struct ruby_names names;
	u32 version;
	struct memory memory;
};

static const void *object(size_t *ret_bytes)
{
	return ruby_bpf__elf_bytes(ret_bytes);
}

/* Where the kernel half finds the execution context: -EAGAIN while the loader has not yet filled in what tells. */
static int fill_context(const struct lang_process *process, const struct ruby_facts *facts, u64 bias,
			struct ruby_slot *slot)
{
	u64 pair[2];
	int r;

	slot->context = RUBY_CONTEXT_STATIC;
	slot->context_at = facts->access_at;
	switch (facts->access) {
	case RUBY_ACCESS_GLOBAL:
		slot->context = RUBY_CONTEXT_GLOBAL;
		slot->context_at = facts->access_at + bias;
		slot->context_thread = CONTEXT_THREAD;
		slot->thread_id = THREAD_ID;
		return 0;
	case RUBY_ACCESS_OFFSET:
		return 0;
	case RUBY_ACCESS_WORD:
		r = lang_read(process, facts->access_at + bias, &slot->context_at, sizeof(slot->context_at));
		return r < 0 ? r : slot->context_at ? 0 : -EAGAIN;
	case RUBY_ACCESS_PAIR:
		r = lang_read(process, facts->access_at + bias, pair, sizeof(pair));
		if (r < 0)
			return r;
		if (!pair[0] || pair[0] > MODULES_MAX)
			return -EAGAIN;
		slot->context = RUBY_CONTEXT_DYNAMIC;
		slot->context_at = pair[1];
		slot->vector = VECTOR_AT;
		slot->vector_at = pair[0] * VECTOR_ENTRY;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static struct ruby_code moved(const struct lang_mark *mark, u64 bias)
{
	if (!mark->end_ea)
		return (struct ruby_code){ 0 };
	return (struct ruby_code){ mark->start_ea + bias, mark->end_ea + bias };
}

static int attach(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		  struct runtime_slot *slot, void **ret_state)
{
	const struct ruby_layout *layout;
	struct ruby_slot words = { 0 };
	struct ruby_facts facts;
	struct ruby *ruby;
	int r;

	memcpy(&facts, file->facts, sizeof(facts));
	layout = ruby_layout_of((u32)facts.version);
	if (!layout || !facts.exec[0].end_ea)
		return -EOPNOTSUPP;	/* another version than those we know, or not built as they are */
	r = fill_context(process, &facts, place->bias, &words);
	if (r < 0)
		return r;
	words.frame_bytes = layout->frame_bytes;
	for (u32 i = 0; i < 2; i++) {
		words.exec[i] = moved(&facts.exec[i], place->bias);
		words.core[i] = moved(&facts.core[i], place->bias);
	}
	words.text = moved(&facts.text, place->bias);
	ruby = calloc(1, sizeof(*ruby));
	if (!ruby)
		return -ENOMEM;
	ruby->version = (u32)facts.version;
	ruby->names = (struct ruby_names){
		.layout = layout, .object_va = facts.object_ea + place->bias,
		.data_va = facts.data.start_ea + place->bias, .data_bytes = facts.data.end_ea - facts.data.start_ea,
	};
	memcpy(slot->word, &words, sizeof(words));
	*ret_state = ruby;
	return 0;
}

static void detach(void *state)
{
	free(state);
}

/* YJIT's; what else a process with Ruby in it generates is followed by the frame pointer, as without this. */
static bool owns(void *state, const struct lang_process *process, u64 start_va, u64 end_va)
{
	return ((const struct ruby *)state)->version >= YJIT_OLDEST;
}

/* The name that a method was defined by: 0, or less. */
static int method_name(struct ruby *ruby, u64 method_va, char ret_text[LANG_TEXT_MAX + 1])
{
	u64 definition = memory_u64(&ruby->memory, method_va + METHOD_DEFINITION);

	return ruby_names_symbol(&ruby->names, &ruby->memory,
				 memory_u64(&ruby->memory, definition + DEFINITION_NAME), ret_text);
}

/* Its class, with the sign before its name; "" if it has none that is known. */
static void method_class(struct ruby *ruby, u64 method_va, char ret_text[LANG_TEXT_MAX + 1])
{
	ret_text[0] = 0;
	ruby->memory.err = 0;
	if ((ruby_flags(&ruby->memory, method_va) & RUBY_IMEMO_MASK) == RUBY_IMEMO_METHOD)
		ruby_names_class(&ruby->names, &ruby->memory, memory_u64(&ruby->memory, method_va + METHOD_OWNER),
				 ret_text);
	ruby->memory.err = 0;
}

/* Puts a text behind another, cut at LANG_TEXT_MAX. */
static void append(char text[LANG_TEXT_MAX + 1], const char *more)
{
	size_t len = strlen(text), left = LANG_TEXT_MAX - len, more_len = strlen(more);

	if (more_len > left)
		more_len = left;
	memcpy(text + len, more, more_len);
	text[len + more_len] = 0;
}

static int name_c_function(struct ruby *ruby, u64 method_va, struct lang_names *names)
{
	char whole[LANG_TEXT_MAX + 1], name[LANG_TEXT_MAX + 1];
	int r;

	if ((ruby_flags(&ruby->memory, method_va) & RUBY_IMEMO_MASK) != RUBY_IMEMO_METHOD)
		return memory_err(&ruby->memory) ?: -ESTALE;
	r = method_name(ruby, method_va, name);
	if (r < 0)
		return r;
	method_class(ruby, method_va, whole);
	append(whole, name);
	lang_names_line(names, whole, "", 0);
	return 0;
}

/*
 * "block in each" becomes "block in Foo#each". A method made by define_method() has the label of the block that it was
 * made of, "block in <class:Foo>": it goes by its own name; so does a block in it.
 */
static void name_in_class(struct ruby *ruby, u64 method_va, char label[LANG_TEXT_MAX + 1], const char *base)
{
	char class[LANG_TEXT_MAX + 1], made[LANG_TEXT_MAX + 1];
	size_t len = strlen(label), base_len = strlen(base);

	if (base_len > len || strcmp(label + len - base_len, base))
		return;
	if (base[0] != '<') {
		label[len - base_len] = 0;
	} else if (!strncmp(label, "block ", 6) && !method_name(ruby, method_va, made)) {
		label[strncmp(label, BLOCK_IN, strlen(BLOCK_IN)) ? strlen(BLOCK_IN) : 0] = 0;
		memcpy(label, BLOCK_IN, strlen(label));
		base = made;
	} else {
		return;
	}
	method_class(ruby, method_va, class);
	append(label, class);
	append(label, base);
}

/* The body of an instruction sequence as it is: -ESTALE if there is another by now. */
static int read_body(struct ruby *ruby, u64 iseq_va, u64 cookie, u8 ret_body[RUBY_BODY_BYTES])
{
	struct memory *memory = &ruby->memory;

	if ((ruby_flags(memory, iseq_va) & RUBY_IMEMO_MASK) != RUBY_IMEMO_ISEQ)
		return memory_err(memory) ?: -ESTALE;
	memory_read(memory, memory_u64(memory, iseq_va + RUBY_ISEQ_BODY), ret_body, RUBY_BODY_BYTES);
	if (memory_err(memory))
		return memory_err(memory);
	return ruby_cookie(ruby_body_word(ret_body, RUBY_BODY_CODE)) == cookie ? 0 : -ESTALE;
}

/* ... or as it was when it was first met. */
static int recall_body(struct ruby *ruby, u64 iseq_va, u64 cookie, u8 ret_body[RUBY_BODY_BYTES])
{
	struct kept_objects kept;

	if (lang_recall(ruby->memory.process, LANG_RUBY, cookie, iseq_va, &kept) < 0 || !kept.piece[0].va)
		return -ESTALE;
	ruby->memory.err = 0;
	memcpy(ret_body, kept.piece[0].bytes, RUBY_BODY_BYTES);
	return 0;
}
_Static_assert(RUBY_BODY_BYTES <= KEPT_PIECE_BYTES, "it is kept as a whole");

/* What eval() runs goes by the name of what it is evaluated in. */
static void find_naming_body(struct ruby *ruby, u8 body[RUBY_BODY_BYTES])
{
	for (u32 i = 0; i < EVALS_MAX && (u32)ruby_body_word(body, 0) == BODY_TYPE_EVAL; i++) {
		u64 parent = ruby_body_word(body, ruby->names.layout->insns_info + INSNS_INFO_PARENT);
		u8 around[RUBY_BODY_BYTES];

		if ((ruby_flags(&ruby->memory, parent) & RUBY_IMEMO_MASK) == RUBY_IMEMO_ISEQ)
			memory_read(&ruby->memory, memory_u64(&ruby->memory, parent + RUBY_ISEQ_BODY), around,
				    sizeof(around));
		else
			break;
		if (memory_err(&ruby->memory))
			break;
		memcpy(body, around, sizeof(around));
	}
	ruby->memory.err = 0;
}

static void name_file(struct ruby *ruby, const u8 body[RUBY_BODY_BYTES], char ret_file[LANG_TEXT_MAX + 1])
{
	u64 path = ruby_body_word(body, BODY_PATH);

	if (ruby_is(&ruby->memory, path, RUBY_ARRAY))
		path = ruby_element(&ruby->memory, path, 0);
	if (ruby_text(&ruby->memory, ruby->names.layout, path, ret_file) < 0)
		ret_file[0] = 0;
	ruby->memory.err = 0;
}

static int name_iseq(struct ruby *ruby, const u64 frame[2], u64 iseq_va, u64 method_va, struct lang_names *names)
{
	char label[LANG_TEXT_MAX + 1], base[LANG_TEXT_MAX + 1], file[LANG_TEXT_MAX + 1];
	const struct ruby_layout *layout = ruby->names.layout;
	u32 instruction = (u32)frame[1] & RUBY_INSTRUCTION_MASK, line;
	struct memory *memory = &ruby->memory;
	u8 body[RUBY_BODY_BYTES];
	int r;

	r = read_body(ruby, iseq_va, frame[0] & RUBY_COOKIE_MASK, body);
	if (r < 0) {
		if (recall_body(ruby, iseq_va, frame[0] & RUBY_COOKIE_MASK, body) < 0)
			return r;
		instruction = RUBY_INSTRUCTION_NONE;	/* its lines are gone */
	}
	name_file(ruby, body, file);
	line = ruby_line(memory, layout, body, instruction);
	memory->err = 0;
	find_naming_body(ruby, body);
	r = ruby_text(memory, layout, ruby_body_word(body, BODY_LABEL), label);
	if (r < 0)
		return r;
	if (method_va && !ruby_text(memory, layout, ruby_body_word(body, BODY_BASE_LABEL), base))
		name_in_class(ruby, method_va, label, base);
	lang_names_line(names, label, file, line);
	return 0;
}

static int resolve(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names)
{
	u64 method_va = (frame[0] >> RUBY_COOKIE_BITS & RUBY_ADDRESS_MASK) << 3;
	u64 iseq_va = (frame[1] >> RUBY_INSTRUCTION_BITS & RUBY_ADDRESS_MASK) << 3;
	struct ruby *ruby = state;

	if (frame[0] >> FRAME_KIND_SHIFT != FRAME_RUNTIME) {
		lang_names_line(names, "(yjit)", "", 0);
		return 0;
	}
	memory_begin(&ruby->memory, process);
	if (!iseq_va)
		return name_c_function(ruby, method_va, names);
	return name_iseq(ruby, frame, iseq_va, method_va, names);
}

const struct lang_ops ruby_ops = {
	.look = { "ruby", "Ruby", 0xe5738a, "red" },
	.tracer = "ruby",
	.object = object,
	.attach = attach,
	.detach = detach,
	.owns = owns,
	.step = ruby_copy_step,
	.resolve = resolve,
};

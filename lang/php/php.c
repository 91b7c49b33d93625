// SPDX-License-Identifier: Apache-2.0
#include "lang/php/php.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lang.h"
#include "lang/memory.h"
#include "lang/php/php.skel.h"
#include "lang/php/php_copy.h"
#include "lang/php/php_file.h"

/* struct _zend_string: two words, its length, the text */
#define STRING_LENGTH 16
#define STRING_TEXT 24
#define JIT_OLDEST PHP_VERSION(8, 0)

struct php {
	u64 file;		/* in a function, in bytes */
	u32 version;
	struct memory memory;
};

static const void *object(size_t *ret_bytes)
{
	return php_bpf__elf_bytes(ret_bytes);
}

static struct php_code moved(const struct lang_mark *mark, u64 bias)
{
	return mark->end_ea ? (struct php_code){ mark->start_ea + bias, mark->end_ea + bias } : (struct php_code){ 0 };
}

static int attach(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		  struct runtime_slot *slot, void **ret_state)
{
	const struct php_layout *layout;
	struct php_facts facts;
	struct php_slot words;
	struct php *php;

	memcpy(&facts, file->facts, sizeof(facts));
	layout = php_layout_of((u32)facts.version);
	if (!layout || !facts.globals_ea || !facts.loop[0].end_ea)
		return -EOPNOTSUPP;	/* another version than those we know, or not built as they are */
	words = (struct php_slot){
		.current = facts.globals_ea + place->bias + layout->current, .file = layout->file,
		.opcodes = layout->opcodes, .caller = moved(&facts.caller, place->bias),
		.loop = { moved(&facts.loop[0], place->bias), moved(&facts.loop[1], place->bias) },
		.text = moved(&facts.text, place->bias), .frame_bytes = facts.frame_bytes, .fp_below = facts.fp_below,
	};
	php = calloc(1, sizeof(*php));
	if (!php)
		return -ENOMEM;
	php->file = layout->file;
	php->version = (u32)facts.version;
	memcpy(slot->word, &words, sizeof(words));
	*ret_state = php;
	return 0;
}

static void detach(void *state)
{
	free(state);
}

/* opcache's; what else a process with PHP in it generates is followed by the frame pointer, as without this. */
static bool owns(void *state, const struct lang_process *process, u64 start_va, u64 end_va)
{
	return ((const struct php *)state)->version >= JIT_OLDEST;
}

/* Names of a function as texts; an empty one is not there. */
struct texts {
	char name[LANG_TEXT_MAX + 1], class[LANG_TEXT_MAX + 1], file[LANG_TEXT_MAX + 1];
};

static void read_text(struct memory *memory, u64 va, char ret_text[LANG_TEXT_MAX + 1])
{
	u64 length = va ? memory_u64(memory, va + STRING_LENGTH) : 0;

	if (length > LANG_TEXT_MAX)
		length = LANG_TEXT_MAX;
	if (va)
		memory_read(memory, va + STRING_TEXT, ret_text, length);
	ret_text[memory_err(memory) ? 0 : length] = 0;
}

/* As they are: -ESTALE if there is another function by now. */
static int read_texts(struct php *php, u64 function_va, u64 cookie, struct texts *ret_texts)
{
	struct memory *memory = &php->memory;
	u64 words[PHP_FUNCTION_WORDS], file_va = 0, type;

	memory_read(memory, function_va, words, sizeof(words));
	type = words[0] & 0xff;
	if (type == PHP_TYPE_USER || type == PHP_TYPE_EVAL)
		file_va = memory_u64(memory, function_va + php->file);
	if (memory_err(memory))
		return memory_err(memory);
	if (php_cookie(words[1], words[2], file_va) != cookie)
		return -ESTALE;
	read_text(memory, words[1], ret_texts->name);
	read_text(memory, file_va, ret_texts->file);
	read_text(memory, words[2] ? memory_u64(memory, words[2] + PHP_CLASS_NAME) : 0, ret_texts->class);
	return memory_err(memory);
}

static void copy_text(const struct kept_piece *piece, char ret_text[LANG_TEXT_MAX + 1])
{
	u64 length = 0;

	if (piece->va)
		memcpy(&length, piece->bytes + STRING_LENGTH, sizeof(length));
	if (length > KEPT_PIECE_BYTES - STRING_TEXT)
		length = KEPT_PIECE_BYTES - STRING_TEXT;
	memcpy(ret_text, piece->bytes + STRING_TEXT, length);
	ret_text[length] = 0;
}

/* ... or as they were when the function was first met. */
static int recall_texts(struct php *php, u64 function_va, u64 cookie, struct texts *ret_texts)
{
	struct kept_objects kept;

	if (lang_recall(php->memory.process, LANG_PHP, cookie, function_va, &kept) < 0)
		return -ESTALE;
	copy_text(&kept.piece[0], ret_texts->name);
	copy_text(&kept.piece[1], ret_texts->class);
	copy_text(&kept.piece[2], ret_texts->file);
	return 0;
}

static int resolve(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names)
{
	u64 function_va = (frame[0] >> PHP_KIND_BITS & PHP_ADDRESS_MASK) << 3, cookie = frame[1] >> PHP_LINE_BITS;
	u32 kind = (u32)frame[0] & PHP_KIND_MASK;
	char whole[2 * LANG_TEXT_MAX + 3];
	struct php *php = state;
	struct texts texts;
	const char *name;
	int r;

	if (frame[0] >> FRAME_KIND_SHIFT != FRAME_RUNTIME) {
		lang_names_line(names, "(jit)", "", 0);
		return 0;
	}
	memory_begin(&php->memory, process);
	r = read_texts(php, function_va, cookie, &texts);
	if (r < 0 && recall_texts(php, function_va, cookie, &texts) < 0)
		return r;
	name = kind == PHP_MAIN ? "{main}" : kind == PHP_INCLUDE ? "include" : kind == PHP_EVAL ? "eval" :
	       texts.name[0] ? texts.name : "{main}";
	(void)snprintf(whole, sizeof(whole), "%s%s%s", kind <= PHP_INTERNAL ? texts.class : "",
		       kind <= PHP_INTERNAL && texts.class[0] ? "::" : "", name);
	lang_names_line(names, whole, texts.file, texts.file[0] ? (u32)frame[1] & PHP_LINE_MASK : 0);
	return 0;
}

const struct lang_ops php_ops = {
	.look = { "php", "PHP", 0xa597e8, "purple" },
	.tracer = "php",
	.object = object,
	.attach = attach,
	.detach = detach,
	.owns = owns,
	.step = php_copy_step,
	.resolve = resolve,
};

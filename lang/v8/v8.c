// SPDX-License-Identifier: Apache-2.0
/* JavaScript on V8, as in Node.js: recognised and described by the numbers that it publishes for debuggers. */
#include "lang/v8/v8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lang/lang.h"
#include "lang/v8/code.h"
#include "lang/v8/copy.h"
#include "lang/v8/function.h"
#include "lang/v8/heap.h"
#include "lang/v8/v8.skel.h"
#include "lang/v8/v8_file.h"

/* Without them baseline code has no lines. */
static void read_sizes(struct heap *h, const struct lang_process *process, u64 va, u64 bytes)
{
	u8 array[BASELINE_SCALES * BASELINE_BYTECODES];

	if (bytes <= sizeof(array) && !lang_read(process, va, array, bytes))
		baseline_sizes_set(&h->sizes, array, bytes);
}

static int attach(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		  struct runtime_slot *slot, void **ret_state)
{
	_cleanup_(freep) struct heap *h = calloc(1, sizeof(*h));
	struct v8_slot words;
	int r;

	if (!h)
		return -ENOMEM;
	r = layout_read(file->facts, &h->layout);
	if (r < 0)
		return r;
	if (file->facts[V8_FACT_SIZES] != V8_MISSING)
		read_sizes(h, process, file->facts[V8_FACT_SIZES] + place->bias, file->facts[V8_FACT_SIZES_BYTES]);
	layout_slot(&h->layout, &words);
	memcpy(slot->word, &words, sizeof(words));
	*ret_state = TAKE(h);
	return r;
}

static void detach(void *state)
{
	free(state);
}

/* A process with V8 in it has hardly another that generates code. */
static bool owns(void *state, const struct lang_process *process, u64 start_va, u64 end_va)
{
	return true;
}

static int name_stub(const struct heap *h, u64 type, struct lang_names *names)
{
	const char *name = "(v8 stub)";

	if (type == h->layout.at[V8_FRAME_WASM])
		name = "(wasm)";
	else if (type == h->layout.at[V8_FRAME_REGEXP])
		name = "(regexp)";
	lang_names_line(names, name, "", 0);
	return 0;
}

static int name_interpreted(struct heap *h, u64 shared, u64 offset, struct lang_names *names)
{
	s32 position;

	heap_expect(h, shared, V8_TYPE_SHARED);
	position = function_bytecode_position(h, function_bytecode(h, shared), offset);
	return h->memory.err ? h->memory.err : function_name(h, shared, position, names);
}

static int resolve(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names)
{
	struct heap *h = state;
	u64 shared = frame[0] & FRAME_LOW_MASK, value = frame[1] & V8_VALUE_MASK;

	memory_begin(&h->memory, process);
	if (frame[0] >> FRAME_KIND_SHIFT == FRAME_VA)
		return code_name(h, 0, frame[0] & FRAME_VA_MASK, names);
	if (frame[1] >> V8_KIND_SHIFT == V8_STUB)
		return name_stub(h, value, names);
	/* Another function is there by now. */
	if (shared && (function_literal_id(h, shared) & V8_COOKIE_MASK) !=
		      (frame[1] >> V8_COOKIE_SHIFT & V8_COOKIE_MASK))
		return h->memory.err ? h->memory.err : -ESTALE;
	if (frame[1] >> V8_KIND_SHIFT == V8_INTERPRETED)
		return name_interpreted(h, shared, value, names);
	return code_name(h, shared, value, names);
}

static const void *object(size_t *ret_bytes)
{
	return v8_bpf__elf_bytes(ret_bytes);
}

const struct lang_ops v8_ops = {
	.look = { "v8js", "JavaScript", 0xb4d455, "brown" },
	.tracer = "v8",
	.object = object,
	.attach = attach,
	.detach = detach,
	.owns = owns,
	.step = v8_copy_step,
	.resolve = resolve,
};

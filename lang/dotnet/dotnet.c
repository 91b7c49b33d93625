// SPDX-License-Identifier: Apache-2.0
/*
 * .NET on CoreCLR, 6 to 10: recognised by libcoreclr's exports, its code found by its execution manager, which
 * debuggers read, too. Frames are walked as native ones, by rows that are made of the code, and named by their
 * addresses.
 */
#include "lang/dotnet/dotnet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "lang/dotnet/clr_code.h"
#include "lang/dotnet/clr_debug.h"
#include "lang/dotnet/clr_image.h"
#include "lang/dotnet/clr_layout.h"
#include "lang/dotnet/clr_lines.h"
#include "lang/dotnet/clr_method.h"
#include "lang/dotnet/clr_modules.h"
#include "lang/dotnet/clr_rows.h"
#include "lang/lang.h"
#include "lang/memory.h"
#include "proc/maps.h"

#define MET_MAPPINGS_MAX 1024	/* of a process that are looked at when it is taken up */
#define CONTRACT_MAGIC 0x0043414443434e44ull	/* DNCCDAC */

struct dotnet {
	struct clr_layout layout;
	u64 sections_va;
	struct memory memory;
	struct clr_modules modules;
	struct clr_rows rows;
};

static void dotnet_free(struct dotnet *d)
{
	if (d) {
		clr_modules_done(&d->modules);
		clr_rows_done(&d->rows);
	}
	free(d);
}
DEFINE_CLEANUP(struct dotnet *, dotnet_free)

/* What the runtime says of its layout: a header, then a text elsewhere. One that says nothing is as we know it. */
static int read_contract(struct dotnet *d, const struct lang_process *process, u64 va)
{
	struct { u64 magic; u32 flags, bytes; u64 text_va; } header;
	_cleanup_(freep) char *text = NULL;
	int r = lang_read(process, va, &header, sizeof(header));

	if (r < 0)
		return r;
	if (header.magic != CONTRACT_MAGIC || !header.bytes || header.bytes > CLR_CONTRACT_BYTES_MAX)
		return -EBADMSG;
	text = malloc(header.bytes);
	if (!text)
		return -ENOMEM;
	r = lang_read(process, header.text_va, text, header.bytes);
	return r < 0 ? r : clr_layout_read(&d->layout, text, header.bytes);
}

/* Where the execution manager has its sections: the first entry of the table for debuggers. */
static int find_sections(struct dotnet *d, u64 roots_va, u64 bias)
{
	u64 root = d->layout.roots_are_relative ? memory_u32(&d->memory, roots_va) : memory_u64(&d->memory, roots_va);

	if (memory_err(&d->memory))
		return memory_err(&d->memory);
	if (!root)
		return -EAGAIN;
	d->sections_va = d->layout.roots_are_relative ? root + bias : root;
	return 0;
}

/* What was compiled so far: the first stack is right then, too. */
static void meet_all(struct dotnet *d, const struct lang_process *process)
{
	for (u32 i = 0; process->maps && i < process->maps->count && i < MET_MAPPINGS_MAX; i++) {
		const struct mapping *m = &process->maps->at[i];

		if (!mapping_is_generated(m) || (m->path && mapping_is_image(m->path)))
			continue;
		memory_begin(&d->memory, process);
		clr_rows_meet_methods(&d->rows, &d->layout, &d->memory, d->sections_va, m->start_va, m->end_va);
	}
}

static int attach(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		  struct runtime_slot *slot, void **ret_state)
{
	_cleanup_(dotnet_freep) struct dotnet *d = calloc(1, sizeof(*d));
	struct dotnet_facts facts;
	int r, is_newer;

	if (!d)
		return -ENOMEM;
	memcpy(&facts, file->facts, sizeof(facts));
	is_newer = clr_layout_of((u32)facts.major, facts.is_arm64, &d->layout);
	if (is_newer < 0 || !facts.roots_ea)
		return -EOPNOTSUPP;
	r = facts.contract_ea ? read_contract(d, process, facts.contract_ea + place->bias) : 0;
	if (r < 0)
		return r;
	memory_begin(&d->memory, process);
	r = find_sections(d, facts.roots_ea + place->bias, place->bias);
	if (r < 0)
		return r;
	meet_all(d, process);
	*ret_state = TAKE(d);
	return is_newer;
}

static void detach(void *state)
{
	dotnet_free(state);
}

/* A process with CoreCLR in it has hardly another that generates code. */
static bool owns(void *state, const struct lang_process *process, u64 start_va, u64 end_va)
{
	return true;
}

static u64 rows_order(void *state, const struct lang_process *process, u64 start_va, u64 end_va)
{
	const struct dotnet *d = state;

	return code_rows_order(&d->rows.rows, start_va, end_va);
}

static int rows(void *state, const struct lang_process *process, u64 start_va, u64 end_va, u64 base_va,
		struct rows **ret_rows)
{
	struct dotnet *d = state;

	return clr_rows_join(&d->rows, process, start_va, end_va, base_va, ret_rows);
}

/* What is known of a frame. */
struct frame_place {
	struct clr_method method;
	u64 image_va;		/* where its module is; 0: that is not known */
	bool has_il;
	u32 il;			/* offset */
};

static int name_image(struct dotnet *d, const struct clr_code_place *place, u64 va, struct buf *text,
		      struct frame_place *ret_place)
{
	const struct clr_image *image = clr_modules_image(&d->modules, &d->memory, place->object);
	const struct clr_image_method *method = image ? clr_image_method_at(&d->memory, image, va) : NULL;

	if (method)
		metadata_method_name(&d->memory, &image->metadata, method->method, text);
	if (memory_err(&d->memory))
		return memory_err(&d->memory);
	if (!text->len)
		return -ENODATA;
	ret_place->method = (struct clr_method){ place->module_va, method->method };
	ret_place->image_va = image->base_va;
	ret_place->has_il = clr_image_il(&d->memory, image, method, va, &ret_place->il) == 0;
	return 0;
}

static int name_method(struct dotnet *d, const struct clr_code_place *place, u64 va, struct buf *text,
		       struct frame_place *ret_place)
{
	int r = clr_method_name(&d->layout, &d->memory, &d->modules, place->object, text, &ret_place->method);

	if (r == 0 && ret_place->method.module_va)
		ret_place->has_il = clr_debug_find(&d->memory, &d->layout.debug, place->debug_va,
						   (u32)(va - place->start_va), &ret_place->il) == 0;
	return r;
}

/* A name without a line is better than none: whatever cannot be read here does not matter. */
static void tell(struct dotnet *d, const struct lang_process *process, const char *name,
		 const struct frame_place *place, struct lang_names *names)
{
	const struct clr_file *file = NULL;
	const char *path = "";
	u32 line = 0;

	if (memory_err(&d->memory))
		memory_begin(&d->memory, process);
	if (place->has_il && process->source_map)
		file = clr_modules_file(&d->modules, &d->memory, &d->layout, place->method.module_va,
					place->image_va);
	if (file)
		line = clr_lines_find(process, file, place->method.row, place->il, &path);
	lang_names_line(names, name, path, line);
}

static int resolve(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names)
{
	u64 va = frame[0] & FRAME_VA_MASK;
	struct frame_place where = { 0 };
	struct dotnet *d = state;
	struct clr_code_place place;
	struct buf text;
	int r = 0;

	memory_begin(&d->memory, process);
	place = clr_code_find(&d->layout, &d->memory, d->sections_va, va);
	if (memory_err(&d->memory))
		return memory_err(&d->memory);
	if (place.kind == CLR_CODE_METHOD || place.kind == CLR_CODE_IMAGE)
		clr_rows_meet(&d->rows, &d->layout, &d->memory, &d->modules, d->sections_va, va);
	buf_init(&text, LANG_TEXT_MAX);
	if (place.kind == CLR_CODE_METHOD)
		r = name_method(d, &place, va, &text, &where);
	else if (place.kind == CLR_CODE_IMAGE)
		r = name_image(d, &place, va, &text, &where);
	else
		buf_addf(&text, "%s", clr_code_stub_name(place.kind == CLR_CODE_STUB ? place.object : 0));
	if (!r)
		r = buf_err(&text);
	if (!r)
		tell(d, process, text.data, &where, names);
	buf_done(&text);
	return r;
}

static u64 dropped(const void *state)
{
	const struct dotnet *d = state;

	return d->modules.dropped + d->rows.rows.dropped + d->rows.functions.dropped;
}

const struct lang_ops dotnet_ops = {
	.look = { "dotnet", ".NET", 0xb487c9, "lightred" },
	.tracer = "dotnet",
	.attach = attach,
	.detach = detach,
	.owns = owns,
	.rows_order = rows_order,
	.rows = rows,
	.dropped = dropped,
	.resolve = resolve,
};

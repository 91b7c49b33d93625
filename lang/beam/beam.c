// SPDX-License-Identifier: Apache-2.0
/*
 * Erlang and Elixir on BEAM with its JIT, OTP 25 and later. What it tells debuggers of its code has the names, files
 * and lines; the kernel half walks the stacks of its processes.
 */
#include "lang/beam/beam.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "lang/beam/beam.skel.h"
#include "lang/beam/beam_copy.h"
#include "lang/beam/beam_layout.h"
#include "lang/beam/beam_modules.h"
#include "lang/beam/beam_name.h"
#include "lang/lang.h"

#define OLDEST_RELEASE 25
#define NEWEST_RELEASE 29

struct beam {
	struct beam_modules modules;
	bool is_oldest;		/* OTP 25 */
	int line_bits;		/* of an index in the table of processes */
};

static void beam_free(struct beam *b)
{
	if (b)
		beam_modules_done(&b->modules);
	free(b);
}
DEFINE_CLEANUP(struct beam *, beam_free)

static const void *object(size_t *ret_bytes)
{
	return beam_bpf__elf_bytes(ret_bytes);
}

static int attach(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		  struct runtime_slot *slot, void **ret_state)
{
	_cleanup_(beam_freep) struct beam *b = calloc(1, sizeof(*b));
	struct beam_facts facts;
	struct beam_slot found;
	int r;

	if (!b)
		return -ENOMEM;
	memcpy(&facts, file->facts, sizeof(facts));
	if (!facts.has_jit || !facts.is_x86_64 || (facts.release && facts.release < OLDEST_RELEASE))
		return -EOPNOTSUPP;
	r = beam_layout_find(process, &facts, place->bias, &b->modules, &found);
	if (r < 0)
		return r;
	b->is_oldest = facts.release == OLDEST_RELEASE;
	b->line_bits = b->is_oldest ? 0 : beam_layout_line_bits(process, &facts, place->bias);
	found.wants_pids = LANG_WANTS(process->wishes, erlang_pids) && b->line_bits >= 0;
	memcpy(slot->word, &found, sizeof(found));
	*ret_state = TAKE(b);
	return facts.release > NEWEST_RELEASE;
}

static void detach(void *state)
{
	beam_free(state);
}

/* A process with BEAM in it has hardly another that generates code. */
static bool owns(void *state, const struct lang_process *process, u64 start_va, u64 end_va)
{
	return true;
}

static u64 generation(void *state, const struct lang_process *process)
{
	struct beam *b = state;

	beam_modules_look(&b->modules, process);
	return b->modules.generation;
}

static u64 dropped(const void *state)
{
	const struct beam *b = state;

	return b->modules.dropped;
}

/*
 * As Erlang prints it: <0.NUMBER.SERIAL>. OTP 25 has 15 bits of number and 13 of serial in the id. Later it has where
 * the process is in their table, which spreads them over lines of the cache: the place in a line (3 bits), the line,
 * the rest. Counted on are the lines first, then the places, then the rest: 28 bits of number, then the serial.
 */
static int label(const struct beam *b, u64 id, struct lang_names *names)
{
	u64 lines = (1ull << b->line_bits) - 1, index = lines << 3 | 7;
	char text[64];

	if (b->is_oldest)
		id = (id >> 15 & 0x1fff) << 28 | (id & 0x7fff);
	else
		id = (id & ~index) | (id & 7) << b->line_bits | (id >> 3 & lines);
	(void)snprintf(text, sizeof(text), "<0.%llu.%llu>", id & 0xfffffff, id >> 28);
	lang_names_label(names, LANG_LABEL_PREFIX "erlang.pid", text);
	return 0;
}

static int resolve(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names)
{
	struct beam *b = state;
	struct beam_place place;
	struct buf text;
	int r;

	if (frame[0] & FRAME_LABELS)
		return label(b, frame[0] & FRAME_LOW_MASK, names);
	r = beam_modules_find(&b->modules, process, frame[0] & FRAME_VA_MASK, &place);
	if (r < 0)
		return r;
	buf_init(&text, LANG_TEXT_MAX);
	beam_name(&text, place.name);
	r = buf_err(&text);
	if (!r)
		lang_names_line(names, text.data, place.file, place.line);
	buf_done(&text);
	return r;
}

const struct lang_ops beam_ops = {
	.look = { "beam", "Erlang", 0xd591b7, "magenta" },
	.tracer = "beam",
	.object = object,
	.attach = attach,
	.detach = detach,
	.owns = owns,
	.dropped = dropped,
	.generation = generation,
	.step = beam_copy_step,
	.resolve = resolve,
};

// SPDX-License-Identifier: Apache-2.0
/*
 * Go: compiled code with tables of its own (lang/go/pclntab.h), which tell more than CFI and DWARF do. The rest of wick
 * unwinds and names it as any native code. Its program finds the labels of goroutines, and the way back to a
 * goroutine's stack from the thread's.
 */
#include "lang/go/go.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/go/go.skel.h"
#include "lang/go/go_file.h"
#include "lang/go/labels.h"
#include "lang/lang.h"

static const void *object(size_t *ret_bytes)
{
	return go_bpf__elf_bytes(ret_bytes);
}

static int attach(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		  struct runtime_slot *slot, void **ret_state)
{
	struct go_facts facts;
	struct go_slot words;
	u64 *kind;

	memcpy(&facts, file->facts, sizeof(facts));
	words = (struct go_slot){
		.tls = facts.tls, .curg = facts.curg, .labels = facts.labels, .kind = facts.kind,
		.sched_bp = facts.sched_bp,
		.mcall_start_va = facts.mcall_start_ea + place->bias, .mcall_end_va = facts.mcall_end_ea + place->bias,
	};
	if (facts.tls_ea) {
		words.tls = lang_read_word(process, facts.tls_ea + place->bias);
		if (!words.tls)
			return -EAGAIN;
	}
	kind = malloc(sizeof(*kind));
	if (!kind)
		return -ENOMEM;
	*kind = facts.kind;
	*ret_state = kind;
	memcpy(slot->word, &words, sizeof(words));
	return facts.is_newer != 0;
}

static void detach(void *state)
{
	free(state);
}

static int resolve(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names)
{
	const u64 *kind = state;

	if (!(frame[0] & FRAME_LABELS))
		return -EBADMSG;
	return go_labels_read(process, *kind, frame[1], frame[0] & FRAME_LOW_MASK, names);
}

const struct lang_ops go_ops = {
	.look = { "go", "Go", 0x22b8cf, "lightblue" },
	.tracer = "go",
	.object = object,
	.starts_walk = true,
	.attach = attach,
	.detach = detach,
	.resolve = resolve,
};

// SPDX-License-Identifier: Apache-2.0
/*
 * Java on HotSpot, JDK 8 to 25: recognised by libjvm's exports, described by the tables they lead to.
 */
#include "lang/hotspot/hotspot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lang/hotspot/chunks.h"
#include "lang/hotspot/code_cache.h"
#include "lang/hotspot/copy.h"
#include "lang/hotspot/hotspot.skel.h"
#include "lang/hotspot/hotspot_file.h"
#include "lang/memory.h"
#include "lang/hotspot/method.h"
#include "lang/hotspot/nmethod.h"
#include "lang/hotspot/vm.h"
#include "lang/lang.h"

#define ANY_ID (-1)

struct hotspot {
	struct vm vm;
	struct hotspot_slot slot;
	struct memory memory;
};

static int attach(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		  struct runtime_slot *slot, void **ret_state)
{
	_cleanup_(freep) struct hotspot *h = malloc(sizeof(*h));
	u64 symbol_va[VM_SYMBOL_COUNT];
	int r;

	if (!h)
		return -ENOMEM;
	for (u32 i = 0; i < VM_SYMBOL_COUNT; i++)
		symbol_va[i] = file->facts[i] + place->bias;
	memory_begin(&h->memory, process);
	r = vm_read(&h->vm, &h->memory, symbol_va);
	if (!r)
		r = code_cache_read(&h->vm, &h->memory, &h->slot);
	if (!r)
		r = chunks_read(&h->vm, &h->memory, &h->slot.chunks);
	if (r < 0)
		return r;
	memcpy(slot->word, &h->slot, sizeof(h->slot));
	r = h->vm.major > VM_NEWEST;
	*ret_state = TAKE(h);
	return r;
}

static void detach(void *state)
{
	free(state);
}

static bool owns(void *state, const struct lang_process *process, u64 start_va, u64 end_va)
{
	const struct hotspot *h = state;

	return start_va < h->slot.code_end_va && end_va > h->slot.code_start_va;
}

/* A CodeBlob and an address in it; of a method, by a number that its code had, or any. */
static int name_blob(struct hotspot *h, u64 blob, u64 va, s64 id, struct lang_names *names)
{
	if (!code_cache_is_method(&h->vm, &h->memory, blob))
		return code_cache_stub_name(&h->vm, &h->memory, blob, va, names);
	/* Thrown away, and another put in its place. */
	if (id != ANY_ID && (nmethod_id(&h->vm, &h->memory, blob) & HOTSPOT_ID_MASK) != (u64)id)
		return memory_err(&h->memory) < 0 ? memory_err(&h->memory) : -ESTALE;
	return nmethod_name(&h->vm, &h->memory, blob, va, names);
}

/* An address that the kernel half has not looked at. */
static int name_address(struct hotspot *h, u64 va, struct lang_names *names)
{
	u64 blob = code_cache_find(&h->slot, &h->memory, va);

	return blob ? name_blob(h, blob, va, ANY_ID, names) : -ENODATA;
}

static int resolve(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names)
{
	struct hotspot *h = state;
	u64 object = frame[0] & FRAME_LOW_MASK, va = frame[1] & HOTSPOT_VA_MASK;

	memory_begin(&h->memory, process);
	if (frame[0] >> FRAME_KIND_SHIFT == FRAME_VA)
		return name_address(h, frame[0] & FRAME_VA_MASK, names);
	switch (frame[1] >> HOTSPOT_KIND_SHIFT) {
	case HOTSPOT_INTERPRETED:
		return method_name(&h->vm, &h->memory, object, method_bci(&h->vm, &h->memory, object, va), names);
	case HOTSPOT_COMPILED:
		return name_blob(h, object, va, (s64)(frame[1] >> HOTSPOT_ID_SHIFT & HOTSPOT_ID_MASK), names);
	default:
		return -EBADMSG;
	}
}

static const void *object(size_t *ret_bytes)
{
	return hotspot_bpf__elf_bytes(ret_bytes);
}

const struct lang_ops hotspot_ops = {
	.look = { "jvm", "Java", 0x69c36d, "green" },
	.tracer = "hotspot",
	.object = object,
	.attach = attach,
	.detach = detach,
	.owns = owns,
	.step = hotspot_copy_step,
	.resolve = resolve,
};

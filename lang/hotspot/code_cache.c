// SPDX-License-Identifier: Apache-2.0
#include "lang/hotspot/code_cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lang/memory.h"
#include "lang/hotspot/vm.h"
#include "lang/lang.h"

#define CODELETS_MAX 4096	/* of the interpreter: one for each bytecode and some */
#define CODELET_BYTES_MAX 4096	/* of those that enter a method */
#define SEGMENT_SHIFT_MAX 20
#define HOPS_MAX 4096
#define NAME_BYTES 128
#define ENTRY_TEXT "method entry point"

static void read_heap(const struct vm *vm, struct memory *m, u64 heap_va, struct hotspot_slot *slot, u32 i)
{
	struct hotspot_heap *heap = &slot->heap[i];
	u64 code = heap_va + vm->at[VM_HEAP_MEMORY], segmap = heap_va + vm->at[VM_HEAP_SEGMAP];

	heap->start_va = vm_pointer(vm, m, code, VM_SPACE_LOW);
	heap->end_va = vm_pointer(vm, m, code, VM_SPACE_HIGH);
	heap->segmap_va = vm_pointer(vm, m, segmap, VM_SPACE_LOW);
	slot->segment_shift = (u32)vm_int(vm, m, heap_va, VM_HEAP_SHIFT);
	if (!i || heap->start_va < slot->code_start_va)
		slot->code_start_va = heap->start_va;
	if (heap->end_va > slot->code_end_va)
		slot->code_end_va = heap->end_va;
}

static int read_heaps(const struct vm *vm, struct memory *m, struct hotspot_slot *slot)
{
	enum vm_field len_field = vm_has(vm, VM_ARRAY_LEN) ? VM_ARRAY_LEN : VM_ARRAY_LEN_OLD;
	u64 array, data;
	s64 count;

	if (vm_has(vm, VM_CACHE_HEAP)) {
		array = memory_u64(m, vm->at[VM_CACHE_HEAP]);
		if (!array)
			return -EAGAIN;
		read_heap(vm, m, array, slot, 0);
		return memory_err(m);
	}
	if (!vm_has(vm, VM_CACHE_HEAPS) || !vm_has(vm, len_field))
		return -ENOTSUP;
	array = memory_u64(m, vm->at[VM_CACHE_HEAPS]);
	if (!array)
		return -EAGAIN;
	count = vm_int(vm, m, array, len_field);
	data = vm_pointer(vm, m, array, VM_ARRAY_DATA);
	if (count < 1 || !data)
		return -EAGAIN;
	if (count > HOTSPOT_HEAPS_MAX)
		return -ENOTSUP;
	for (u32 i = 0; i < (u32)count; i++)
		read_heap(vm, m, memory_u64(m, data + 8 * (u64)i), slot, i);
	return memory_err(m);
}

/* Where a piece of code has made its frame pointer, in bytes from its start: behind push rbp; mov rbp, rsp. */
static u32 find_frame(struct memory *m, u64 va, u32 bytes)
{
	u8 code[CODELET_BYTES_MAX];
	u32 word;

	if (bytes > sizeof(code))
		bytes = sizeof(code);
	memory_read(m, va, code, bytes);
	for (u32 i = 0; REG_RA == 30 && i + 4 <= bytes; i += 4) {
		memcpy(&word, code + i, sizeof(word));
		if ((word & 0xffc003ff) == 0x910003fd)	/* add x29, sp, N */
			return i + 4;
	}
	for (u32 i = 0; REG_RA != 30 && i + 4 <= bytes; i++)
		if (code[i] == 0x55 && code[i + 1] == 0x48 &&
		    ((code[i + 2] == 0x8b && code[i + 3] == 0xec) || (code[i + 2] == 0x89 && code[i + 3] == 0xe5)))
			return i + 4;
	return bytes;
}

/*
 * The interpreter is a piece of code for each bytecode, and one for each way to enter a method: these are known by
 * their descriptions.
 */
static int read_interpreter(const struct vm *vm, struct memory *m, struct hotspot_slot *slot)
{
	u64 queue = memory_u64(m, vm->at[VM_INTERPRETER_CODE]), at, end;
	char text[NAME_BYTES];
	u32 entries = 0;

	if (!queue)
		return -EAGAIN;
	slot->interpreter_start_va = at = vm_pointer(vm, m, queue, VM_QUEUE_BUFFER);
	slot->interpreter_end_va = end = at + (u64)vm_int(vm, m, queue, VM_QUEUE_LIMIT);
	for (u32 i = 0; i < CODELETS_MAX && at < end && !memory_err(m); i++) {
		s64 bytes = vm_int(vm, m, at, VM_CODELET_SIZE);
		u64 text_va = vm_pointer(vm, m, at, VM_CODELET_TEXT);
		u32 start = (u32)(at - slot->interpreter_start_va);

		if (bytes < (s64)vm->size[VM_SIZE_CODELET] || !text_va)
			break;
		memory_text(m, text_va, text, sizeof(text));
		if (entries < HOTSPOT_ENTRIES_MAX && !strncmp(text, ENTRY_TEXT, strlen(ENTRY_TEXT)))
			slot->entry[entries++] = (struct hotspot_entry){
				start, start + find_frame(m, at, (u32)bytes),
			};
		at += (u64)bytes;
	}
	if (memory_err(m) < 0)
		return memory_err(m);
	return entries ? 0 : -EAGAIN;
}

/* Two fields in the piece, and the third in the word; false if they are too far from each other. */
static bool plan_pair(struct hotspot_slot *slot, u64 low, u64 high, u64 other)
{
	u64 start = low & ~7ull, end = (high + 15) & ~7ull;

	if (low > high || end - start > HOTSPOT_PIECE_BYTES)
		return false;
	slot->piece_at = (u16)start;
	slot->piece_bytes = (u8)(end - start);
	slot->word_at = (u16)(other & ~7ull);
	return true;
}

/* Where a field is, once both are read. */
static u8 planned(const struct hotspot_slot *slot, u64 field)
{
	return (u8)(field - slot->word_at < 8 ? HOTSPOT_PIECE_BYTES + field - slot->word_at : field - slot->piece_at);
}

/* What is read of the blob of each caller in as few pieces as can be: its frame's size, its number, its handler. */
static void plan_reads(const struct vm *vm, struct hotspot_slot *slot)
{
	enum vm_field field = vm_has(vm, VM_COMPILED_DEOPT) ? VM_COMPILED_DEOPT :
			      vm_has(vm, VM_NMETHOD_DEOPT) ? VM_NMETHOD_DEOPT : VM_NMETHOD_DEOPT_OLD;
	u64 size = vm->at[VM_BLOB_FRAME_SIZE], id = vm->at[VM_NMETHOD_ID], deopt = vm->at[field];
	bool is_near = vm_has(vm, field) && (deopt - size < id - deopt ?
			plan_pair(slot, size, deopt, id) || plan_pair(slot, deopt, id, size) :
			plan_pair(slot, deopt, id, size) || plan_pair(slot, size, deopt, id));

	if (!is_near)
		(void)plan_pair(slot, size, size, id);
	slot->read_frame_size = planned(slot, size);
	slot->read_id = planned(slot, id);
	slot->read_deopt = is_near ? planned(slot, deopt) : HOTSPOT_NOT_READ;
	slot->deopt_is_pointer = field == VM_COMPILED_DEOPT;
}

/* Offsets that the kernel half reads. */
static void read_offsets(const struct vm *vm, struct hotspot_slot *slot)
{
	enum vm_field code = vm_has(vm, VM_BLOB_CODE_BEGIN) ? VM_BLOB_CODE_BEGIN : VM_BLOB_CODE_OFFSET;

	slot->block_bytes = vm->size[VM_SIZE_HEAP_BLOCK];
	slot->name = (u16)vm->at[VM_BLOB_NAME];
	slot->frame_size = (u16)vm->at[VM_BLOB_FRAME_SIZE];
	slot->frame_complete = (u16)vm->at[VM_BLOB_FRAME_COMPLETE];
	slot->frame_complete_is_short = vm->is_short[VM_BLOB_FRAME_COMPLETE];
	slot->code_begin = (u16)vm->at[code];
	slot->code_is_pointer = code == VM_BLOB_CODE_BEGIN;
	slot->compile_id = (u16)vm->at[VM_NMETHOD_ID];
	slot->orig_pc = (u16)vm->at[VM_NMETHOD_ORIG_PC];
	slot->const_method = (u16)vm->at[VM_METHOD_CONST];
	slot->bcp_slot = vm->release.bcp_slot;
	plan_reads(vm, slot);
}

/* A JVM that says what cannot be is left alone. */
static int check_slot(const struct hotspot_slot *slot)
{
	u16 offset[] = { slot->name, slot->frame_size, slot->frame_complete, slot->code_begin };

	for (u32 i = 0; i < sizeof(offset) / sizeof(*offset); i++)
		if (offset[i] >= HOTSPOT_BLOB_BYTES)
			return -ENOTSUP;
	if (slot->segment_shift > SEGMENT_SHIFT_MAX || slot->code_start_va >= slot->code_end_va)
		return -ENOTSUP;
	if (slot->interpreter_start_va < slot->code_start_va || slot->interpreter_end_va > slot->code_end_va)
		return -ENOTSUP;
	return 0;
}

int code_cache_read(const struct vm *vm, struct memory *m, struct hotspot_slot *ret_slot)
{
	struct hotspot_slot slot = { 0 };
	int r = read_heaps(vm, m, &slot);

	if (!r)
		r = read_interpreter(vm, m, &slot);
	if (r < 0)
		return r;
	slot.call_stub_va = memory_u64(m, vm->at[VM_CALL_STUB]);
	if (memory_err(m) < 0)
		return memory_err(m);
	if (!slot.call_stub_va)
		return -EAGAIN;
	read_offsets(vm, &slot);
	r = check_slot(&slot);
	if (r < 0)
		return r;
	*ret_slot = slot;
	return 0;
}

u64 code_cache_find(const struct hotspot_slot *slot, struct memory *m, u64 va)
{
	const struct hotspot_heap *heap = NULL;
	u64 segment;

	for (u32 i = 0; i < HOTSPOT_HEAPS_MAX; i++)
		if (va >= slot->heap[i].start_va && va < slot->heap[i].end_va)
			heap = &slot->heap[i];
	if (!heap)
		return 0;
	segment = (va - heap->start_va) >> slot->segment_shift;
	for (u32 i = 0; i < HOPS_MAX; i++) {
		u8 back = memory_u8(m, heap->segmap_va + segment);

		if (back == 0xff || back > segment || memory_err(m) < 0)
			return 0;
		if (!back)
			return heap->start_va + (segment << slot->segment_shift) + slot->block_bytes;
		segment -= back;
	}
	return 0;
}

bool code_cache_is_method(const struct vm *vm, struct memory *m, u64 blob)
{
	char text[NAME_BYTES];

	memory_text(m, vm_pointer(vm, m, blob, VM_BLOB_NAME), text, sizeof(text));
	return !strcmp(text, "nmethod") || !strcmp(text, "native nmethod");
}

/* The entry of StubRoutines that is the nearest before an address, in the same blob; "" if there is none. */
static const char *find_entry(const struct vm *vm, struct memory *m, u64 blob, u64 va)
{
	const char *name = "";
	u64 best = blob;

	for (u32 i = 0; i < vm->stub_count; i++) {
		u64 entry = memory_u64(m, vm->stubs[i].pointer_va);

		if (entry > best && entry <= va) {
			best = entry;
			name = vm->stubs[i].name;
		}
	}
	return name;
}

int code_cache_stub_name(const struct vm *vm, struct memory *m, u64 blob, u64 va, struct lang_names *names)
{
	char text[NAME_BYTES], function[NAME_BYTES + VM_STUB_NAME_MAX];
	const char *entry = "";

	memory_text(m, vm_pointer(vm, m, blob, VM_BLOB_NAME), text, sizeof(text));
	if (va == memory_u64(m, vm->at[VM_CALL_STUB]))
		entry = "call_stub";
	else if (!strncmp(text, "StubRoutines", 12))
		entry = find_entry(vm, m, blob, va);
	if (memory_err(m) < 0)
		return memory_err(m);
	if (!text[0])
		return -EBADMSG;
	if (*entry)
		(void)snprintf(function, sizeof(function), "StubRoutines::%s", entry);
	else
		(void)snprintf(function, sizeof(function), "%s", text);
	lang_names_line(names, function, "", 0);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "lang/hotspot/nmethod.h"

#include <errno.h>

#include "lang/memory.h"
#include "lang/hotspot/method.h"
#include "lang/hotspot/unsigned5.h"
#include "lang/hotspot/vm.h"

#define PCS_MAX (1u << 20)	/* descriptions of one nmethod */
#define SCOPES_MAX 60		/* methods inlined into each other; the compilers stop sooner */

/* Where an nmethod keeps what belongs to it: in itself until JDK 22, apart since. */
struct parts {
	u64 pcs_va;		/* PcDescs, sorted by their place in the code */
	u32 pc_count;
	u64 scopes_va;		/* compressed */
	u64 metadata_va;	/* pointers to Methods, from 1 on */
};

u64 nmethod_code(const struct vm *vm, struct memory *m, u64 blob)
{
	if (vm_has(vm, VM_BLOB_CODE_BEGIN))
		return vm_pointer(vm, m, blob, VM_BLOB_CODE_BEGIN);
	return blob + (u64)vm_int(vm, m, blob, VM_BLOB_CODE_OFFSET);
}

u32 nmethod_id(const struct vm *vm, struct memory *m, u64 nmethod)
{
	return (u32)vm_int(vm, m, nmethod, VM_NMETHOD_ID);
}

static u64 at_offset(const struct vm *vm, struct memory *m, u64 base, u64 nmethod, enum vm_field field)
{
	return base + (u64)vm_int(vm, m, nmethod, field);
}

static int find_parts(const struct vm *vm, struct memory *m, u64 nmethod, struct parts *ret)
{
	u64 base = vm_has(vm, VM_NMETHOD_IMMUTABLE) ? vm_pointer(vm, m, nmethod, VM_NMETHOD_IMMUTABLE) : nmethod;
	u64 end;

	ret->pcs_va = at_offset(vm, m, base, nmethod, VM_NMETHOD_PCS);
	ret->scopes_va = vm_has(vm, VM_COMPILED_SCOPES) ? vm_pointer(vm, m, nmethod, VM_COMPILED_SCOPES) :
			 at_offset(vm, m, base, nmethod, VM_NMETHOD_SCOPES);
	if (base != nmethod)
		end = ret->scopes_va;
	else
		end = at_offset(vm, m, base, nmethod, VM_NMETHOD_DEPENDENCIES);
	if (vm_has(vm, VM_BLOB_MUTABLE_DATA))
		ret->metadata_va = vm_pointer(vm, m, nmethod, VM_BLOB_MUTABLE_DATA) +
				   (u64)vm_int(vm, m, nmethod, VM_BLOB_RELOCATION_SIZE);
	else if (base != nmethod)
		ret->metadata_va = at_offset(vm, m, nmethod, nmethod, VM_BLOB_DATA_OFFSET) +
				   (u64)vm_int(vm, m, nmethod, VM_NMETHOD_METADATA);
	else
		ret->metadata_va = at_offset(vm, m, nmethod, nmethod, VM_NMETHOD_METADATA);
	if (memory_err(m) < 0)
		return memory_err(m);
	if (end < ret->pcs_va || end - ret->pcs_va > PCS_MAX * (u64)vm->size[VM_SIZE_PC_DESC])
		return -EBADMSG;
	ret->pc_count = (u32)((end - ret->pcs_va) / vm->size[VM_SIZE_PC_DESC]);
	return 0;
}

static s64 pc_field(const struct vm *vm, struct memory *m, const struct parts *p, u32 i, enum vm_field field)
{
	return vm_int(vm, m, p->pcs_va + (u64)i * vm->size[VM_SIZE_PC_DESC], field);
}

/*
 * Where in the scopes a place in the code is told of; 0: nowhere. A description holds at its address, which is that
 * behind a call, or a place that can trap; what lies before it, back to the one before, is taken for the same, as the
 * JVM does. The first and the last are only limits.
 */
static u32 find_scope(const struct vm *vm, struct memory *m, const struct parts *p, s64 offset)
{
	u32 lo = 1, hi = p->pc_count ? p->pc_count - 1 : 0;

	if (lo >= hi)
		return 0;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (pc_field(vm, m, p, mid, VM_PC_OFFSET) < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == p->pc_count - 1)
		lo--;
	return (u32)pc_field(vm, m, p, lo, VM_PC_SCOPE);
}

/* The method itself, where nothing is known of the place. */
static int name_whole(const struct vm *vm, struct memory *m, u64 nmethod, struct lang_names *names)
{
	enum vm_field field = vm_has(vm, VM_NMETHOD_METHOD) ? VM_NMETHOD_METHOD : VM_COMPILED_METHOD;

	if (!vm_has(vm, field))
		return -ENOTSUP;
	return method_name(vm, m, vm_pointer(vm, m, nmethod, field), METHOD_NO_BCI, names);
}

int nmethod_name(const struct vm *vm, struct memory *m, u64 nmethod, u64 pc, struct lang_names *names)
{
	struct unsigned5 scope = { .memory = m, .no_zero = vm->release.no_zero };
	struct parts p = { 0 };
	u32 at, method;
	s32 bci;
	int r = find_parts(vm, m, nmethod, &p);

	if (r < 0)
		return r;
	at = find_scope(vm, m, &p, (s64)(pc - nmethod_code(vm, m, nmethod)));
	if (!at)
		return name_whole(vm, m, nmethod, names);
	for (u32 i = 0; at && i < SCOPES_MAX; i++) {
		scope.va = p.scopes_va + at;
		at = unsigned5_next(&scope);
		method = unsigned5_next(&scope);
		bci = (s32)unsigned5_next(&scope) - 1;
		if (!method)
			return -EBADMSG;
		r = method_name(vm, m, memory_u64(m, p.metadata_va + 8 * (u64)(method - 1)), bci, names);
		if (r < 0)
			return r;
	}
	return 0;
}

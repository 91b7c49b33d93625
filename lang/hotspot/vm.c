// SPDX-License-Identifier: Apache-2.0
#include "lang/hotspot/vm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lang/memory.h"

#define ENTRIES_MAX 16384	/* JDK 21 has 1,100 */
#define STRIDE_MAX 4096
#define NAME_MAX_BYTES 80	/* longer names are none of ours */

static const struct { const char *type, *field; bool is_needed; } vm_fields[VM_FIELD_COUNT] = {
#define X(ID, type, field, is_needed) [VM_##ID] = { type, field, is_needed },
	VM_FIELDS(X)
#undef X
};

static const struct { const char *type; bool is_needed; } vm_types[VM_TYPE_COUNT] = {
#define X(ID, type, is_needed) [VM_SIZE_##ID] = { type, is_needed },
	VM_TYPES(X)
#undef X
};

/*
 * src/hotspot/cpu/x86/frame_x86.hpp of each; src/hotspot/share/utilities/unsigned5.hpp since jdk-20+15;
 * src/hotspot/share/runtime/continuationEntry.hpp
 */
static const struct vm_release releases[] = {
	{ .from = 8, .bcp_slot = 7 },
	{ .from = 9, .bcp_slot = 8 },
	{ .from = 20, .bcp_slot = 8, .no_zero = true },
	{ .from = 21, .bcp_slot = 8, .no_zero = true, .entry_bytes = 64, .entry_cont = 16 },
};

struct tables {
	struct memory *memory;
	u64 symbol_va[VM_SYMBOL_COUNT];
	u64 value[VM_SYMBOL_COUNT];	/* of the variables: addresses of tables, strides, offsets in an entry */
};

static int tables_open(struct tables *t)
{
	for (u32 i = 0; i < VM_SYMBOL_COUNT; i++)
		t->value[i] = memory_u64(t->memory, t->symbol_va[i]);
	if (memory_err(t->memory) < 0)
		return memory_err(t->memory);
	if (!t->value[VM_SYM_STRUCTS] || !t->value[VM_SYM_TYPES] || !t->value[VM_SYM_STRUCT_STRIDE] ||
	    !t->value[VM_SYM_TYPE_STRIDE])
		return -EAGAIN;
	for (u32 i = 0; i < VM_SYMBOL_COUNT; i++)
		if (i != VM_SYM_STRUCTS && i != VM_SYM_TYPES && t->value[i] > STRIDE_MAX)
			return -ENOTSUP;
	return 0;
}

static void add_stub(struct vm *vm, const char *field, u64 pointer_va)
{
	struct vm_stub *stub = &vm->stubs[vm->stub_count];

	if (vm->stub_count == VM_STUBS_MAX || field[0] != '_')
		return;
	stub->pointer_va = pointer_va;
	(void)snprintf(stub->name, sizeof(stub->name), "%.*s", VM_STUB_NAME_MAX - 1, field + 1);
	vm->stub_count++;
}

static bool is_short(const char *kind)
{
	return !strcmp(kind, "u2") || !strcmp(kind, "int16_t") || !strcmp(kind, "short") ||
	       !strcmp(kind, "unsigned short");
}

static void read_field(struct vm *vm, const struct tables *t, u64 entry, const char *type)
{
	char field[NAME_MAX_BYTES], kind[NAME_MAX_BYTES];
	bool is_static = memory_u32(t->memory, entry + t->value[VM_SYM_STRUCT_STATIC]) != 0;
	u64 at = memory_u64(t->memory, entry + t->value[is_static ? VM_SYM_STRUCT_ADDRESS : VM_SYM_STRUCT_OFFSET]);
	u64 kind_va;

	memory_text(t->memory, memory_u64(t->memory, entry + t->value[VM_SYM_STRUCT_FIELD]), field, sizeof(field));
	if (is_static && !strcmp(type, "StubRoutines"))
		add_stub(vm, field, at);
	for (u32 i = 0; i < VM_FIELD_COUNT; i++) {
		if (strcmp(vm_fields[i].type, type) || strcmp(vm_fields[i].field, field))
			continue;
		kind_va = memory_u64(t->memory, entry + t->value[VM_SYM_STRUCT_KIND]);
		kind[0] = '\0';
		if (kind_va)
			memory_text(t->memory, kind_va, kind, sizeof(kind));
		vm->at[i] = at;
		vm->is_short[i] = is_short(kind);
	}
}

static bool is_wanted(const char *type)
{
	for (u32 i = 0; i < VM_FIELD_COUNT; i++)
		if (!strcmp(vm_fields[i].type, type))
			return true;
	return false;
}

static void read_structs(struct vm *vm, const struct tables *t)
{
	u64 entry = t->value[VM_SYM_STRUCTS];
	char type[NAME_MAX_BYTES];

	for (u32 i = 0; i < ENTRIES_MAX; i++, entry += t->value[VM_SYM_STRUCT_STRIDE]) {
		u64 type_va = memory_u64(t->memory, entry + t->value[VM_SYM_STRUCT_TYPE]);

		if (!type_va)
			break;
		memory_text(t->memory, type_va, type, sizeof(type));
		if (is_wanted(type))
			read_field(vm, t, entry, type);
	}
}

static void read_types(struct vm *vm, const struct tables *t)
{
	u64 entry = t->value[VM_SYM_TYPES];
	char type[NAME_MAX_BYTES];

	for (u32 i = 0; i < ENTRIES_MAX; i++, entry += t->value[VM_SYM_TYPE_STRIDE]) {
		u64 type_va = memory_u64(t->memory, entry + t->value[VM_SYM_TYPE_NAME]);

		if (!type_va)
			break;
		memory_text(t->memory, type_va, type, sizeof(type));
		for (u32 k = 0; k < VM_TYPE_COUNT; k++)
			if (!strcmp(vm_types[k].type, type))
				vm->size[k] = memory_u32(t->memory, entry + t->value[VM_SYM_TYPE_SIZE]);
	}
}

bool vm_has(const struct vm *vm, enum vm_field field)
{
	return vm->at[field] != VM_NONE;
}

/* HotSpot 25 is both that of JDK 8 and that of JDK 25: the former had one code heap. */
static void find_release(struct vm *vm, struct memory *memory)
{
	vm->major = vm_has(vm, VM_CACHE_HEAP) ? 8 : memory_u32(memory, vm->at[VM_VERSION]);
	vm->release = releases[0];
	for (u32 i = 0; i < sizeof(releases) / sizeof(*releases); i++)
		if (vm->major >= releases[i].from)
			vm->release = releases[i];
}

int vm_read(struct vm *vm, struct memory *memory, const u64 symbol_va[VM_SYMBOL_COUNT])
{
	struct tables t = { .memory = memory };
	int r;

	memcpy(t.symbol_va, symbol_va, sizeof(t.symbol_va));
	r = tables_open(&t);
	if (r < 0)
		return r;
	*vm = (struct vm){ 0 };
	memset(vm->at, 0xff, sizeof(vm->at));
	read_structs(vm, &t);
	read_types(vm, &t);
	if (memory_err(memory) < 0)
		return memory_err(memory);
	for (u32 i = 0; i < VM_FIELD_COUNT; i++)
		if (vm_fields[i].is_needed && vm->at[i] == VM_NONE)
			return -ENOTSUP;
	for (u32 i = 0; i < VM_TYPE_COUNT; i++)
		if ((vm_types[i].is_needed && !vm->size[i]) || vm->size[i] > STRIDE_MAX)
			return -ENOTSUP;
	find_release(vm, memory);
	return memory_err(memory);
}

s64 vm_int(const struct vm *vm, struct memory *memory, u64 object, enum vm_field field)
{
	if (vm->is_short[field])
		return memory_u16(memory, object + vm->at[field]);
	return (s32)memory_u32(memory, object + vm->at[field]);
}

u64 vm_pointer(const struct vm *vm, struct memory *memory, u64 object, enum vm_field field)
{
	return memory_u64(memory, object + vm->at[field]);
}

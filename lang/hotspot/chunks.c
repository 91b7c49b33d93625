// SPDX-License-Identifier: Apache-2.0
#include "lang/hotspot/chunks.h"

#include <errno.h>
#include <string.h>

#include "lang/hotspot/hotspot.h"
#include "lang/hotspot/symbol.h"
#include "lang/hotspot/unsigned5.h"
#include "lang/hotspot/vm.h"
#include "lang/memory.h"

#define KNOWN_CLASSES_MAX 256	/* that the JVM knows itself; JDK 21 has 116 */
#define FIELDS_MAX 64		/* of one class; a StackChunk has 8 */
#define FLAGS_MAX 8192		/* options; JDK 21 has 1,251 */
#define FLAG_NAME_BYTES 32
#define OFFSET_MAX 1024		/* of a field */
#define OOP_SHIFT_MAX 8
#define MODERN_ZGC 24		/* the version from which on it has generations only */

/* Of FieldInfo's flags, each but the second says that a number follows (src/hotspot/share/oops/fieldInfo.hpp). */
#define FIELD_INITIALIZED 0x01
#define FIELD_INJECTED    0x02
#define FIELD_GENERIC     0x04
#define FIELD_CONTENDED   0x10

/* Everything that is needed is published, in this version. */
static bool is_published(const struct vm *vm)
{
	static const enum vm_field needed[] = { VM_FIRST_CLASS, VM_LATER_CLASS, VM_KLASS_FIELDS, VM_BYTES_DATA,
						VM_FLAGS, VM_FLAG_COUNT, VM_FLAG_NAME, VM_FLAG_VALUE };

	for (u32 i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!vm_has(vm, needed[i]))
			return false;
	return vm->release.entry_bytes && vm->size[VM_SIZE_FLAG];
}

/* One of the classes that the JVM knows itself, which it keeps in an array; 0 if it is not there. */
static u64 find_class(const struct vm *vm, struct memory *m, const char *name)
{
	char text[SYMBOL_MAX];
	u64 at = vm->at[VM_FIRST_CLASS];

	for (u32 i = 0; i < KNOWN_CLASSES_MAX && at < vm->at[VM_LATER_CLASS]; i++, at += 8) {
		u64 klass = memory_u64(m, at);

		if (!klass)
			continue;
		symbol_of_class(vm, m, klass, text);
		if (!strcmp(text, name))
			return klass;
	}
	return 0;
}

/*
 * Where a field is in the objects of a class; 0 if it has none of that name. All fields of a class are told of in
 * compressed numbers: how many there are, how many the JVM has added, and of each
 *	name, signature, offset, access, flags [, initial value] [, generic signature] [, group]
 */
static u16 find_field(const struct vm *vm, struct memory *m, u64 klass, const char *name)
{
	u64 pool = vm_pointer(vm, m, klass, VM_KLASS_POOL);
	struct unsigned5 s = { .memory = m, .no_zero = vm->release.no_zero,
			       .va = vm_pointer(vm, m, klass, VM_KLASS_FIELDS) + vm->at[VM_BYTES_DATA] };
	u32 count = unsigned5_next(&s);
	char text[SYMBOL_MAX];

	(void)unsigned5_next(&s);
	for (u32 i = 0; i < count && i < FIELDS_MAX && !memory_err(m); i++) {
		u32 name_index = unsigned5_next(&s), offset, flags;

		(void)unsigned5_next(&s);
		offset = unsigned5_next(&s);
		(void)unsigned5_next(&s);
		flags = unsigned5_next(&s);
		for (u32 bit = FIELD_INITIALIZED; bit <= FIELD_CONTENDED; bit <<= 1)
			if (flags & bit & (FIELD_INITIALIZED | FIELD_GENERIC | FIELD_CONTENDED))
				(void)unsigned5_next(&s);
		if (flags & FIELD_INJECTED)
			continue;
		symbol_of_pool(vm, m, pool, name_index, text);
		if (!strcmp(text, name))
			return offset < OFFSET_MAX ? (u16)offset : 0;
	}
	return 0;
}

/* An option that is on or off; off if there is none of that name. */
static bool find_flag(const struct vm *vm, struct memory *m, const char *name)
{
	u64 at = memory_u64(m, vm->at[VM_FLAGS]), count = memory_u64(m, vm->at[VM_FLAG_COUNT]);
	char text[FLAG_NAME_BYTES];

	for (u32 i = 0; i < FLAGS_MAX && i < count && !memory_err(m); i++, at += vm->size[VM_SIZE_FLAG]) {
		u64 name_va = vm_pointer(vm, m, at, VM_FLAG_NAME);

		if (!name_va)
			break;
		memory_text(m, name_va, text, sizeof(text));
		if (!strcmp(text, name))
			return memory_u8(m, vm_pointer(vm, m, at, VM_FLAG_VALUE)) != 0;
	}
	return false;
}

static void read_oops(const struct vm *vm, struct memory *m, struct hotspot_chunks *c)
{
	enum vm_field base = vm_has(vm, VM_OOP_BASE) ? VM_OOP_BASE : VM_OOP_BASE_OLD;
	enum vm_field shift = vm_has(vm, VM_OOP_SHIFT) ? VM_OOP_SHIFT : VM_OOP_SHIFT_OLD;

	if (find_flag(vm, m, "UseCompressedOops")) {
		if (!vm_has(vm, base) || !vm_has(vm, shift))
			return;
		c->oop = HOTSPOT_OOP_COMPRESSED;
		c->oop_base = memory_u64(m, vm->at[base]);
		c->oop_shift = (u8)memory_u32(m, vm->at[shift]);
		return;
	}
	c->oop = find_flag(vm, m, "UseZGC") && (vm->major >= MODERN_ZGC || find_flag(vm, m, "ZGenerational")) ?
		 HOTSPOT_OOP_COLOURED : HOTSPOT_OOP_ADDRESS;
}

static bool is_plausible(const struct hotspot_chunks *c)
{
	const u16 ints[] = { c->sp, c->bottom, c->size };

	for (u32 i = 0; i < sizeof(ints) / sizeof(*ints); i++)
		if (!ints[i] || ints[i] & 3 || ints[i] > HOTSPOT_CHUNK_BYTES - 4)
			return false;
	return c->tail && !(c->tail & 3) && c->parent && !(c->parent & 3) && c->oop_shift <= OOP_SHIFT_MAX &&
	       c->frames && !(c->frames & 7) && c->frames <= OFFSET_MAX;
}

int chunks_read(const struct vm *vm, struct memory *m, struct hotspot_chunks *ret_chunks)
{
	struct hotspot_chunks c = { .entry_bytes = vm->release.entry_bytes, .entry_cont = vm->release.entry_cont };
	u64 continuation, chunk;

	*ret_chunks = (struct hotspot_chunks){ .oop = HOTSPOT_OOP_UNKNOWN };
	if (!is_published(vm))
		return 0;
	if (!memory_u64(m, vm->at[VM_LATER_CLASS]))
		return memory_err(m) < 0 ? 0 : -EAGAIN;
	continuation = find_class(vm, m, "jdk/internal/vm/Continuation");
	chunk = find_class(vm, m, "jdk/internal/vm/StackChunk");
	if (!continuation || !chunk)
		return 0;
	c.tail = find_field(vm, m, continuation, "tail");
	c.sp = find_field(vm, m, chunk, "sp");
	c.size = find_field(vm, m, chunk, "size");
	c.parent = find_field(vm, m, chunk, "parent");
	c.bottom = find_field(vm, m, chunk, "bottom");
	if (!c.bottom) {
		c.bottom = find_field(vm, m, chunk, "argsize");
		c.has_argsize = 1;
	}
	/* The lowest bit only says how such an object is made. */
	c.frames = (u16)(vm_int(vm, m, chunk, VM_KLASS_LAYOUT) & ~1);
	if (vm->size[VM_SIZE_CONT_ENTRY])
		c.entry_bytes = (u16)((vm->size[VM_SIZE_CONT_ENTRY] + 15) & ~15u);
	if (vm_has(vm, VM_CONT_PC))
		c.entry_pc_va = vm->at[VM_CONT_PC];
	read_oops(vm, m, &c);
	if (!memory_err(m) && is_plausible(&c))
		*ret_chunks = c;
	return 0;
}

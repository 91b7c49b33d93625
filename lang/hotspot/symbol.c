// SPDX-License-Identifier: Apache-2.0
#include "lang/hotspot/symbol.h"

#include "lang/hotspot/vm.h"
#include "lang/memory.h"

void symbol_read(const struct vm *vm, struct memory *m, u64 symbol, char to[SYMBOL_MAX])
{
	u32 length = memory_u16(m, symbol + vm->at[VM_SYMBOL_LENGTH]);

	if (length > SYMBOL_MAX - 1)
		length = SYMBOL_MAX - 1;
	memory_read(m, symbol + vm->at[VM_SYMBOL_BODY], to, length);
	to[length] = '\0';
}

void symbol_of_pool(const struct vm *vm, struct memory *m, u64 pool, u32 index, char to[SYMBOL_MAX])
{
	to[0] = '\0';
	if (!index || (s64)index >= vm_int(vm, m, pool, VM_POOL_LENGTH))
		return;
	symbol_read(vm, m, memory_u64(m, pool + vm->size[VM_SIZE_CONSTANT_POOL] + 8 * (u64)index), to);
}

void symbol_of_class(const struct vm *vm, struct memory *m, u64 klass, char to[SYMBOL_MAX])
{
	symbol_read(vm, m, vm_pointer(vm, m, klass, VM_KLASS_NAME), to);
}

// SPDX-License-Identifier: Apache-2.0
#include "lang/hotspot/method.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lang/memory.h"
#include "lang/hotspot/signature.h"
#include "lang/hotspot/symbol.h"
#include "lang/hotspot/unsigned5.h"
#include "lang/hotspot/vm.h"
#include "lang/lang.h"

#define HAS_LINES 1		/* of ConstMethod's flags, in all versions */
#define LINES_MAX 65536		/* rows of one method: it has no more bytecodes */

/* A method's constant part, and its place in a class. */
struct parts {
	u64 const_method, pool, klass;
};

static int find_parts(const struct vm *vm, struct memory *m, u64 method, struct parts *ret)
{
	ret->const_method = vm_pointer(vm, m, method, VM_METHOD_CONST);
	ret->pool = vm_pointer(vm, m, ret->const_method, VM_CONST_POOL);
	ret->klass = vm_pointer(vm, m, ret->pool, VM_POOL_HOLDER);
	return memory_err(m);
}

static u64 bytecode_va(const struct vm *vm, const struct parts *p)
{
	return p->const_method + vm->size[VM_SIZE_CONST_METHOD];
}

static u32 code_size(const struct vm *vm, struct memory *m, const struct parts *p)
{
	return memory_u16(m, p->const_method + vm->at[VM_CONST_CODE_SIZE]);
}

s32 method_bci(const struct vm *vm, struct memory *m, u64 method, u64 bcp)
{
	struct parts p;
	u32 size;

	if (find_parts(vm, m, method, &p) < 0)
		return METHOD_NO_BCI;
	size = code_size(vm, m, &p);
	if (bcp - bytecode_va(vm, &p) < size)
		return (s32)(bcp - bytecode_va(vm, &p));
	return bcp < size ? (s32)bcp : METHOD_NO_BCI;
}

static void read_class(const struct vm *vm, struct memory *m, const struct parts *p, char to[SYMBOL_MAX])
{
	char *hidden;

	symbol_of_class(vm, m, p->klass, to);
	/* A hidden class, such as that of a lambda, has an address in its name, other in each run. */
	hidden = strstr(to, "+0x");
	if (!hidden)
		hidden = strstr(to, "/0x");
	if (hidden)
		*hidden = '\0';
	for (char *at = to; *at; at++)
		if (*at == '/')
			*at = '.';
}

static void read_source(const struct vm *vm, struct memory *m, const struct parts *p, char to[SYMBOL_MAX])
{
	u64 at = vm_has(vm, VM_POOL_SOURCE) ? p->pool + vm->at[VM_POOL_SOURCE] :
		 vm_has(vm, VM_KLASS_SOURCE) ? p->klass + vm->at[VM_KLASS_SOURCE] : 0;

	to[0] = '\0';
	if (at)
		symbol_of_pool(vm, m, p->pool, memory_u16(m, at), to);
}

/*
 * The line of a bytecode: rows of how many bytecodes and how many lines further on, in a byte where they are small,
 *	7    3 2    0
 *	| bci  | line |		0: the end; 0xff: two numbers follow instead
 */
static u32 find_line(const struct vm *vm, struct memory *m, const struct parts *p, s32 bci)
{
	struct unsigned5 rows = { .memory = m, .va = bytecode_va(vm, p) + code_size(vm, m, p),
				  .no_zero = vm->release.no_zero };
	enum vm_field flags = vm_has(vm, VM_CONST_FLAGS) ? VM_CONST_FLAGS : VM_CONST_FLAGS_NEW;
	s32 row_bci = 0, row_line = 0, line = 0;

	if (bci < 0 || !vm_has(vm, flags) || !(memory_u16(m, p->const_method + vm->at[flags]) & HAS_LINES))
		return 0;
	for (u32 i = 0; i < LINES_MAX; i++) {
		u8 byte = memory_u8(m, rows.va++);

		if (!byte || memory_err(m) < 0)
			break;
		if (byte == 0xff) {
			row_bci = (s32)((u32)row_bci + (u32)unsigned5_next_signed(&rows));
			row_line = (s32)((u32)row_line + (u32)unsigned5_next_signed(&rows));
		} else {
			row_bci += byte >> 3;
			row_line += byte & 7;
		}
		if (row_bci > bci)
			break;
		line = row_line;
	}
	return line > 0 ? (u32)line : 0;
}

int method_name(const struct vm *vm, struct memory *m, u64 method, s32 bci, struct lang_names *names)
{
	char class[SYMBOL_MAX], name[SYMBOL_MAX], file[SYMBOL_MAX], descriptor[SYMBOL_MAX] = "";
	char function[4 * SYMBOL_MAX];
	struct parts p;
	u32 line;

	if (find_parts(vm, m, method, &p) < 0)
		return memory_err(m);
	read_class(vm, m, &p, class);
	symbol_of_pool(vm, m, p.pool, memory_u16(m, p.const_method + vm->at[VM_CONST_NAME]), name);
	if (LANG_WANTS(m->process->wishes, java_signatures))
		symbol_of_pool(vm, m, p.pool, memory_u16(m, p.const_method + vm->at[VM_CONST_SIGNATURE]), descriptor);
	read_source(vm, m, &p, file);
	line = find_line(vm, m, &p, bci);
	if (memory_err(m) < 0)
		return memory_err(m);
	if (!class[0] || !name[0])
		return -EBADMSG;
	(void)snprintf(function, sizeof(function), "%s.%s", class, name);
	signature_add(descriptor, function, sizeof(function));
	lang_names_line(names, function, file, line);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/clr_method.h"

#include <errno.h>

#include "base/buf.h"
#include "lang/dotnet/clr_layout.h"
#include "lang/dotnet/metadata.h"
#include "lang/dotnet/clr_modules.h"
#include "lang/memory.h"

#define KIND_MASK 7
#define KIND_ARRAY 4
#define KIND_DYNAMIC 7		/* made at run time: it has a name, and no place in metadata */
#define NO_SHORT_TOKEN 0xffff

/* Which type a MethodTable is of, by its row; 0: it does not say. */
static u32 type_token(const struct clr_layout *l, struct memory *m, u64 table_va)
{
	u64 at = table_va + l->at[CLR_TABLE_FLAGS2];
	u16 token;

	if (!l->tokens_are_short)
		return memory_u32(m, at) >> 8;
	token = memory_u16(m, at + 2);
	return token == NO_SHORT_TOKEN ? 0 : token;
}

/*
 * The metadata that a method's rows are in. Before 8 the table of an instance of a generic type says which module it
 * was made for, which need not define it. Whoever does has the method in that very type; most often it is the one of
 * the basic types.
 */
static const struct metadata *find_metadata(const struct clr_layout *l, struct memory *m, struct clr_modules *modules,
					    u64 table_va, struct clr_method *method)
{
	u64 module_va = memory_u64(m, table_va + l->at[CLR_TABLE_MODULE]);
	const struct metadata *md = clr_modules_metadata(modules, m, l, module_va);
	u32 type = type_token(l, m, table_va);

	if (!md || !type || metadata_type_of(m, md, method->row) == type) {
		method->module_va = module_va;
		return md;
	}
	md = clr_modules_largest(modules);
	return md && metadata_type_of(m, md, method->row) == type ? md : NULL;
}

int clr_method_name(const struct clr_layout *l, struct memory *m, struct clr_modules *modules, u64 method_va,
		    struct buf *text, struct clr_method *ret_method)
{
	struct clr_method method = { 0 };
	u32 low = memory_u16(m, method_va + l->at[CLR_METHOD_TOKEN]) & ((1u << l->token_bits) - 1);
	u32 kind = memory_u16(m, method_va + l->at[CLR_METHOD_FLAGS]) & KIND_MASK, high;
	u64 chunk_va = method_va - (u64)memory_u8(m, method_va + l->at[CLR_METHOD_INDEX]) * l->alignment -
		       l->at[CLR_CHUNK_BYTES];
	char name[METADATA_NAME_MAX];
	const struct metadata *md;

	*ret_method = method;
	if (kind == KIND_DYNAMIC) {
		memory_text(m, memory_u64(m, method_va + l->at[CLR_DYNAMIC_NAME]), name, sizeof(name));
		buf_addf(text, "%s", name[0] ? name : "(dynamic method)");
		return memory_err(m);
	}
	if (kind == KIND_ARRAY) {
		buf_addf(text, "(array method)");
		return memory_err(m);
	}
	high = memory_u16(m, chunk_va + l->at[CLR_CHUNK_TOKEN]) & ((1u << (24 - l->token_bits)) - 1);
	method.row = high << l->token_bits | low;
	md = find_metadata(l, m, modules, memory_u64(m, chunk_va + l->at[CLR_CHUNK_TABLE]), &method);
	if (memory_err(m))
		return memory_err(m);
	if (md)
		metadata_method_name(m, md, method.row, text);
	if (memory_err(m))
		return memory_err(m);
	*ret_method = method;
	return text->len ? 0 : -ENODATA;
}

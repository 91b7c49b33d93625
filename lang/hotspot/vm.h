/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a JVM says of itself: the places of the fields of its C++ objects, which it publishes for debuggers in
 * gHotSpotVMStructs and gHotSpotVMTypes. They are read from the live process: the tables are filled in when libjvm is
 * loaded, and hold the addresses of its statics.
 */
#ifndef LANG_HOTSPOT_VM_H
#define LANG_HOTSPOT_VM_H

#include <stdbool.h>

#include "abi.h"

struct memory;

/* X(ID, type, field, is_needed): of each its offset or, for a static, its address. Versions differ in what they have */
#define VM_FIELDS(X)                                                    \
	X(BLOB_NAME, "CodeBlob", "_name", 1)                             \
	X(BLOB_FRAME_SIZE, "CodeBlob", "_frame_size", 1)                 \
	X(BLOB_FRAME_COMPLETE, "CodeBlob", "_frame_complete_offset", 1)  \
	X(BLOB_CODE_BEGIN, "CodeBlob", "_code_begin", 0)                 \
	X(BLOB_CODE_OFFSET, "CodeBlob", "_code_offset", 0)               \
	X(BLOB_DATA_OFFSET, "CodeBlob", "_data_offset", 0)               \
	X(BLOB_MUTABLE_DATA, "CodeBlob", "_mutable_data", 0)             \
	X(BLOB_RELOCATION_SIZE, "CodeBlob", "_relocation_size", 0)       \
	X(CACHE_HEAP, "CodeCache", "_heap", 0)                           \
	X(CACHE_HEAPS, "CodeCache", "_heaps", 0)                         \
	X(HEAP_MEMORY, "CodeHeap", "_memory", 1)                         \
	X(HEAP_SEGMAP, "CodeHeap", "_segmap", 1)                         \
	X(HEAP_SHIFT, "CodeHeap", "_log2_segment_size", 1)               \
	X(SPACE_LOW, "VirtualSpace", "_low_boundary", 1)                 \
	X(SPACE_HIGH, "VirtualSpace", "_high_boundary", 1)               \
	X(ARRAY_LEN, "GrowableArrayBase", "_len", 0)                     \
	X(ARRAY_LEN_OLD, "GenericGrowableArray", "_len", 0)              \
	X(ARRAY_DATA, "GrowableArray<int>", "_data", 1)                  \
	X(INTERPRETER_CODE, "AbstractInterpreter", "_code", 1)           \
	X(QUEUE_BUFFER, "StubQueue", "_stub_buffer", 1)                  \
	X(QUEUE_LIMIT, "StubQueue", "_buffer_limit", 1)                  \
	X(CODELET_SIZE, "InterpreterCodelet", "_size", 1)                \
	X(CODELET_TEXT, "InterpreterCodelet", "_description", 1)         \
	X(CALL_STUB, "StubRoutines", "_call_stub_return_address", 1)     \
	X(VERSION, "Abstract_VM_Version", "_vm_major_version", 1)        \
	X(NMETHOD_METHOD, "nmethod", "_method", 0)                       \
	X(COMPILED_METHOD, "CompiledMethod", "_method", 0)               \
	X(NMETHOD_ID, "nmethod", "_compile_id", 1)                       \
	X(NMETHOD_ORIG_PC, "nmethod", "_orig_pc_offset", 1)              \
	X(NMETHOD_DEOPT_OLD, "nmethod", "_deoptimize_offset", 0)         \
	X(NMETHOD_DEOPT, "nmethod", "_deopt_handler_offset", 0)          \
	X(COMPILED_DEOPT, "CompiledMethod", "_deopt_handler_begin", 0)   \
	X(NMETHOD_PCS, "nmethod", "_scopes_pcs_offset", 1)               \
	X(NMETHOD_DEPENDENCIES, "nmethod", "_dependencies_offset", 0)    \
	X(NMETHOD_SCOPES, "nmethod", "_scopes_data_offset", 0)           \
	X(COMPILED_SCOPES, "CompiledMethod", "_scopes_data_begin", 0)    \
	X(NMETHOD_METADATA, "nmethod", "_metadata_offset", 0)            \
	X(NMETHOD_IMMUTABLE, "nmethod", "_immutable_data", 0)            \
	X(PC_OFFSET, "PcDesc", "_pc_offset", 1)                          \
	X(PC_SCOPE, "PcDesc", "_scope_decode_offset", 1)                 \
	X(METHOD_CONST, "Method", "_constMethod", 1)                     \
	X(CONST_POOL, "ConstMethod", "_constants", 1)                    \
	X(CONST_FLAGS, "ConstMethod", "_flags", 0)                       \
	X(CONST_FLAGS_NEW, "ConstMethod", "_flags._flags", 0)            \
	X(CONST_CODE_SIZE, "ConstMethod", "_code_size", 1)               \
	X(CONST_NAME, "ConstMethod", "_name_index", 1)                   \
	X(CONST_SIGNATURE, "ConstMethod", "_signature_index", 1)         \
	X(POOL_HOLDER, "ConstantPool", "_pool_holder", 1)                \
	X(POOL_LENGTH, "ConstantPool", "_length", 1)                     \
	X(POOL_SOURCE, "ConstantPool", "_source_file_name_index", 0)     \
	X(KLASS_SOURCE, "InstanceKlass", "_source_file_name_index", 0)   \
	X(KLASS_NAME, "Klass", "_name", 1)                               \
	X(KLASS_LAYOUT, "Klass", "_layout_helper", 1)                    \
	X(KLASS_POOL, "InstanceKlass", "_constants", 1)                  \
	X(KLASS_FIELDS, "InstanceKlass", "_fieldinfo_stream", 0)         \
	X(BYTES_DATA, "Array<u1>", "_data", 0)                           \
	X(FIRST_CLASS, "vmClasses", VM_KNOWN_CLASS("Object"), 0)         \
	X(LATER_CLASS, "vmClasses", VM_KNOWN_CLASS("MethodHandle"), 0)   \
	X(CONT_PC, "ContinuationEntry", "_return_pc", 0)                 \
	X(OOP_BASE, "CompressedOops", "_base", 0)                        \
	X(OOP_BASE_OLD, "CompressedOops", "_narrow_oop._base", 0)        \
	X(OOP_SHIFT, "CompressedOops", "_shift", 0)                      \
	X(OOP_SHIFT_OLD, "CompressedOops", "_narrow_oop._shift", 0)      \
	X(FLAGS, "JVMFlag", "flags", 0)                                  \
	X(FLAG_COUNT, "JVMFlag", "numFlags", 0)                          \
	X(FLAG_NAME, "JVMFlag", "_name", 0)                              \
	X(FLAG_VALUE, "JVMFlag", "_addr", 0)                             \
	X(SYMBOL_LENGTH, "Symbol", "_length", 1)                         \
	X(SYMBOL_BODY, "Symbol", "_body", 1)

#define VM_KNOWN_CLASS(name) "_klasses[static_cast<int>(vmClassID::" name "_klass_knum)]"

/* X(ID, type, is_needed): sizes; 0: this version has none. */
#define VM_TYPES(X)                           \
	X(CONST_METHOD, "ConstMethod", 1)      \
	X(CONSTANT_POOL, "ConstantPool", 1)    \
	X(HEAP_BLOCK, "HeapBlock", 1)          \
	X(PC_DESC, "PcDesc", 1)                \
	X(CODELET, "InterpreterCodelet", 1)    \
	X(CONT_ENTRY, "ContinuationEntry", 0)  \
	X(FLAG, "JVMFlag", 0)

enum vm_field {
#define X(ID, type, field, is_needed) VM_##ID,
	VM_FIELDS(X)
#undef X
	VM_FIELD_COUNT
};

enum vm_type {
#define X(ID, type, is_needed) VM_SIZE_##ID,
	VM_TYPES(X)
#undef X
	VM_TYPE_COUNT
};

/* What is not published, by version. */
struct vm_release {
	u32 from;		/* this major version and later */
	u8 bcp_slot;		/* words below the frame pointer of an interpreted frame, where its bytecode is kept */
	bool no_zero;		/* compressed numbers avoid the byte 0: see unsigned5.h */
	u8 entry_bytes;		/* of a ContinuationEntry, as long as JDK does not publish it */
	u8 entry_cont;		/* where in it the Continuation is */
};

#define VM_NEWEST 25		/* the last version that was looked at; later ones are read as this one */
#define VM_STUBS_MAX 160
#define VM_STUB_NAME_MAX 48
#define VM_NONE (~(u64)0)

/* A static of StubRoutines: the address of a piece of generated code, once there is one. */
struct vm_stub {
	u64 pointer_va;
	char name[VM_STUB_NAME_MAX];
};

struct vm {
	u64 at[VM_FIELD_COUNT];		/* offset or address; VM_NONE: this version has none */
	bool is_short[VM_FIELD_COUNT];	/* 16 bits */
	u32 size[VM_TYPE_COUNT];
	u32 major;			/* 8, 11, 17 ... */
	struct vm_release release;
	u32 stub_count;
	struct vm_stub stubs[VM_STUBS_MAX];
};

/* The words that lead to the tables: X(ID, symbol). Each is an exported variable of libjvm. */
#define VM_SYMBOLS(X)                                                 \
	X(STRUCTS, "gHotSpotVMStructs")                                \
	X(STRUCT_STRIDE, "gHotSpotVMStructEntryArrayStride")           \
	X(STRUCT_TYPE, "gHotSpotVMStructEntryTypeNameOffset")          \
	X(STRUCT_FIELD, "gHotSpotVMStructEntryFieldNameOffset")        \
	X(STRUCT_KIND, "gHotSpotVMStructEntryTypeStringOffset")        \
	X(STRUCT_STATIC, "gHotSpotVMStructEntryIsStaticOffset")        \
	X(STRUCT_OFFSET, "gHotSpotVMStructEntryOffsetOffset")          \
	X(STRUCT_ADDRESS, "gHotSpotVMStructEntryAddressOffset")        \
	X(TYPES, "gHotSpotVMTypes")                                    \
	X(TYPE_STRIDE, "gHotSpotVMTypeEntryArrayStride")               \
	X(TYPE_NAME, "gHotSpotVMTypeEntryTypeNameOffset")              \
	X(TYPE_SIZE, "gHotSpotVMTypeEntrySizeOffset")

enum vm_symbol {
#define X(ID, symbol) VM_SYM_##ID,
	VM_SYMBOLS(X)
#undef X
	VM_SYMBOL_COUNT
};

/*
 * Reads the tables by the addresses of those symbols. -EAGAIN if they are not filled in yet, -ENOTSUP if something that
 * is needed is not in them, else what reading failed with.
 */
int vm_read(struct vm *vm, struct memory *memory, const u64 symbol_va[VM_SYMBOL_COUNT]);

bool vm_has(const struct vm *vm, enum vm_field field);

/* A field of an object, as wide as it is: an int, with its sign, or 16 bits. */
s64 vm_int(const struct vm *vm, struct memory *memory, u64 object, enum vm_field field);
u64 vm_pointer(const struct vm *vm, struct memory *memory, u64 object, enum vm_field field);

#endif

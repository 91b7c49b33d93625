/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises V8, in whatever program it is linked into: node, libnode, Electron. The facts of its file are the numbers
 * that it publishes for debuggers, v8dbg_*; its built-in code is marked.
 */
#ifndef LANG_V8_V8_FILE_H
#define LANG_V8_V8_FILE_H

#include "exe/lang_file.h"

/*
 * X(ID, name): symbols of 32 bits. Versions differ in what they have; CODE_INSIDE is there as long as a Code holds its
 * instructions itself.
 */
#define V8_NUMBERS(X)                                                               \
	X(TAGGED_SIZE, "v8dbg_TaggedSize")                                           \
	X(FP_CONTEXT, "v8dbg_off_fp_context")                                        \
	X(FP_FUNCTION, "v8dbg_off_fp_function")                                      \
	X(FP_BYTECODE_ARRAY, "v8dbg_off_fp_bytecode_array")                          \
	X(FP_BYTECODE_OFFSET, "v8dbg_off_fp_bytecode_offset")                        \
	X(ARRAY_REGISTER, "v8dbg_InterpreterBytecodeArrayRegister")                  \
	X(OFFSET_REGISTER, "v8dbg_InterpreterBytecodeOffsetRegister")                \
	X(MAP_TYPE, "v8dbg_class_Map__instance_type__uint16_t")                      \
	X(FUNCTION_SHARED, "v8dbg_class_JSFunction__shared__SharedFunctionInfo")     \
	X(SHARED_DATA, "v8dbg_class_SharedFunctionInfo__function_data__Object")      \
	X(SHARED_NAME, "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object") \
	X(SHARED_SCRIPT, "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject") \
	X(SHARED_FLAGS, "v8dbg_class_SharedFunctionInfo__flags__int")                \
	X(SCRIPT_SOURCE, "v8dbg_class_Script__source__Object")                       \
	X(SCRIPT_NAME, "v8dbg_class_Script__name__Object")                           \
	X(SCRIPT_LINE_ENDS, "v8dbg_class_Script__line_ends__Object")                 \
	X(SCRIPT_MAP_URL, "v8dbg_class_Script__source_mapping_url__Object")          \
	X(SCOPE_LOCALS, "v8dbg_scopeinfo_idx_ncontextlocals")                        \
	X(SCOPE_VARS, "v8dbg_scopeinfo_idx_first_vars")                              \
	X(BYTECODE_DATA, "v8dbg_class_BytecodeArray__data__uintptr_t")               \
	X(CODE_DEOPT, "v8dbg_class_Code__deoptimization_data__FixedArray")           \
	X(CODE_POSITIONS, "v8dbg_class_Code__source_position_table__ByteArray")      \
	X(STREAM_START, "v8dbg_class_InstructionStream__instruction_start__uintptr_t") \
	X(CODE_INSIDE, "v8dbg_class_Code__instruction_start__uintptr_t")             \
	X(CODE_START, "v8dbg_class_Code__instruction_start__Address")                \
	X(CODE_FLAGS, "v8dbg_class_Code__flags__uint32_t")                           \
	X(CODE_BYTES, "v8dbg_class_Code__instruction_size__int")                     \
	X(BYTECODE_POSITIONS, "v8dbg_class_BytecodeArray__source_position_table__Object") \
	X(BASELINE_DATA, "v8dbg_class_BaselineData__data__HeapObject")               \
	X(CODE_KIND_MASK, "v8dbg_CodeKindFieldMask")                                 \
	X(CODE_KIND_SHIFT, "v8dbg_CodeKindFieldShift")                               \
	X(CODE_KIND_BASELINE, "v8dbg_CodeKindBaseline")                              \
	X(DEOPT_LITERALS, "v8dbg_DeoptimizationDataLiteralArrayIndex")               \
	X(DEOPT_SHARED, "v8dbg_DeoptimizationDataSharedFunctionInfoIndex")           \
	X(DEOPT_WRAPPED, "v8dbg_DeoptimizationDataWrappedSharedFunctionInfoIndex")   \
	X(DEOPT_POSITIONS, "v8dbg_DeoptimizationDataInliningPositionsIndex")         \
	X(STRING_LENGTH, "v8dbg_class_String__length__int32_t")                      \
	X(ONE_BYTE_CHARS, "v8dbg_class_SeqOneByteString__chars__char")               \
	X(TWO_BYTE_CHARS, "v8dbg_class_SeqTwoByteString__chars__char")               \
	X(CONS_FIRST, "v8dbg_class_ConsString__first__String")                       \
	X(CONS_SECOND, "v8dbg_class_ConsString__second__String")                     \
	X(SLICED_PARENT, "v8dbg_class_SlicedString__parent__String")                 \
	X(SLICED_OFFSET, "v8dbg_class_SlicedString__offset__SMI")                    \
	X(THIN_ACTUAL, "v8dbg_class_ThinString__actual__String")                     \
	X(EXTERNAL_RESOURCE, "v8dbg_class_ExternalString__resource__Object")         \
	X(FIRST_NONSTRING, "v8dbg_FirstNonstringType")                               \
	X(STRING_REPRESENTATION, "v8dbg_StringRepresentationMask")                   \
	X(STRING_ENCODING, "v8dbg_StringEncodingMask")                               \
	X(ONE_BYTE_TAG, "v8dbg_OneByteStringTag")                                    \
	X(CONS_TAG, "v8dbg_ConsStringTag")                                           \
	X(SLICED_TAG, "v8dbg_SlicedStringTag")                                       \
	X(THIN_TAG, "v8dbg_ThinStringTag")                                           \
	X(EXTERNAL_TAG, "v8dbg_ExternalStringTag")                                   \
	X(TYPE_FUNCTION, "v8dbg_type_JSFunction__JS_FUNCTION_TYPE")                  \
	X(TYPE_SHARED, "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE")   \
	X(TYPE_SCRIPT, "v8dbg_type_Script__SCRIPT_TYPE")                             \
	X(TYPE_SCOPE, "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE")                       \
	X(TYPE_BYTECODE, "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE")            \
	X(TYPE_BYTES, "v8dbg_type_ByteArray__BYTE_ARRAY_TYPE")                       \
	X(TYPE_ARRAY, "v8dbg_type_FixedArray__FIXED_ARRAY_TYPE")                     \
	X(TYPE_WEAK_ARRAY, "v8dbg_type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE")       \
	X(TYPE_TRUSTED_BYTES, "v8dbg_type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE") \
	X(TYPE_TRUSTED_ARRAY, "v8dbg_type_TrustedFixedArray__TRUSTED_FIXED_ARRAY_TYPE") \
	X(TYPE_PROTECTED_ARRAY, "v8dbg_type_ProtectedFixedArray__PROTECTED_FIXED_ARRAY_TYPE") \
	X(TYPE_TRUSTED_WEAK_ARRAY, "v8dbg_type_TrustedWeakFixedArray__TRUSTED_WEAK_FIXED_ARRAY_TYPE") \
	X(TYPE_BASELINE_DATA, "v8dbg_type_BaselineData__BASELINE_DATA_TYPE")         \
	X(TYPE_CODE, "v8dbg_type_Code__CODE_TYPE")                                   \
	X(TYPE_STREAM, "v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE")      \
	X(FRAME_WASM, "v8dbg_frametype_WasmFrame")                                   \
	X(FRAME_REGEXP, "v8dbg_frametype_IrregexpFrame")                             \
	X(VERSION_MAJOR, "_ZN2v88internal7Version6major_E")                          \
	X(VERSION_MINOR, "_ZN2v88internal7Version6minor_E")

/* X(ID, name): what some versions call it instead. */
#define V8_NUMBERS_ALSO(X)                                                                              \
	X(SHARED_DATA, "v8dbg_class_SharedFunctionInfo__function_data__Tagged_Object_")                  \
	X(CODE_DEOPT, "v8dbg_class_Code__deoptimization_data__Tagged_FixedArray_")                       \
	X(CODE_POSITIONS, "v8dbg_class_Code__source_position_table__Tagged_ByteArray_")                  \
	X(SHARED_NAME, "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_")             \
	X(SHARED_NAME, "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_")   \
	X(SHARED_SCRIPT, "v8dbg_class_SharedFunctionInfo__raw_script__Tagged_Object_")

enum v8_number {
#define X(ID, name) V8_##ID,
	V8_NUMBERS(X)
#undef X
	V8_NUMBER_COUNT
};

/* Facts beyond the numbers: an array of V8's, how many bytes each bytecode has, plain, wide and extra wide. */
enum {
	V8_FACT_SIZES = V8_NUMBER_COUNT,	/* its ELF address, or V8_MISSING */
	V8_FACT_SIZES_BYTES,
	V8_FACT_COUNT
};
_Static_assert(V8_FACT_COUNT <= LANG_FACTS_MAX, "a word for each");

#define V8_MISSING (1ull << 63)		/* not in this version */

extern const struct lang_file_ops v8_file_ops;

#endif

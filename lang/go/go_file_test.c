// SPDX-License-Identifier: Apache-2.0
#include "lang/go/go_file.h"

#include <errno.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "forge_go.h"
#include "lang/go/build_info.h"
#include "lang/go/go.h"
#include "lang/go/pclntab.h"

#define LEAF "\x02\x7f"
#define TEXT FORGE_GO_TEXT
#define SYSTEMSTACK 0x000
#define MCALL 0x100
#define SET_LABELS 0x300
#define LOAD_G 0x500
#define SWITCHES .flags = GO_SP_WRITE | GO_ASM

static const struct forge_go_function functions[] = {
	{ "runtime.systemstack", SYSTEMSTACK, SWITCHES, .pcsp = LEAF },
	{ "runtime.mcall", MCALL, SWITCHES, .pcsp = LEAF },
	{ "runtime.morestack", 0x200, SWITCHES, .pcsp = LEAF },
	{ "runtime/pprof.runtime_setProfLabel", SET_LABELS, .pcsp = LEAF },
	{ "runtime.systemstack", 0x400, .pcsp = LEAF },	/* the wrapper */
	{ "runtime.load_g", LOAD_G, .flags = GO_ASM, .pcsp = LEAF },
};
#define COUNT (sizeof(functions) / sizeof(functions[0]))

/* cmp 0xb8(%rbx),%rax, and mov 0x160(%r14),%rcx, of 1.26 */
static const u8 has_curg[] = { 0x48, 0x3b, 0x83, 0xb8, 0, 0, 0 };
static const u8 has_labels[] = { 0x49, 0x8b, 0x8e, 0x60, 1, 0, 0 };

static const u8 direct[] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0xb0, 0xff, 0xff, 0xff, 0x90, 0x90 };
static const u8 constant[] = { 0x48, 0xc7, 0xc1, 0xf8, 0xff, 0xff, 0xff, 0x64, 0x48, 0x8b, 0x01 };
static const u8 loaded[] = { 0x48, 0x8b, 0x0d, 0x10, 0x20, 0, 0, 0x64, 0x48, 0x8b, 0x01 };

static const u8 other[11];

static u8 code[FORGE_GO_TEXT_BYTES];

/* A program of that version, with `code`. */
static int open_and_recognise(const char *version, const struct forge_go_options *options,
		     struct lang_file *ret_file)
{
	char info[96] = "\xff Go buildinf:\x08\x02";
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct forge_go_options with_code = *options;
	struct forge f;
	int r;

	info[32] = (char)strlen(version);
	memcpy(info + 33, version, strlen(version));
	with_code.code = code;
	forge_go(&f, functions, COUNT, &with_code);
	forge_section(&f, ".go.buildinfo", SHT_PROGBITS, SHF_ALLOC, 0x30000, info, sizeof(info));
	forge_go_finish(&f, options);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	memset(ret_file, 0, sizeof(*ret_file));
	r = go_file_ops.recognise(exe, ret_file);
	forge_done(&f);
	return r;
}

/* ... whose systemstack() begins so. */
static int recognise(const char *version, const u8 tls[11], const struct forge_go_options *options,
		     struct lang_file *ret_file)
{
	memcpy(code + SYSTEMSTACK + 5, tls, 11);
	memcpy(code + SYSTEMSTACK + 0x20, has_curg, sizeof(has_curg));
	return open_and_recognise(version, options, ret_file);
}

static struct go_facts facts_of(const struct lang_file *file)
{
	struct go_facts facts;

	memcpy(&facts, file->facts, sizeof(facts));
	return facts;
}

TEST(go_files_are_recognised)
{
	static const struct forge_go_options options[] = { { 0 }, { .without_sections = true } };
	struct lang_file file;
	struct go_facts facts;

	for (u32 i = 0; i < 2; i++) {
		memcpy(code + SET_LABELS, has_labels, sizeof(has_labels));
		EQ(recognise("go1.26.8", constant, &options[i], &file), 0);
		facts = facts_of(&file);
		EQ(facts.minor, 26);
		EQ(facts.is_newer, 0);
		EQ(facts.tls, -8ull);
		EQ(facts.tls_ea, 0);
		EQ(facts.kind, GO_SLICE);
		EQ(facts.curg, 184);
		EQ(facts.labels, 352);
		EQ(facts.mcall_start_ea, TEXT + MCALL);
		EQ(facts.mcall_end_ea, TEXT + 0x200);
		EQ(file.mark_count, 2);
		EQ(file.marks[1].start_ea, TEXT + 0x200);
	}
}

TEST(go_files_tell_where_g_is)
{
	struct lang_file file;

	EQ(recognise("go1.26.8", direct, &(struct forge_go_options){ 0 }, &file), 0);
	EQ(facts_of(&file).tls, -80ull);
	EQ(recognise("go1.26.8", loaded, &(struct forge_go_options){ 0 }, &file), 0);
	EQ(facts_of(&file).tls_ea, TEXT + SYSTEMSTACK + 5 + 7 + 0x2010);
	EQ(recognise("go1.26.8", other, &(struct forge_go_options){ 0 }, &file), -ENODATA);
}

TEST(go_files_of_other_versions)
{
	struct forge_go_options options = { 0 };
	struct lang_file file;

	memcpy(code + SET_LABELS, has_labels, sizeof(has_labels));
	EQ(recognise("devel go1.99-abcdef X:some", constant, &options, &file), 0);
	EQ(facts_of(&file).is_newer, 1);
	EQ(facts_of(&file).labels, 352);
	/* The structures are not as in that version: curg, then labels. */
	EQ(recognise("go1.24.1", constant, &options, &file), -ENODATA);
	EQ(recognise("go1.25.1", constant, &options, &file), 0);
	EQ(facts_of(&file).labels, 0);
	EQ(recognise("go1.18", constant, &options, &file), -ENODATA);
	EQ(recognise("unknown", constant, &options, &file), -ENODATA);
	memcpy(code + SYSTEMSTACK + 0x30, (u8[]){ 0x48, 0x3b, 0x83, 0xc0, 0, 0, 0 }, 7);
	EQ(recognise("go1.20.14", constant, &options, &file), 0);
	EQ(facts_of(&file).kind, GO_MAP);
	EQ(file.mark_count, 3);
	memset(code + SYSTEMSTACK + 0x30, 0, 7);
	/* Nothing sets labels. */
	memset(code + SET_LABELS, 0, sizeof(has_labels));
	EQ(recognise("go1.26.8", constant, &options, &file), 0);
	EQ(facts_of(&file).labels, 0);
}

static void put_code(u32 at, const u32 *words, size_t bytes)
{
	memset(code + at, 0, 0x20);
	if (bytes)
		memcpy(code + at, words, bytes);
}

TEST(go_files_for_arm64)
{
	/* ldr x6, [x4, #184]; str x0, [x1, #352] */
	static const u32 get_curg[] = { 0xf9405c86 }, set_labels[] = { 0xf900b020 };
	/* mrs x0, tpidr_el0; mov x27, #16, or adrp x27, back by two pages; ldr x27, [x27, #0x48]; ldr x28, [x0, x27] */
	static const u32 direct_g[] = { 0xd503201f, 0xd53bd040, 0xd280021b, 0xf87b681c };
	static const u32 loaded_g[] = { 0xd53bd040, 0xd0fffffb, 0xf940277b, 0xf87b681c };
	static const struct forge_go_options options = { .arm64 = true };
	struct lang_file file;
	struct go_facts facts;

	put_code(SYSTEMSTACK, get_curg, sizeof(get_curg));
	put_code(SET_LABELS, set_labels, sizeof(set_labels));
	put_code(LOAD_G, direct_g, sizeof(direct_g));
	EQ(open_and_recognise("go1.26.8", &options, &file), 0);
	facts = facts_of(&file);
	EQ(facts.curg, 184);
	EQ(facts.labels, 352);
	EQ(facts.tls, 16);
	EQ(facts.tls_ea, 0);
	EQ(facts.mcall_start_ea, 0);
	EQ(file.mark_count, 1);
	EQ(file.marks[0].start_ea, TEXT + 0x200);
	put_code(LOAD_G, loaded_g, sizeof(loaded_g));
	EQ(open_and_recognise("go1.26.8", &options, &file), 0);
	EQ(facts_of(&file).tls, 0);
	EQ(facts_of(&file).tls_ea, (TEXT & ~0xfffull) - 0x2000 + 0x48);
	/* Without it, g is in its register alone. */
	put_code(LOAD_G, NULL, 0);
	EQ(open_and_recognise("go1.26.8", &options, &file), 0);
	EQ(facts_of(&file).tls | facts_of(&file).tls_ea, 0);
	/* The structures are not as in that version. */
	put_code(SYSTEMSTACK, NULL, 0);
	EQ(open_and_recognise("go1.26.8", &options, &file), -ENODATA);
}

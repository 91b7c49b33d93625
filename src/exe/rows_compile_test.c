// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_compile.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>

#include <zlib.h>

#include "exe/cfi.h"
#include "exe/elf.h"
#include "exe/rows.h"
#include "forge_cfi.h"
#include "test.h"

#define TEXT 0x1000
#define TEXT_BYTES 0x1000
#define EH_FRAME 0x8000

static const char nops[TEXT_BYTES];

/* A file with text and the section. */
static void forge_file(struct forge *f, const struct forge_cfi *c)
{
	forge_init(f, c->machine ? c->machine : EM_X86_64);
	forge_section(f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, nops, TEXT_BYTES);
	if (c->is_debug)
		forge_section(f, ".debug_frame", SHT_PROGBITS, 0, 0, c->b.data, c->b.len);
	else
		forge_section(f, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, c->ea, c->b.data, c->b.len);
}

/* Ends the file and compiles it; NULL if it has no rows. */
static struct rows *compile_forge(struct forge *f)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct rows *rows;
	int r;

	forge_finish(f);
	EQ(exe_open_mem(f->b.data, f->b.len, &exe), 0);
	r = rows_compile(exe, NULL, &rows);
	if (r == -ENODATA)
		return NULL;
	EQ(r, 0);
	EQ(rows_check(rows, rows->bytes), 0);
	return rows;
}

static struct rows *compile_cfi(struct forge_cfi *c)
{
	_cleanup_(forge_done) struct forge f;

	forge_file(&f, c);
	return compile_forge(&f);
}

static void check_rule(const struct rows *rows, u64 ea, struct unwind_rule want)
{
	const struct unwind_rule *got = rows_find(rows, ea);

	if (!got && want.kind == RULE_NONE)
		return;
	OK(got);
	if (memcmp(got, &want, sizeof(want)))
		FAIL("at 0x%llx: kind %d reg %d off %d add %d ra %d fp %d saved 0x%x, "
		     "not kind %d reg %d off %d add %d ra %d fp %d saved 0x%x",
		     ea, got->kind, got->cfa_reg, got->cfa_off, got->cfa_add, got->ra_off, got->fp_off, got->saved,
		     want.kind, want.cfa_reg, want.cfa_off, want.cfa_add, want.ra_off, want.fp_off, want.saved);
}

static const struct unwind_rule none = { .kind = RULE_NONE }, end = { .kind = RULE_END };

static struct unwind_rule x86_cfa(u8 reg, s32 off)
{
	return (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = reg, .cfa_off = off, .ra_off = -8 };
}

static struct unwind_rule x86_fp(u8 reg, s32 off, s16 fp_off)
{
	return (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = reg, .cfa_off = off, .ra_off = -8, .fp_off = fp_off,
				     .saved = FP_AT_CFA };
}

/* Compiles one x86-64 function at TEXT, 0x100 long, with that program. */
static struct rows *compile_program(const void *program, size_t len)
{
	struct forge_cfi c;
	struct rows *rows;

	forge_cfi_init(&c, EH_FRAME);
	forge_usual_cie(&c);
	forge_fde(&c, TEXT, 0x100, program, len);
	rows = compile_cfi(&c);
	OK(rows);
	forge_cfi_done(&c);
	return rows;
}

TEST(compile_gives_rows_for_its_own_program)
{
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct rows *rows;

	EQ(exe_map(fd, NULL, &exe), 0);
	EQ(rows_compile(exe, NULL, &rows), 0);
	EQ(rows_check(rows, rows->bytes), 0);
	EQ(rows->dropped_count, 0);
	check_rule(rows, exe->entry_ea, end);
	free(rows);
}

TEST(compile_follows_prologue_and_epilogue)
{
	/* push %rbp; mov %rsp,%rbp; ...; leave; ret; a second way out */
	struct rows *rows = compile_program(BYTES(0x41, DW_CFA_def_cfa_offset, 16, 0x86, 2, 0x43,
						  DW_CFA_def_cfa_register, 6, DW_CFA_advance_loc1, 0x50,
						  DW_CFA_remember_state, DW_CFA_def_cfa, 7, 8, 0xc6, 0x41,
						  DW_CFA_restore_state));

	check_rule(rows, TEXT - 1, none);
	check_rule(rows, TEXT, x86_cfa(7, 8));
	check_rule(rows, TEXT + 1, x86_fp(7, 16, -16));
	check_rule(rows, TEXT + 4, x86_fp(6, 16, -16));
	check_rule(rows, TEXT + 0x53, x86_fp(6, 16, -16));
	check_rule(rows, TEXT + 0x54, x86_cfa(7, 8));
	check_rule(rows, TEXT + 0x55, x86_fp(6, 16, -16));
	check_rule(rows, TEXT + 0xff, x86_fp(6, 16, -16));
	check_rule(rows, TEXT + 0x100, none);
	EQ(rows->dropped_count, 0);
	EQ(rows->text_bytes, 0x100);
	free(rows);
}

TEST(compile_runs_every_instruction_that_moves_the_address)
{
	struct rows *rows = compile_program(BYTES(0x41, DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc1, 1,
						  DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc2, 2, 0,
						  DW_CFA_def_cfa_offset, 32, DW_CFA_advance_loc4, 3, 0, 0, 0,
						  DW_CFA_def_cfa_offset, 40));

	check_rule(rows, TEXT, x86_cfa(7, 8));
	check_rule(rows, TEXT + 1, x86_cfa(7, 16));
	check_rule(rows, TEXT + 2, x86_cfa(7, 24));
	check_rule(rows, TEXT + 4, x86_cfa(7, 32));
	check_rule(rows, TEXT + 7, x86_cfa(7, 40));
	free(rows);
}

TEST(compile_takes_every_way_to_say_an_offset)
{
	const struct {
		const void *program;
		size_t len;
		struct unwind_rule want;
	} table[] = {
#define FP_WAY(off) { .kind = RULE_CFA, .cfa_reg = 7, .cfa_off = 8, .ra_off = -8, .fp_off = off, .saved = FP_AT_CFA }
#define CFA_WAY(reg, off) { .kind = RULE_CFA, .cfa_reg = reg, .cfa_off = off, .ra_off = -8 }
		{ BYTES(0x86, 2), FP_WAY(-16) },
		{ BYTES(DW_CFA_offset_extended, 6, 3), FP_WAY(-24) },
		{ BYTES(DW_CFA_offset_extended_sf, 6, 0x7f), FP_WAY(8) },
		{ BYTES(DW_CFA_GNU_negative_offset_extended, 6, 2), FP_WAY(16) },
		{ BYTES(DW_CFA_def_cfa, 6, 32), CFA_WAY(6, 32) },
		{ BYTES(DW_CFA_def_cfa_sf, 6, 0x7c), CFA_WAY(6, 32) },
		{ BYTES(DW_CFA_def_cfa_offset_sf, 0x7c), CFA_WAY(7, 32) },
		{ BYTES(DW_CFA_def_cfa_offset, 0x80, 0x80, 4), CFA_WAY(7, 65536) },
		{ BYTES(DW_CFA_def_cfa, 10, 0), CFA_WAY(10, 0) },
		{ BYTES(0x86, 2, 0xc6), CFA_WAY(7, 8) },
		{ BYTES(0x86, 2, DW_CFA_restore_extended, 6), CFA_WAY(7, 8) },
		{ BYTES(0x86, 2, DW_CFA_same_value, 6), CFA_WAY(7, 8) },
		{ BYTES(0x86, 2, DW_CFA_undefined, 6), CFA_WAY(7, 8) },
		{ BYTES(DW_CFA_GNU_args_size, 16, DW_CFA_nop), CFA_WAY(7, 8) },
		{ BYTES(0x83, 2, DW_CFA_val_offset, 12, 1, DW_CFA_val_expression, 3, 1, 0x30), CFA_WAY(7, 8) },
		{ BYTES(DW_CFA_undefined, 16), { .kind = RULE_END } },
		{ BYTES(DW_CFA_register, 16, 5),
		  { .kind = RULE_CFA, .cfa_reg = 7, .cfa_off = 8, .ra_off = 5, .saved = RA_IN_REG << 4 } },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct rows *rows = compile_program(table[i].program, table[i].len);

		printf("# way %zu\n", i);
		check_rule(rows, TEXT, table[i].want);
		EQ(rows->dropped_count, 0);
		free(rows);
	}
}

TEST(compile_recognises_expressions)
{
	const struct {
		const void *program;
		size_t len;
		struct unwind_rule want;
	} table[] = {
		/* .plt: rsp + 8 + ((rip & 15) >= 11) * 8 */
		{ BYTES(DW_CFA_def_cfa_expression, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
		  { .kind = RULE_PLT, .cfa_reg = 7, .cfa_off = 8, .cfa_add = 11, .ra_off = -8 } },
		/* breg rsp 24 */
		{ BYTES(DW_CFA_def_cfa_expression, 2, 0x77, 24), CFA_WAY(7, 24) },
		/* breg rsp 24, plus_uconst 8 */
		{ BYTES(DW_CFA_def_cfa_expression, 4, 0x77, 24, 0x23, 8), CFA_WAY(7, 32) },
		/* bregx rbp -8, deref: a realigned stack */
		{ BYTES(DW_CFA_def_cfa_expression, 4, 0x92, 6, 0x78, 0x06, DW_CFA_expression, 6, 2, 0x76, 0),
		  { .kind = RULE_DEREF, .cfa_reg = 6, .cfa_off = -8, .ra_off = -8, .saved = FP_AT_FP } },
		/* breg rsp 32, deref, plus_uconst 8: OpenSSL */
		{ BYTES(DW_CFA_def_cfa_expression, 5, 0x77, 32, 0x06, 0x23, 8),
		  { .kind = RULE_DEREF, .cfa_reg = 7, .cfa_off = 32, .cfa_add = 8, .ra_off = -8 } },
		/* breg rsp 32, deref, lit16, plus; breg rsp 32, deref, const1u 16, minus */
		{ BYTES(DW_CFA_def_cfa_expression, 5, 0x77, 32, 0x06, 0x40, 0x22),
		  { .kind = RULE_DEREF, .cfa_reg = 7, .cfa_off = 32, .cfa_add = 16, .ra_off = -8 } },
		{ BYTES(DW_CFA_def_cfa_expression, 6, 0x77, 32, 0x06, 0x08, 16, 0x1c),
		  { .kind = RULE_DEREF, .cfa_reg = 7, .cfa_off = 32, .cfa_add = -16, .ra_off = -8 } },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct rows *rows = compile_program(table[i].program, table[i].len);

		printf("# expression %zu\n", i);
		check_rule(rows, TEXT, table[i].want);
		free(rows);
	}
}

TEST(compile_gives_no_rule_rather_than_a_wrong_one)
{
	const struct {
		const void *program;
		size_t len;
	} table[] = {
		{ BYTES(DW_CFA_val_expression, 6, 2, 0x77, 8) },	/* rbp = rsp + 8 */
		{ BYTES(DW_CFA_val_offset, 6, 2) },
		{ BYTES(DW_CFA_register, 6, 9) },			/* longjmp: rbp is in r9 */
		{ BYTES(DW_CFA_expression, 6, 2, 0x77, 8) },		/* rbp at rsp + 8 */
		{ BYTES(DW_CFA_expression, 16, 2, 0x77, 8) },		/* rip at rsp + 8 */
		{ BYTES(DW_CFA_same_value, 16) },			/* there is no such register */
		{ BYTES(DW_CFA_def_cfa_register, 40) },
		{ BYTES(DW_CFA_def_cfa_expression, 0) },
		{ BYTES(DW_CFA_def_cfa_expression, 3, 0x77, 8, 0x1f) },	/* neg */
		{ BYTES(DW_CFA_def_cfa_expression, 4, 0x77, 8, 0x06, 0x06) },
		{ BYTES(DW_CFA_def_cfa_expression, 2, 0x77, 8, DW_CFA_def_cfa_offset, 8,
			DW_CFA_def_cfa_expression, 1, 0x96) },
		{ BYTES(DW_CFA_offset_extended, 6, 0x80, 0x80, 1) },	/* not in 16 bits */
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		unsigned char program[64];
		struct rows *rows;

		/* The first byte of the function has a rule, so that there are rows. */
		program[0] = 0x41;
		memcpy(program + 1, table[i].program, table[i].len);
		printf("# program %zu\n", i);
		rows = compile_program(program, table[i].len + 1);
		check_rule(rows, TEXT, x86_cfa(7, 8));
		check_rule(rows, TEXT + 1, none);
		EQ(rows->dropped_count, 0);
		free(rows);
	}
}

TEST(compile_counts_malformed_programs_and_keeps_what_came_before)
{
	const struct {
		const void *program;
		size_t len;
	} table[] = {
		{ BYTES(0x3e) },					/* no such instruction */
		{ BYTES(DW_CFA_restore_state) },			/* nothing was remembered */
		{ BYTES(DW_CFA_def_cfa_expression, 100, 0x77) },	/* longer than the program */
		{ BYTES(DW_CFA_remember_state, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a,
			0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a) },
		{ BYTES(DW_CFA_set_loc, 0, 0x80, 0xff, 0xff) },	/* backwards */
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		unsigned char program[64] = { 0x41, DW_CFA_def_cfa_offset, 16, 0x42 };
		struct rows *rows;

		memcpy(program + 4, table[i].program, table[i].len);
		rows = compile_program(program, table[i].len + 4);
		printf("# program %zu\n", i);
		check_rule(rows, TEXT, x86_cfa(7, 8));
		check_rule(rows, TEXT + 1, x86_cfa(7, 16));
		check_rule(rows, TEXT + 3, none);
		EQ(rows->dropped_count, 1);
		free(rows);
	}
}

TEST(compile_reads_every_shape_of_section)
{
	static const struct forge_cfi shapes[] = {
		{ .ea = EH_FRAME },
		{ .ea = EH_FRAME, .is_64bit = true },
		{ .ea = EH_FRAME, .version = 3 },
		{ .ea = EH_FRAME, .augmentation = "zPLR" },
		{ .ea = EH_FRAME, .augmentation = "zRS" },	/* not a trampoline, whatever it says */
		{ .ea = EH_FRAME, .encoding = 0xff },		/* absptr */
		{ .ea = EH_FRAME, .encoding = 0x03 },		/* udata4 */
		{ .ea = EH_FRAME, .encoding = 0x0b },		/* sdata4 */
		{ .ea = EH_FRAME, .encoding = 0x04 },		/* udata8 */
		{ .ea = EH_FRAME, .encoding = 0x1c },		/* pcrel sdata8 */
		{ .ea = EH_FRAME, .augmentation = "", .encoding = 0xff },
		{ .is_debug = true },
		{ .is_debug = true, .is_64bit = true },
		{ .is_debug = true, .version = 3 },
		{ .is_debug = true, .version = 4 },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct forge_cfi c = shapes[i];
		struct rows *rows;

		printf("# shape %zu\n", i);
		buf_init(&c.b, 1 << 20);
		forge_usual_cie(&c);
		forge_fde(&c, TEXT + 0x40, 0x40, BYTES(0x44, DW_CFA_def_cfa_offset, 16));
		rows = compile_cfi(&c);
		OK(rows);
		check_rule(rows, TEXT + 0x3f, none);
		check_rule(rows, TEXT + 0x43, x86_cfa(7, 8));
		check_rule(rows, TEXT + 0x44, x86_cfa(7, 16));
		check_rule(rows, TEXT + 0x80, none);
		EQ(rows->dropped_count, 0);
		free(rows);
		forge_cfi_done(&c);
	}
}

TEST(compile_refuses_cies_it_does_not_know)
{
	static const struct forge_cfi shapes[] = {
		{ .ea = EH_FRAME, .version = 2 },
		{ .ea = EH_FRAME, .version = 77 },
		{ .ea = EH_FRAME, .augmentation = "zRX" },
		{ .ea = EH_FRAME, .augmentation = "y" },
		{ .ea = EH_FRAME, .encoding = 0x2b },	/* textrel */
		{ .ea = EH_FRAME, .encoding = 0x1f },
		{ .ea = EH_FRAME, .encoding = 0x30 },	/* datarel, but there is no global offset table */
		{ .ea = EH_FRAME, .ra = 15 },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct forge_cfi c = shapes[i], good = { .ea = EH_FRAME };
		struct rows *rows;

		printf("# shape %zu\n", i);
		buf_init(&c.b, 1 << 20);
		forge_usual_cie(&c);
		forge_fde(&c, TEXT, 0x40, BYTES(0));
		good.b = c.b;
		forge_usual_cie(&good);
		forge_fde(&good, TEXT + 0x40, 0x40, BYTES(0));
		rows = compile_cfi(&good);
		OK(rows);
		check_rule(rows, TEXT, none);
		check_rule(rows, TEXT + 0x40, x86_cfa(7, 8));
		EQ(rows->dropped_count, 1);
		free(rows);
		forge_cfi_done(&good);
	}
}

TEST(compile_sorts_functions_and_cuts_those_that_overlap)
{
	struct forge_cfi c;
	struct rows *rows;

	forge_cfi_init(&c, EH_FRAME);
	forge_usual_cie(&c);
	forge_fde(&c, TEXT + 0x80, 0x40, BYTES(DW_CFA_def_cfa_offset, 24));
	forge_int(&c, 0, 4);	/* an end in the middle, as ld -r leaves them */
	forge_int(&c, 0, 4);
	forge_fde(&c, TEXT + 0x20, 0x70, BYTES(DW_CFA_def_cfa_offset, 16, 0x50, DW_CFA_def_cfa_offset, 17, 0x7f, 0x7f,
					       DW_CFA_def_cfa_offset, 99));
	forge_fde(&c, TEXT + 0x20, 0x10, BYTES(DW_CFA_def_cfa_offset, 98));
	forge_fde(&c, TEXT, 0x20, BYTES(DW_CFA_def_cfa_offset, 8));
	forge_fde(&c, 0, 0x20, BYTES(DW_CFA_def_cfa_offset, 97));	/* dropped by the linker */
	rows = compile_cfi(&c);
	check_rule(rows, 0, none);
	check_rule(rows, TEXT, x86_cfa(7, 8));
	check_rule(rows, TEXT + 0x20, x86_cfa(7, 16));
	check_rule(rows, TEXT + 0x30, x86_cfa(7, 17));
	check_rule(rows, TEXT + 0x7f, x86_cfa(7, 17));
	check_rule(rows, TEXT + 0x80, x86_cfa(7, 24));
	check_rule(rows, TEXT + 0xbf, x86_cfa(7, 24));
	check_rule(rows, TEXT + 0xc0, none);
	EQ(rows->text_bytes, 0xc0);
	free(rows);
	forge_cfi_done(&c);
}

TEST(compile_takes_small_gaps_for_padding)
{
	struct forge_cfi c;
	struct rows *rows;

	forge_cfi_init(&c, EH_FRAME);
	forge_usual_cie(&c);
	forge_fde(&c, TEXT, 0x11, BYTES(0));
	forge_fde(&c, TEXT + 0x20, 0x10, BYTES(0));
	forge_fde(&c, TEXT + 0x40, 0x10, BYTES(0));
	rows = compile_cfi(&c);
	check_rule(rows, TEXT + 0x1f, x86_cfa(7, 8));
	check_rule(rows, TEXT + 0x30, none);
	check_rule(rows, TEXT + 0x3f, none);
	check_rule(rows, TEXT + 0x40, x86_cfa(7, 8));
	free(rows);
	forge_cfi_done(&c);
}

TEST(compile_knows_arm64)
{
	static const struct unwind_rule leaf = {
		.kind = RULE_CFA, .cfa_reg = 31, .ra_off = 30, .saved = RA_IN_REG << 4,
	}, frame = {
		.kind = RULE_CFA, .cfa_reg = 31, .cfa_off = 32, .ra_off = -24, .fp_off = -32, .saved = FP_AT_CFA,
	};
	struct forge_cfi c;
	struct rows *rows;

	forge_cfi_init(&c, EH_FRAME);
	c.machine = EM_AARCH64;
	c.augmentation = "zRB";
	forge_usual_cie(&c);
	/* paciasp; stp x29, x30, [sp, -32]!; ...; ldp; autiasp; ret */
	forge_fde(&c, TEXT, 0x40, BYTES(0x41, DW_CFA_AARCH64_negate_ra_state, 0x41, DW_CFA_def_cfa_offset, 32, 0x9d, 4,
					0x9e, 3, 0x48, 0xde, 0xdd, DW_CFA_def_cfa_offset, 0, 0x41,
					DW_CFA_AARCH64_negate_ra_state));
	c.ra = 15;
	forge_usual_cie(&c);
	forge_fde(&c, TEXT + 0x40, 0x40, BYTES(0));
	rows = compile_cfi(&c);
	check_rule(rows, TEXT, leaf);
	check_rule(rows, TEXT + 4, leaf);
	check_rule(rows, TEXT + 8, frame);
	check_rule(rows, TEXT + 0x27, frame);
	check_rule(rows, TEXT + 0x28, leaf);
	check_rule(rows, TEXT + 0x40, (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = 31, .ra_off = 15,
							    .saved = RA_IN_REG << 4 });
	EQ(rows->dropped_count, 0);
	EQ(rows->machine, EM_AARCH64);
	free(rows);
	forge_cfi_done(&c);
}

TEST(compile_tells_saved_registers_from_the_bottom_of_a_large_frame)
{
	/* 64 KiB + 16: x29 at -65552, x30 at -65544; the data alignment is -8. */
	static const struct unwind_rule frame = { .kind = RULE_CFA, .cfa_reg = 31, .cfa_off = 65552, .cfa_add = -65544,
						  .ra_off = 0, .fp_off = -8, .saved = FP_AT_CFA };
	struct forge_cfi c;
	struct rows *rows;

	forge_cfi_init(&c, EH_FRAME);
	c.machine = EM_AARCH64;
	forge_usual_cie(&c);
	forge_fde(&c, TEXT, 0x40, BYTES(DW_CFA_def_cfa_offset, 0x90, 0x80, 0x04, 0x9d, 0x82, 0x40, 0x9e, 0x81, 0x40));
	rows = compile_cfi(&c);
	check_rule(rows, TEXT + 8, frame);
	free(rows);
	forge_cfi_done(&c);
}

TEST(compile_fills_gaps_from_debug_frame)
{
	struct forge_cfi c, d;
	_cleanup_(forge_done) struct forge f, g;
	_cleanup_(exe_freep) struct exe *exe = NULL, *debug = NULL;
	struct rows *rows;

	forge_cfi_init(&c, EH_FRAME);
	forge_usual_cie(&c);
	forge_fde(&c, TEXT + 0x40, 0x40, BYTES(DW_CFA_def_cfa_offset, 16));
	forge_file(&f, &c);
	forge_finish(&f);
	forge_cfi_init(&d, 0);
	d.is_debug = true;
	forge_usual_cie(&d);
	forge_fde(&d, TEXT, 0x100, BYTES(DW_CFA_def_cfa_offset, 24));
	forge_file(&g, &d);
	forge_finish(&g);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	EQ(exe_open_mem(g.b.data, g.b.len, &debug), 0);
	EQ(rows_compile(exe, debug, &rows), 0);
	check_rule(rows, TEXT, x86_cfa(7, 24));
	check_rule(rows, TEXT + 0x40, x86_cfa(7, 16));
	check_rule(rows, TEXT + 0x80, x86_cfa(7, 24));
	check_rule(rows, TEXT + 0x100, none);
	free(rows);
	forge_cfi_done(&c);
	forge_cfi_done(&d);
}

TEST(compile_reads_a_compressed_debug_frame)
{
	struct { Elf64_Chdr h; Bytef data[1000]; } packed = { .h = { .ch_type = ELFCOMPRESS_ZLIB } };
	_cleanup_(forge_done) struct forge f;
	uLongf len = sizeof(packed.data);
	struct forge_cfi c;
	struct rows *rows;

	forge_cfi_init(&c, 0);
	c.is_debug = true;
	forge_usual_cie(&c);
	forge_fde(&c, TEXT, 0x40, BYTES(0));
	EQ(compress(packed.data, &len, (Bytef *)c.b.data, c.b.len), Z_OK);
	packed.h.ch_size = c.b.len;
	forge_init(&f, EM_X86_64);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, nops, TEXT_BYTES);
	forge_section(&f, ".debug_frame", SHT_PROGBITS, SHF_COMPRESSED, 0, &packed, sizeof(packed.h) + len);
	rows = compile_forge(&f);
	check_rule(rows, TEXT, x86_cfa(7, 8));
	free(rows);
	forge_cfi_done(&c);
}

TEST(compile_finds_eh_frame_without_section_headers)
{
	struct { u8 version, pointer, count, table; s32 eh_frame; } header = { 1, 0x1b, 0xff, 0xff, 0 };
	_cleanup_(forge_done) struct forge f;
	struct forge_cfi c;
	Elf64_Shdr *s;
	struct rows *rows;

	forge_cfi_init(&c, EH_FRAME);
	forge_usual_cie(&c);
	forge_fde(&c, TEXT, 0x40, BYTES(0));
	forge_int(&c, 0, 8);
	forge_int(&c, 0x10, 4);		/* not an entry: the section has ended */
	forge_int(&c, 0x10, 4);
	forge_file(&f, &c);
	header.eh_frame = EH_FRAME - (0x7000 + 4);
	s = forge_section(&f, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, 0x7000, &header, sizeof(header));
	forge_phdr(&f, PT_GNU_EH_FRAME, s);
	forge_finish(&f);
	((Elf64_Ehdr *)f.b.data)->e_shoff = 0;
	{
		_cleanup_(exe_freep) struct exe *exe = NULL;

		EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
		EQ(exe->section_count, 0);
		EQ(rows_compile(exe, NULL, &rows), 0);
	}
	check_rule(rows, TEXT, x86_cfa(7, 8));
	EQ(rows->dropped_count, 0);
	free(rows);
	forge_cfi_done(&c);
}

TEST(compile_gives_no_data_without_rows)
{
	struct forge_cfi c;
	_cleanup_(forge_done) struct forge f, g;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct rows *rows;

	forge_init(&f, EM_X86_64);
	OK(!compile_forge(&f));
	forge_cfi_init(&c, EH_FRAME);
	forge_usual_cie(&c);
	forge_fde(&c, TEXT, 0x40, BYTES(0));
	c.machine = EM_PPC64;
	forge_file(&g, &c);
	OK(!compile_forge(&g));
	((Elf64_Ehdr *)g.b.data)->e_machine = EM_X86_64;
	((Elf64_Ehdr *)g.b.data)->e_ident[EI_CLASS] = ELFCLASS32;
	EQ(exe_open_mem(g.b.data, g.b.len, &exe), 0);
	EQ(rows_compile(exe, NULL, &rows), -ENODATA);
	forge_cfi_done(&c);
}

TEST(compile_survives_any_failing_allocation)
{
	struct forge_cfi c;
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;

	forge_cfi_init(&c, EH_FRAME);
	forge_usual_cie(&c);
	for (int i = 0; i < 0x100; i++)
		forge_fde(&c, TEXT + 0x10 * i, 0x10, BYTES(DW_CFA_def_cfa_offset, 8 + i % 50));
	forge_file(&f, &c);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	for (long n = 0;; n++) {
		struct rows *rows = NULL;
		long asked;
		int r;

		test_alloc_fail(n);
		r = rows_compile(exe, NULL, &rows);
		asked = test_alloc_reset();
		free(rows);
		EQ(r, asked <= n ? 0 : -ENOMEM);
		if (asked <= n)
			break;
	}
	forge_cfi_done(&c);
}

static void add_bytes(void *arg, u64 start_ea, u64 end_ea)
{
	*(u64 *)arg += end_ea - start_ea;
}

TEST(cfi_tells_the_bounds_of_every_function)
{
	struct forge_cfi c;
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	u64 bytes = 0;

	forge_cfi_init(&c, EH_FRAME);
	forge_usual_cie(&c);
	forge_fde(&c, TEXT, 0x40, BYTES(0));
	forge_fde(&c, TEXT + 0x80, 0x3, BYTES(0));
	forge_file(&f, &c);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	EQ(cfi_each_function(exe, add_bytes, &bytes), 2);
	EQ(bytes, 0x43);
	forge_cfi_done(&c);
}

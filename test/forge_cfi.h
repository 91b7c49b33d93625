/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up call frame information for tests: CIEs and FDEs written byte by byte into a section. */
#ifndef FORGE_CFI_H
#define FORGE_CFI_H

#include <stdbool.h>

#include "base/buf.h"
#include "forge.h"

#define BYTES(...) (const unsigned char[]){ __VA_ARGS__ }, sizeof((const unsigned char[]){ __VA_ARGS__ })

/* What a section looks like; all 0 is the .eh_frame that gcc and ld write. */
struct forge_cfi {
	struct buf b;
	unsigned long ea;		/* of the section */
	bool is_debug;			/* .debug_frame */
	bool is_64bit;			/* 64-bit DWARF */
	unsigned int version;		/* of the CIE; 0 stands for 1 */
	unsigned int machine;		/* EM_X86_64 if 0 */
	const char *augmentation;	/* "zR" or, in .debug_frame, "" if NULL */
	unsigned char encoding;		/* of addresses; 0 stands for pcrel sdata4, 0xff for absptr */
	unsigned char ra;		/* 0 stands for the machine's own */
	size_t cie_at;			/* of the last CIE */
};

static inline void forge_cfi_init(struct forge_cfi *c, unsigned long ea)
{
	*c = (struct forge_cfi){ .ea = ea };
	buf_init(&c->b, 16 << 20);
}

static inline void forge_cfi_done(struct forge_cfi *c)
{
	buf_done(&c->b);
}

static inline void forge_int(struct forge_cfi *c, unsigned long value, size_t bytes)
{
	buf_add(&c->b, &value, bytes);
}

/* Begins an entry; returns where, for forge_entry_end(). */
static inline size_t forge_entry(struct forge_cfi *c)
{
	size_t at = c->b.len;

	if (c->is_64bit)
		forge_int(c, 0xffffffff, 4);
	forge_int(c, 0, c->is_64bit ? 8 : 4);
	return at;
}

/* Pads with DW_CFA_nop and fills in the length. */
static inline void forge_entry_end(struct forge_cfi *c, size_t at)
{
	size_t field = c->is_64bit ? 12 : 4;
	unsigned long length;

	while (c->b.len % 8)
		forge_int(c, 0, 1);
	length = c->b.len - at - field;
	EQ(buf_err(&c->b), 0);
	memcpy(c->b.data + at + field - (c->is_64bit ? 8 : 4), &length, c->is_64bit ? 8 : 4);
}

static inline unsigned char forge_encoding(const struct forge_cfi *c)
{
	return c->is_debug || c->encoding == 0xff ? 0 : c->encoding ? c->encoding : 0x1b;
}

static inline void forge_cie(struct forge_cfi *c, const void *program, size_t len)
{
	const char *augmentation = c->augmentation ? c->augmentation : c->is_debug ? "" : "zR";
	bool arm64 = c->machine == EM_AARCH64;
	size_t data_len = 0;

	c->cie_at = forge_entry(c);
	forge_int(c, c->is_debug ? ~0ul : 0, c->is_64bit ? 8 : 4);
	forge_int(c, c->version ? c->version : 1, 1);
	buf_add(&c->b, augmentation, strlen(augmentation) + 1);
	if (c->version == 4)
		forge_int(c, 8, 2);	/* address bytes, segment bytes */
	forge_int(c, arm64 ? 4 : 1, 1);
	forge_int(c, 0x78, 1);		/* -8 */
	forge_int(c, c->ra ? c->ra : arm64 ? 30 : 16, 1);
	for (const char *a = augmentation; *a; a++)
		data_len += *a == 'R' || *a == 'L' ? 1 : *a == 'P' ? 5 : 0;
	if (augmentation[0] == 'z')
		forge_int(c, data_len, 1);
	for (const char *a = augmentation; *a; a++) {
		if (*a == 'R')
			forge_int(c, forge_encoding(c), 1);
		if (*a == 'L')
			forge_int(c, 0x1b, 1);
		if (*a == 'P')
			buf_add(&c->b, "\x9b\1\2\3\4", 5);
	}
	buf_add(&c->b, program, len);
	forge_entry_end(c, c->cie_at);
}

/* The CIE that compilers write for the machine: CFA at the stack pointer, the return address just pushed. */
static inline void forge_usual_cie(struct forge_cfi *c)
{
	if (c->machine == EM_AARCH64)
		forge_cie(c, BYTES(0x0c, 31, 0));
	else
		forge_cie(c, BYTES(0x0c, 7, 8, 0x90, 1));
}

static inline void forge_fde(struct forge_cfi *c, unsigned long start, unsigned long bytes, const void *program,
			     size_t len)
{
	unsigned char encoding = forge_encoding(c);
	size_t at = forge_entry(c), wide = (encoding & 0x0f) == 0x0b || (encoding & 0x0f) == 3 ? 4 : 8;

	forge_int(c, c->is_debug ? c->cie_at : c->b.len - c->cie_at, c->is_64bit ? 8 : 4);
	forge_int(c, (encoding & 0x70) == 0x10 ? start - (c->ea + c->b.len) : start, wide);
	forge_int(c, bytes, wide);
	if (!c->is_debug && (!c->augmentation || c->augmentation[0] == 'z')) {
		forge_int(c, c->augmentation && strchr(c->augmentation, 'L') ? 4 : 0, 1);
		if (c->augmentation && strchr(c->augmentation, 'L'))
			forge_int(c, 0, 4);
	}
	buf_add(&c->b, program, len);
	forge_entry_end(c, at);
}

#endif
